# The program openbnns: trains networks, measures and applies them. It uses the public classes of
# the training library. Without CLI11 it is left out, and CMake says so.
find_package(CLI11 QUIET)
if(NOT CLI11_FOUND)
  message(STATUS "OpenBNNS: the program is left out; not found: CLI11")
  set(OPENBNNS_PROGRAM OFF)
  return()
endif()
set(OPENBNNS_PROGRAM ON)

add_executable(openbnns_program
  apps/openbnns/bench.cpp
  apps/openbnns/epoch_log.cpp
  apps/openbnns/eval.cpp
  apps/openbnns/gradcheck.cpp
  apps/openbnns/info.cpp
  apps/openbnns/interrupt.cpp
  apps/openbnns/main.cpp
  apps/openbnns/metrics.cpp
  apps/openbnns/options.cpp
  apps/openbnns/output.cpp
  apps/openbnns/predict.cpp
  apps/openbnns/progress.cpp
  apps/openbnns/report.cpp
  apps/openbnns/run_files.cpp
  apps/openbnns/shape_option.cpp
  apps/openbnns/train.cpp
)
target_link_libraries(openbnns_program PRIVATE OpenBNNS::Train openbnns_flags CLI11::CLI11
                      nlohmann_json::nlohmann_json fmt::fmt)
set_target_properties(openbnns_program PROPERTIES OUTPUT_NAME openbnns)

# The core library and the training library lie in the folder of libraries, wherever the tree is
# moved to.
if(OPENBNNS_INSTALL)
  include(GNUInstallDirs)
  set_target_properties(openbnns_program PROPERTIES INSTALL_RPATH "$ORIGIN/${openbnns_bin_to_lib}")
  install(TARGETS openbnns_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES apps/openbnns/pages/openbnns.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES apps/openbnns/pages/openbnns.bash RENAME openbnns
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES apps/openbnns/pages/openbnns.zsh RENAME _openbnns
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES apps/openbnns/pages/openbnns.fish
          DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
