# The CUDA toolkit, where there is one: its headers are compared with what gpu_worker
# declares of them, and nvcc compiles its kernels. Nothing is linked with it, and all but
# the kernels is the same without.
include(CudnnFrontendVersion)
if(NOT EVENPACK_CUDA_TOOLKIT)
  # As where there is none; not what another configuration of this tree found.
  foreach(found CUDA_INCLUDE NCCL_INCLUDE NVCC)
    unset(EVENPACK_${found} CACHE)
  endforeach()
  set(EVENPACK_CUDNN OFF)
  message(STATUS "CUDA toolkit: not looked for")
  return()
endif()
find_path(EVENPACK_CUDA_INCLUDE cuda.h
          PATHS "$ENV{CUDA_HOME}/include" /usr/local/cuda/include)
find_path(EVENPACK_NCCL_INCLUDE nccl.h
          PATHS "$ENV{CUDA_HOME}/include" /usr/local/cuda/include)
foreach(name CUDA NCCL)
  if(EVENPACK_${name}_INCLUDE)
    message(STATUS "${name} headers: ${EVENPACK_${name}_INCLUDE}")
  else()
    message(STATUS "${name} headers: not found; its interface is not checked")
  endif()
endforeach()
# cuDNN's, and those of its frontend, which is headers alone.
set(EVENPACK_CUDNN_FRONTEND "${PROJECT_SOURCE_DIR}/build-test-cudnn/include" CACHE PATH
    "The folder include/ of PyPI's nvidia-cudnn-frontend, where it isn't the system's")
find_path(EVENPACK_CUDNN_INCLUDE cudnn.h
          PATHS "$ENV{CUDA_HOME}/include" /usr/local/cuda/include)
find_path(EVENPACK_CUDNN_FRONTEND_INCLUDE cudnn_frontend.h
          PATHS "${EVENPACK_CUDNN_FRONTEND}")
if(EVENPACK_CUDA_INCLUDE AND EVENPACK_CUDNN_INCLUDE AND EVENPACK_CUDNN_FRONTEND_INCLUDE)
  evenpack_check_cudnn_frontend("${EVENPACK_CUDNN_FRONTEND_INCLUDE}" EVENPACK_CUDNN version)
  message(STATUS "cuDNN frontend: ${EVENPACK_CUDNN_FRONTEND_INCLUDE}, version ${version}")
else()
  set(EVENPACK_CUDNN OFF)
endif()
if(NOT EVENPACK_CUDNN)
  message(STATUS "cuDNN or its frontend: none that is accepted; no attention on a CUDA device")
endif()
find_program(EVENPACK_NVCC nvcc PATHS "$ENV{CUDA_HOME}/bin" /usr/local/cuda/bin)
mark_as_advanced(EVENPACK_CUDA_INCLUDE EVENPACK_NCCL_INCLUDE EVENPACK_NVCC)
if(NOT EVENPACK_NVCC)
  message(STATUS "nvcc: not found; the worker has no kernels for a device")
  return()
endif()

# Hopper, and Blackwell where nvcc knows it.
execute_process(COMMAND "${EVENPACK_NVCC}" --list-gpu-code
                OUTPUT_VARIABLE known OUTPUT_STRIP_TRAILING_WHITESPACE)
set(EVENPACK_GENERATIONS -gencode arch=compute_90,code=sm_90
    -gencode arch=compute_90,code=compute_90)
if(known MATCHES "sm_100")
  list(APPEND EVENPACK_GENERATIONS -gencode arch=compute_100,code=sm_100)
endif()
message(STATUS "nvcc: ${EVENPACK_NVCC}, ${EVENPACK_GENERATIONS}")
