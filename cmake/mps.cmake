# libopenbnns_mps: the loss kernels of Metal Performance Shaders. It uses the core library through
# its exported functions only; the core library knows nothing of it.
set(OPENBNNS_MPS_SOURCES
  src/mps/archive.cpp
  src/mps/archive_fields.cpp
  src/mps/batch.cpp
  src/mps/checks.cpp
  src/mps/cnn_loss.cpp
  src/mps/command_buffer.cpp
  src/mps/cpu_device.cpp
  src/mps/cpu_loss.cpp
  src/mps/cpu_reduction.cpp
  src/mps/cpu_yolo.cpp
  src/mps/device.cpp
  src/mps/error.cpp
  src/mps/formats.cpp
  src/mps/forward_loss.cpp
  src/mps/image.cpp
  src/mps/image_storage.cpp
  src/mps/image_transfer.cpp
  src/mps/initial_gradient.cpp
  src/mps/kernel.cpp
  src/mps/loss_elements.cpp
  src/mps/loss_gradient.cpp
  src/mps/loss_labels.cpp
  src/mps/one_shot.cpp
  src/mps/opencl/api.cpp
  src/mps/opencl/catalog.cpp
  src/mps/opencl/device.cpp
  src/mps/opencl/lane.cpp
  src/mps/opencl/loss.cpp
  src/mps/opencl/reduction.cpp
  src/mps/opencl/yolo.cpp
  src/mps/progress.cpp
  src/mps/queue.cpp
  src/mps/temporary_pool.cpp
  src/mps/yolo_loss.cpp
)

# The OpenCL kernels become one string in a source file. Names of a file must be declared before
# their use in another.
set(OPENBNNS_MPS_KERNELS
  src/mps/opencl/params.h
  src/mps/opencl/kernels/numbers.cl
  src/mps/opencl/kernels/elements.cl
  src/mps/opencl/kernels/losses.cl
  src/mps/opencl/kernels/yolo.cl
)
list(TRANSFORM OPENBNNS_MPS_KERNELS PREPEND ${PROJECT_SOURCE_DIR}/)
set(openbnns_program ${PROJECT_BINARY_DIR}/generated/opencl_program.cpp)
add_custom_command(OUTPUT ${openbnns_program}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${openbnns_program} "-DINPUTS=${OPENBNNS_MPS_KERNELS}"
          -P ${PROJECT_SOURCE_DIR}/cmake/embed_kernels.cmake
  DEPENDS ${OPENBNNS_MPS_KERNELS} ${PROJECT_SOURCE_DIR}/cmake/embed_kernels.cmake
  COMMENT "Embedding the OpenCL kernels" VERBATIM)
list(APPEND OPENBNNS_MPS_SOURCES ${openbnns_program})

# The objects are also linked into the tests that look behind the classes.
add_library(openbnns_mps_objects OBJECT ${OPENBNNS_MPS_SOURCES})
target_include_directories(openbnns_mps_objects PUBLIC include src)
target_link_libraries(openbnns_mps_objects PUBLIC Threads::Threads ${CMAKE_DL_LIBS}
                      PRIVATE openbnns_flags)
set_target_properties(openbnns_mps_objects PROPERTIES POSITION_INDEPENDENT_CODE ON
                      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

add_library(openbnns_mps $<TARGET_OBJECTS:openbnns_mps_objects>)
add_library(OpenBNNS::MPS ALIAS openbnns_mps)
target_link_libraries(openbnns_mps PRIVATE openbnns Threads::Threads ${CMAKE_DL_LIBS}
                      $<BUILD_INTERFACE:$<LINK_ONLY:openbnns_flags>>)
target_compile_features(openbnns_mps INTERFACE cxx_std_20)
target_include_directories(openbnns_mps PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include/compat>)
set_target_properties(openbnns_mps PROPERTIES VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE CXX EXPORT_NAME MPS)
if(BUILD_SHARED_LIBS)
  # nodelete: the threads of queues may outlive a dlclose.
  target_link_options(openbnns_mps PRIVATE
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/mps_exports.map -Wl,-z,nodelete
    -Wl,--gc-sections)
  set_target_properties(openbnns_mps PROPERTIES
                        LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/mps_exports.map)
endif()

# For tests that may open an OpenCL library: PoCL keeps compiled kernels in the build folder, not in
# that of whoever runs the tests, and what it leaks is not ours.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/pocl_cache)
set(OPENBNNS_OPENCL_TEST_ENVIRONMENT POCL_CACHE_DIR=${PROJECT_BINARY_DIR}/pocl_cache
    LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/mps/suppressions/lsan.txt)
