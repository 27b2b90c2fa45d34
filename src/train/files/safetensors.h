// Files of the safetensors format: 8 bytes with the length of the header (little endian), the
// header (JSON: for each tensor its type, shape and range of bytes; "__metadata__" with texts), the
// bytes of the tensors, without gaps, up to the end of the file.
//
// The reader trusts nothing. The whole header is checked against the format and the size of the
// file before memory is taken for anything it states: a file that is refused costs its header and
// less than 1 MB. Refused are, beyond the rules of the format: more than 8192 tensors, more than 8
// dimensions, more than 1024 texts; names and keys that are empty, are longer than 512 bytes or
// have a slash, a backslash, a quote or a control character; types other than those of DType.
#ifndef OPENBNNS_TRAIN_FILES_SAFETENSORS_H
#define OPENBNNS_TRAIN_FILES_SAFETENSORS_H

#include <filesystem>

#include "train/files/tensor_file.h"

namespace bnns::train::impl {

// Throws Error: of kind `file` what the system says, of kind `model` what breaks a rule.
TensorFile read_safetensors(const std::filesystem::path& path);

// Replaces the file as a whole (write_file_atomically). Tensors with larger elements come first, so
// that each lies at a multiple of its element size; otherwise they keep their order. Equal content
// gives equal bytes. What read_safetensors would refuse is refused here before anything is written.
void write_safetensors(const std::filesystem::path& path, const TensorFile& file);

}  // namespace bnns::train::impl

#endif
