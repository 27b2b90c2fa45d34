# libopenbnns_train: describes, trains, saves and loads networks. It uses the public C++ classes of
# the core library and nothing else of it. Where a package is missing, the library is left out and
# CMake says so.
set(openbnns_train_missing "")
find_package(ZLIB QUIET)
find_package(PNG QUIET)
find_package(JPEG QUIET)
find_package(nlohmann_json QUIET)
find_package(fmt QUIET)
foreach(package ZLIB PNG JPEG nlohmann_json fmt)
  if(NOT ${package}_FOUND)
    list(APPEND openbnns_train_missing ${package})
  endif()
endforeach()
if(openbnns_train_missing)
  list(JOIN openbnns_train_missing ", " openbnns_train_missing)
  message(STATUS "OpenBNNS: the training library and the program are left out; not found: "
                 "${openbnns_train_missing}")
  set(OPENBNNS_TRAIN OFF)
  return()
endif()

set(OPENBNNS_TRAIN_SOURCES
  src/train/data/augmentation.cpp
  src/train/data/csv_columns.cpp
  src/train/data/csv_file.cpp
  src/train/data/csv_parser.cpp
  src/train/data/csv_value.cpp
  src/train/data/data.cpp
  src/train/data/gzip.cpp
  src/train/data/idx.cpp
  src/train/data/idx_data.cpp
  src/train/data/image.cpp
  src/train/data/image_folder.cpp
  src/train/data/jpeg.cpp
  src/train/data/open_data.cpp
  src/train/data/png.cpp
  src/train/data/pnm.cpp
  src/train/data/preprocessing.cpp
  src/train/data/preprocessing_json.cpp
  src/train/data/resample.cpp
  src/train/data/split.cpp
  src/train/data/synthetic_digits.cpp
  src/train/data/table.cpp
  src/train/files/atomic_file.cpp
  src/train/files/descriptor.cpp
  src/train/files/input_file.cpp
  src/train/files/json.cpp
  src/train/files/json_reader.cpp
  src/train/files/model.cpp
  src/train/files/safetensors_read.cpp
  src/train/files/safetensors_write.cpp
  src/train/files/temporary_file.cpp
  src/train/files/tensor_file.cpp
  src/train/files/text.cpp
  src/train/layers/activation.cpp
  src/train/layers/attention.cpp
  src/train/layers/convolution.cpp
  src/train/layers/dropout.cpp
  src/train/layers/embedding.cpp
  src/train/layers/fields.cpp
  src/train/layers/flatten.cpp
  src/train/layers/fully_connected.cpp
  src/train/layers/lstm.cpp
  src/train/layers/normalization.cpp
  src/train/layers/padding.cpp
  src/train/layers/pooling.cpp
  src/train/layers/residual.cpp
  src/train/layers/resize.cpp
  src/train/layers/table.cpp
  src/train/layers/weighted.cpp
  src/train/network/description.cpp
  src/train/network/gradient_check.cpp
  src/train/network/named.cpp
  src/train/network/network.cpp
  src/train/network/parameters.cpp
  src/train/network/resolve.cpp
  src/train/network/runner.cpp
  src/train/network/sequence.cpp
  src/train/network/state.cpp
  src/train/network/summary.cpp
  src/train/report/chart.cpp
  src/train/report/classes.cpp
  src/train/report/html.cpp
  src/train/report/network.cpp
  src/train/report/overview.cpp
  src/train/report/pictures.cpp
  src/train/report/png.cpp
  src/train/report/progress.cpp
  src/train/report/regression.cpp
  src/train/report/report.cpp
  src/train/report/style.cpp
  src/train/training/agreement.cpp
  src/train/training/batches.cpp
  src/train/training/checkpoint.cpp
  src/train/training/checks.cpp
  src/train/training/evaluate.cpp
  src/train/training/fit.cpp
  src/train/training/launched.cpp
  src/train/training/loss.cpp
  src/train/training/named_values.cpp
  src/train/training/optimizer.cpp
  src/train/training/ranks.cpp
  src/train/training/run_state.cpp
  src/train/training/shard_tree.cpp
  src/train/training/shards.cpp
)

# Where a program finds the plug-in for MPI, if the library is a part of it.
include(GNUInstallDirs)
file(RELATIVE_PATH openbnns_bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_source_files_properties(src/train/training/launched.cpp PROPERTIES
  COMPILE_DEFINITIONS "OPENBNNS_BIN_TO_LIB=\"${openbnns_bin_to_lib}\"")

# The objects are also linked into the tests that look behind the classes.
add_library(openbnns_train_objects OBJECT ${OPENBNNS_TRAIN_SOURCES})
target_include_directories(openbnns_train_objects PUBLIC include src)
target_link_libraries(openbnns_train_objects
  PUBLIC Threads::Threads ZLIB::ZLIB PNG::PNG JPEG::JPEG nlohmann_json::nlohmann_json fmt::fmt
  PRIVATE openbnns_flags)
set_target_properties(openbnns_train_objects PROPERTIES POSITION_INDEPENDENT_CODE ON
                      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

add_library(openbnns_train $<TARGET_OBJECTS:openbnns_train_objects>)
add_library(OpenBNNS::Train ALIAS openbnns_train)
target_link_libraries(openbnns_train PUBLIC openbnns
  PRIVATE Threads::Threads ZLIB::ZLIB PNG::PNG JPEG::JPEG fmt::fmt
          $<BUILD_INTERFACE:$<LINK_ONLY:openbnns_flags>>)
target_compile_features(openbnns_train INTERFACE cxx_std_20)
target_include_directories(openbnns_train PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
set_target_properties(openbnns_train PROPERTIES VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE CXX EXPORT_NAME Train)
if(BUILD_SHARED_LIBS)
  target_link_options(openbnns_train PRIVATE
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/train_exports.map -Wl,--gc-sections)
  set_target_properties(openbnns_train PROPERTIES
                        LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/train_exports.map)
endif()
