# OpenBNNS::Accelerate, for programs that link with -lAccelerate and call CBLAS too. A folder of its
# own holds a linker script with the name of the library: it stands for this library and the BLAS of
# the system, which is linked only if the program calls it. The libAccelerate.so beside the library
# remains a link to it, as no linker script can be opened with dlopen.
include(CheckLibraryExists)
include(GNUInstallDirs)

set(OPENBNNS_BLAS "" CACHE STRING
    "Name of the library with the CBLAS functions, as after -l; empty: the first that has them")
set(openbnns_blas ${OPENBNNS_BLAS})
if(NOT openbnns_blas)
  # Not every libblas has the functions of CBLAS. Without any the first name stays, so that a BLAS
  # may be installed later.
  set(openbnns_blas blas)
  foreach(name blas openblas flexiblas cblas)
    check_library_exists(${name} cblas_sgemm "" OPENBNNS_CBLAS_IN_${name})
    if(OPENBNNS_CBLAS_IN_${name})
      set(openbnns_blas ${name})
      break()
    endif()
  endforeach()
endif()

set(openbnns_accelerate_dir ${PROJECT_BINARY_DIR}/accelerate)
set(openbnns_own_libraries -lopenbnns)
set(openbnns_suffix ${CMAKE_SHARED_LIBRARY_SUFFIX})
if(NOT BUILD_SHARED_LIBS)
  set(openbnns_suffix ${CMAKE_STATIC_LIBRARY_SUFFIX})
  string(APPEND openbnns_own_libraries " -lhwy -lstdc++ -lm -lpthread")
endif()
file(WRITE ${openbnns_accelerate_dir}/libAccelerate.so
     "/* GNU ld script */\n"
     "INPUT ( ${openbnns_own_libraries} AS_NEEDED ( -l${openbnns_blas} ) )\n")
# The script finds the library in its own folder, whatever else the linker searches.
file(CREATE_LINK ../libopenbnns${openbnns_suffix}
     ${openbnns_accelerate_dir}/libopenbnns${openbnns_suffix} SYMBOLIC)

set(openbnns_script_dir ${CMAKE_INSTALL_LIBDIR}/openbnns)
add_library(openbnns_accelerate INTERFACE)
add_library(OpenBNNS::Accelerate ALIAS openbnns_accelerate)
target_link_directories(openbnns_accelerate INTERFACE
  $<BUILD_INTERFACE:${openbnns_accelerate_dir}>
  $<BUILD_INTERFACE:$<TARGET_FILE_DIR:openbnns>>
  $<INSTALL_INTERFACE:${openbnns_script_dir}>)
target_link_libraries(openbnns_accelerate INTERFACE
  openbnns $<BUILD_INTERFACE:Accelerate> $<INSTALL_INTERFACE:Accelerate>)
# See include/compat/vecLib/vecLib.h; given on the command line, it holds for any order of includes.
target_compile_definitions(openbnns_accelerate INTERFACE $<$<COMPILE_LANGUAGE:C>:_DEFAULT_SOURCE>)
set_target_properties(openbnns_accelerate PROPERTIES EXPORT_NAME Accelerate)

if(OPENBNNS_INSTALL)
  install(FILES ${openbnns_accelerate_dir}/libAccelerate.so
                ${openbnns_accelerate_dir}/libopenbnns${openbnns_suffix}
          DESTINATION ${openbnns_script_dir})
  install(TARGETS openbnns_accelerate EXPORT OpenBNNSTargets)
endif()
