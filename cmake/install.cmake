# What `cmake --install` puts where: library and aliases, headers, CMake package, pkg-config file.
# The compat headers live below include/openbnns, so that a system include folder does not answer to
# <Accelerate/Accelerate.h> unless the user asks for it; the package and the .pc file do ask.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(openbnns_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/OpenBNNS)
set(openbnns_generated_dir ${PROJECT_BINARY_DIR}/install)

install(TARGETS openbnns EXPORT OpenBNNSTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
                             ${CMAKE_INSTALL_INCLUDEDIR}/openbnns/compat)
set_target_properties(openbnns PROPERTIES EXPORT_NAME OpenBNNS)
if(OPENBNNS_MPS)
  install(TARGETS openbnns_mps EXPORT OpenBNNSTargets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
                               ${CMAKE_INSTALL_INCLUDEDIR}/openbnns/compat)
  # The core library lies beside it, wherever the tree is moved to.
  set_target_properties(openbnns_mps PROPERTIES INSTALL_RPATH "$ORIGIN")
endif()
if(OPENBNNS_TRAIN)
  install(TARGETS openbnns_train EXPORT OpenBNNSTargets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  set_target_properties(openbnns_train PROPERTIES INSTALL_RPATH "$ORIGIN")
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/openbnns DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/compat
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/openbnns)

# Build files that look for Apple's names find the same library.
file(MAKE_DIRECTORY ${openbnns_generated_dir})
foreach(alias Accelerate BNNS)
  set(link ${openbnns_generated_dir}/lib${alias}${openbnns_suffix})
  file(CREATE_LINK libopenbnns${openbnns_suffix} ${link} SYMBOLIC)
  install(FILES ${link} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()

install(EXPORT OpenBNNSTargets NAMESPACE OpenBNNS:: DESTINATION ${openbnns_package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/OpenBNNSConfig.cmake.in
                              ${openbnns_generated_dir}/OpenBNNSConfig.cmake
                              INSTALL_DESTINATION ${openbnns_package_dir})
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file(${openbnns_generated_dir}/OpenBNNSConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${openbnns_generated_dir}/OpenBNNSConfig.cmake
              ${openbnns_generated_dir}/OpenBNNSConfigVersion.cmake
        DESTINATION ${openbnns_package_dir})

# The .pc file finds its prefix from its own place, so the installed tree may be moved. Absolute
# install folders (some distributions use them) stay absolute.
file(RELATIVE_PATH openbnns_pc_to_prefix
     ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
foreach(dir LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE ${CMAKE_INSTALL_${dir}})
    set(openbnns_pc_${dir} ${CMAKE_INSTALL_${dir}})
  else()
    set(openbnns_pc_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
  endif()
endforeach()
set(openbnns_pc_names openbnns openbnns-accelerate)
if(OPENBNNS_MPS)
  list(APPEND openbnns_pc_names openbnns-mps)
endif()
if(OPENBNNS_TRAIN)
  list(APPEND openbnns_pc_names openbnns-train)
endif()
foreach(name ${openbnns_pc_names})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in
                 ${openbnns_generated_dir}/${name}.pc @ONLY)
  install(FILES ${openbnns_generated_dir}/${name}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
