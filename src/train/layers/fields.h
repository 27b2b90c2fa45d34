// The fields of a layer: what a kind of layer allows, and the checked values of one layer.
#ifndef OPENBNNS_TRAIN_LAYERS_FIELDS_H
#define OPENBNNS_TRAIN_LAYERS_FIELDS_H

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "openbnns/train/description.hpp"

namespace bnns::train::impl {

struct FieldRule {
  enum class Type { integer, number, flag, pair };

  std::string_view name;
  Type type;
  double least = 0;  // of numbers, and of both numbers of a pair
  double most = 0;
  std::optional<double> standard = std::nullopt;  // none: the field must be given
};

// Sizes above this are mistakes; products of a few of them still fit 64 bits.
inline constexpr double kLargest = 1 << 24;

// The values of a layer's fields, all of them within their rules.
class Fields {
 public:
  // Throws Error::Kind::network; `where` names the layer.
  Fields(const LayerDescription& layer, std::span<const FieldRule> rules, const std::string& where);

  double number(std::string_view name) const;
  std::size_t integer(std::string_view name) const;
  bool flag(std::string_view name) const { return number(name) != 0; }
  std::array<std::size_t, 2> pair(std::string_view name) const;

  // For the errors of the layer: "layer 3 (convolution)".
  const std::string& where() const noexcept { return where_; }
  [[noreturn]] void fail(const std::string& text) const;

 private:
  struct Value {
    std::string_view name;
    std::array<double, 2> numbers;
  };
  const Value& find(std::string_view name) const;

  std::string where_;
  std::vector<Value> values_;
};

}  // namespace bnns::train::impl

#endif
