# The plug-in that lets ranks of MPI train together. The program loads it when a launcher of MPI
# started it, from the folder of the training library; nothing else needs MPI.
find_package(MPI QUIET COMPONENTS C)
if(NOT MPI_C_FOUND)
  message(STATUS "OpenBNNS: the plug-in for MPI is left out; not found: MPI")
  return()
endif()
add_library(openbnns_mpi MODULE src/train/mpi/communicator.cpp)
target_include_directories(openbnns_mpi PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(openbnns_mpi PRIVATE MPI::MPI_C openbnns_flags)
target_compile_definitions(openbnns_mpi PRIVATE OPENBNNS_VERSION="${PROJECT_VERSION}"
                           OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
set_target_properties(openbnns_mpi PROPERTIES CXX_VISIBILITY_PRESET hidden
                      VISIBILITY_INLINES_HIDDEN ON)
if(OPENBNNS_INSTALL)
  include(GNUInstallDirs)
  install(TARGETS openbnns_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
