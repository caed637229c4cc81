# EVENPACK_GOOGLEAPIS: a folder that holds google/rpc/error_details.proto. Where none is
# given or installed, it comes from PyPI's googleapis-common-protos into the build tree.
find_path(EVENPACK_GOOGLEAPIS google/rpc/error_details.proto
          PATHS "${CMAKE_BINARY_DIR}/googleapis")
if(NOT EVENPACK_GOOGLEAPIS)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  message(STATUS "Fetching googleapis-common-protos")
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -m pip install --quiet --no-deps
            --disable-pip-version-check --root-user-action=ignore
            --target "${CMAKE_BINARY_DIR}/googleapis"
            -r "${PROJECT_SOURCE_DIR}/deploy/googleapis-requirements.txt"
    RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR
      "google/rpc/error_details.proto is missing and pip could not fetch it; give "
      "-DEVENPACK_GOOGLEAPIS=DIR, a folder that holds it")
  endif()
  find_path(EVENPACK_GOOGLEAPIS google/rpc/error_details.proto REQUIRED
            PATHS "${CMAKE_BINARY_DIR}/googleapis" NO_DEFAULT_PATH)
endif()
