// The parameters of a network in two arrays: what is trained, and the moving statistics that
// normalization keeps. One array each makes copies, sums over shards and messages one loop.
#ifndef OPENBNNS_TRAIN_NETWORK_PARAMETERS_H
#define OPENBNNS_TRAIN_NETWORK_PARAMETERS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "openbnns/openbnns.hpp"

namespace bnns::train::impl {

struct ParameterRule {
  enum class Initial { zeros, ones, weights };

  std::string name;                     // "weight"; the layer's path comes in front of it
  std::vector<std::size_t> dimensions;  // the slowest one first
  Shape shape;                          // the same memory as the filters see it
  Initial initial = Initial::zeros;
  std::size_t fan_in = 0, fan_out = 0;  // of weights
  bool is_state = false;                // moving statistics: not trained by gradients
  bool swapped_in_files = false;        // PyTorch has the first two dimensions the other way round
};

class ParameterSet {
 public:
  struct Entry {
    std::string name;  // "3.weight"
    ParameterRule rule;
    std::size_t offset, count;
    bool frozen;
    bool before_rectifier;  // its layer's values go through ReLU or a relative

    bool is_trained() const { return !rule.is_state && !frozen; }
  };

  explicit ParameterSet(std::vector<Entry> entries);
  ParameterSet(const ParameterSet& other);
  ParameterSet& operator=(const ParameterSet&) = delete;

  // He's for layers in front of a rectifier, Glorot's for others; biases are 0.
  void initialize(std::uint64_t seed);

  const std::vector<Entry>& entries() const noexcept { return entries_; }
  const Entry& entry(std::string_view name) const;
  std::span<float> values(const Entry& entry);
  std::span<const float> values(const Entry& entry) const;

  // Everything trained (or frozen), everything kept as state.
  Tensor& weights() noexcept { return weights_; }
  Tensor& state() noexcept { return state_; }
  const Tensor& weights() const noexcept { return weights_; }
  const Tensor& state() const noexcept { return state_; }
  // Made by the first call; as large as weights().
  Tensor& gradients();

  // As filters see them.
  ParameterDescriptor value(const std::string& name);
  // Nothing for a frozen parameter.
  std::optional<Descriptor> gradient(const std::string& name);

  // What an optimizer steps, as vectors.
  DescriptorList trained_values();
  DescriptorList trained_gradients();
  DescriptorList trained_parts(Tensor& like_weights);

  std::size_t weight_count() const noexcept;

 private:
  std::vector<Entry> entries_;
  Tensor weights_, state_;
  std::optional<Tensor> gradients_;
};

}  // namespace bnns::train::impl

#endif
