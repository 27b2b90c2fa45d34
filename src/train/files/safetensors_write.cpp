#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "openbnns/train/error.hpp"
#include "train/files/atomic_file.h"
#include "train/files/safetensors.h"
#include "train/files/safetensors_format.h"

namespace bnns::train::impl {
namespace {

class HeaderWriter {
 public:
  explicit HeaderWriter(const std::string& where) : where_(where) {}

  void metadata(const std::map<std::string, std::string>& texts) {
    check(texts.size() <= kMaxTexts, std::to_string(texts.size()) +
                                         " texts in __metadata__; at most " +
                                         std::to_string(kMaxTexts) + " are allowed");
    if (texts.empty()) return;
    key(kMetadata);
    char separator = '{';
    for (const auto& [name, value] : texts) {
      check_name(name);
      check(valid_utf8_bytes(value) == value.size(),
            "the text of " + in_quotes(name) + " in __metadata__ is not UTF-8");
      text_ += separator + string(name) + ':' + string(value);
      separator = ',';
    }
    text_ += '}';
  }

  void tensor(const NamedTensor& tensor) {
    const std::string what = "tensor " + in_quotes(tensor.name) + ": ";
    check_name(tensor.name);
    check(tensor.name != kMetadata, what + "this name is taken by the format");
    check(names_.insert(tensor.name).second, what + "its name appears twice");
    check(names_.size() <= kMaxTensors,
          "more than " + std::to_string(kMaxTensors) + " tensors are not allowed");
    check(tensor.shape.size() <= kMaxRank, what + "it has " + std::to_string(tensor.shape.size()) +
                                               " dimensions; at most 8 are allowed");
    check(bytes_of(tensor.dtype, tensor.shape) == tensor.data.size(),
          what + "it has " + std::to_string(tensor.data.size()) +
              " bytes; type and shape need another number");
    key(tensor.name);
    text_ += "{\"dtype\":" + string(name_of(tensor.dtype)) + ",\"shape\":[";
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
      text_ += (i == 0 ? "" : ",") + std::to_string(tensor.shape[i]);
    }
    text_ += "],\"data_offsets\":[" + std::to_string(offset_) + ',';
    offset_ += tensor.data.size();
    text_ += std::to_string(offset_) + "]}";
  }

  // The text, with blanks up to a multiple of 8 bytes.
  std::string finish() {
    text_ += text_.empty() ? "{}" : "}";
    text_.resize((text_.size() + 7) / 8 * 8, ' ');
    check(text_.size() <= kMaxHeaderBytes, "the header has " + std::to_string(text_.size()) +
                                               " bytes; at most 100000000 are allowed");
    return std::move(text_);
  }

 private:
  void check(bool condition, const std::string& text) const {
    if (!condition) throw Error(Error::Kind::model, where_, text);
  }
  void check_name(std::string_view name) const {
    const std::string problem = name_problem(name);
    check(problem.empty(), problem);
  }
  void key(std::string_view name) { text_ += (text_.empty() ? '{' : ',') + string(name) + ':'; }
  static std::string string(std::string_view text) { return nlohmann::json(text).dump(); }

  const std::string& where_;
  std::string text_;
  std::set<std::string_view> names_;
  std::size_t offset_ = 0;
};

}  // namespace

void write_safetensors(const std::filesystem::path& path, const TensorFile& file) {
  std::vector<const NamedTensor*> tensors;
  for (const NamedTensor& tensor : file.tensors) tensors.push_back(&tensor);
  std::stable_sort(tensors.begin(), tensors.end(), [](const auto* a, const auto* b) {
    return size_of(a->dtype) > size_of(b->dtype);
  });

  const std::string where = path.string();
  HeaderWriter writer(where);
  writer.metadata(file.metadata);
  for (const NamedTensor* tensor : tensors) writer.tensor(*tensor);
  const std::string header = writer.finish();

  std::array<std::byte, kLengthBytes> length;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length[i] = static_cast<std::byte>(static_cast<std::uint64_t>(header.size()) >> (8 * i));
  }
  std::vector<std::span<const std::byte>> parts = {length, std::as_bytes(std::span(header))};
  for (const NamedTensor* tensor : tensors) parts.push_back(tensor->data);
  write_file_atomically(path, parts);
}

}  // namespace bnns::train::impl
