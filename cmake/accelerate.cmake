# OpenBNNS::Accelerate, for programs that link with -lAccelerate and call CBLAS too. A folder of its
# own holds a linker script with the name of the library: it stands for this library and the BLAS of
# the system, which is linked only if the program calls it. The libAccelerate.so beside the library
# remains a link to it, as no linker script can be opened with dlopen.
set(OPENBNNS_BLAS "blas" CACHE STRING
    "Name of the library with the CBLAS functions, as after -l, for OpenBNNS::Accelerate")
set(openbnns_accelerate_dir ${openbnns_generated_dir}/accelerate)
set(openbnns_own_libraries -lopenbnns)
if(NOT BUILD_SHARED_LIBS)
  string(APPEND openbnns_own_libraries " -lhwy -lstdc++ -lm -lpthread")
endif()
file(WRITE ${openbnns_accelerate_dir}/libAccelerate.so
     "/* GNU ld script */\n"
     "INPUT ( ${openbnns_own_libraries} AS_NEEDED ( -l${OPENBNNS_BLAS} ) )\n")
# The script finds the library in its own folder, whatever else the linker searches.
file(CREATE_LINK ../libopenbnns${openbnns_suffix}
     ${openbnns_accelerate_dir}/libopenbnns${openbnns_suffix} SYMBOLIC)

set(openbnns_script_dir ${CMAKE_INSTALL_LIBDIR}/openbnns)
install(FILES ${openbnns_accelerate_dir}/libAccelerate.so
              ${openbnns_accelerate_dir}/libopenbnns${openbnns_suffix}
        DESTINATION ${openbnns_script_dir})

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
install(TARGETS openbnns_accelerate EXPORT OpenBNNSTargets)
