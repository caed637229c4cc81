# The CUDA toolkit, where there is one: its headers are compared with what gpu_worker
# declares of them. Nothing is linked with it, and what is built is the same without.
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
mark_as_advanced(EVENPACK_CUDA_INCLUDE EVENPACK_NCCL_INCLUDE)
