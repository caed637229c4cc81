# CBC, the solver of integer programmes, as Cbc::Cbc. Debian's packages of COIN-OR bring
# neither CMake's files nor a dependency on pkg-config.
find_path(Cbc_INCLUDE_DIR CbcModel.hpp PATH_SUFFIXES coin coin-or)
set(Cbc_LIBRARIES)
set(Cbc_variables)
foreach(library Cbc Cgl OsiClp Clp Osi CoinUtils)
  find_library(Cbc_${library}_LIBRARY ${library})
  list(APPEND Cbc_variables Cbc_${library}_LIBRARY)
  list(APPEND Cbc_LIBRARIES "${Cbc_${library}_LIBRARY}")
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Cbc
  REQUIRED_VARS ${Cbc_variables} Cbc_INCLUDE_DIR)
mark_as_advanced(Cbc_INCLUDE_DIR ${Cbc_variables})

if(Cbc_FOUND AND NOT TARGET Cbc::Cbc)
  # An imported target's headers are a system's: their warnings are not ours.
  add_library(Cbc::Cbc INTERFACE IMPORTED)
  target_include_directories(Cbc::Cbc INTERFACE "${Cbc_INCLUDE_DIR}")
  target_link_libraries(Cbc::Cbc INTERFACE ${Cbc_LIBRARIES})
endif()
