// A network as it is described, in C++ or in JSON: kinds of layers with their fields.
#ifndef OPENBNNS_TRAIN_DESCRIPTION_HPP
#define OPENBNNS_TRAIN_DESCRIPTION_HPP

#include <cstddef>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "data.hpp"

namespace bnns::train {

// A pair is {x, y}: a window, a stride. One number stands for both.
using FieldPair = std::vector<double>;
using FieldValue = std::variant<double, bool, std::string, FieldPair>;

struct LayerDescription {
  std::string kind;                          // "convolution", "relu", ...
  std::string name;                          // empty: its place in the list, as in nn.Sequential
  std::map<std::string, FieldValue> fields;  // those that are given; others have their default
  std::vector<LayerDescription> inside;      // the layers of a residual block
  bool frozen = false;                       // its parameters are not trained

  friend bool operator==(const LayerDescription&, const LayerDescription&) = default;
};

// What the last layer's numbers mean.
enum class OutputKind {
  softmax,  // scores of classes; predictions are their softmax
  values,   // the predicted numbers themselves
};

struct NetworkDescription {
  SampleShape input;
  std::vector<LayerDescription> layers;
  OutputKind output = OutputKind::softmax;

  friend bool operator==(const NetworkDescription&, const NetworkDescription&) = default;
};

}  // namespace bnns::train

#endif
