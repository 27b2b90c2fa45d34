// Folders of images with one sub-folder per class.
#ifndef OPENBNNS_TRAIN_DATA_IMAGE_FOLDER_H
#define OPENBNNS_TRAIN_DATA_IMAGE_FOLDER_H

#include <string>

#include "openbnns/train/open_data.hpp"

namespace bnns::train::impl {

// A folder of class folders is split; one with the folders train, validation, test is not, as far
// as these are there.
DataSplit open_image_folders(const std::string& folder, const DataOptions& options);

}  // namespace bnns::train::impl

#endif
