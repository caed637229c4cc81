# The first release that leaves what it is told of a run as it is: of older ones a plan's next
# run has the workspace of its first.
set(EVENPACK_OLDEST_CUDNN_FRONTEND 1.22.0)

# Whether the headers of cuDNN's frontend in FOLDER are of a release that is accepted, into the
# variable OUT; of which one, and what would be, into WHICH.
function(evenpack_check_cudnn_frontend folder out which)
  set(lines)
  if(EXISTS "${folder}/cudnn_frontend_version.h")
    file(STRINGS "${folder}/cudnn_frontend_version.h" lines)
  endif()
  set(numbers)
  foreach(part MAJOR MINOR PATCH)
    if("${lines}" MATCHES "CUDNN_FRONTEND_${part}_VERSION +([0-9]+)")
      list(APPEND numbers "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  list(JOIN numbers . version)
  if(version VERSION_GREATER_EQUAL EVENPACK_OLDEST_CUDNN_FRONTEND)
    set(${out} ON PARENT_SCOPE)
    set(${which} "${version}" PARENT_SCOPE)
    return()
  endif()
  set(${out} OFF PARENT_SCOPE)
  if(version STREQUAL "")
    set(version "not told")
  endif()
  set(${which} "${version}; accepted: ${EVENPACK_OLDEST_CUDNN_FRONTEND} and later" PARENT_SCOPE)
endfunction()
