// A network as a file: parameters by PyTorch's names and shapes, the rest as texts of the header.
#ifndef OPENBNNS_TRAIN_FILES_MODEL_H
#define OPENBNNS_TRAIN_FILES_MODEL_H

#include <filesystem>
#include <string>

#include "openbnns/train/network.hpp"
#include "train/files/tensor_file.h"

namespace bnns::train::impl {

// The content of a model file; a checkpoint adds to it.
TensorFile model_content(Network& network);
// `where` is the name of the file. Tensors whose name starts with `other` are left alone; any other
// that the network does not have is refused. Throws Error::Kind::model.
Network network_of(const TensorFile& content, const std::string& where,
                   const std::string& other = "");

}  // namespace bnns::train::impl

#endif
