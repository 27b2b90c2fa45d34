// Every activation function of the core library is a kind of layer. The names are PyTorch's where
// it has the function.
#include "train/layers/activation.h"

#include <array>
#include <limits>

namespace bnns::train::impl {
namespace {

using Function = ActivationFunction (*)(const Fields&);

float alpha(const Fields& fields) {
  return static_cast<float>(fields.number("alpha"));
}
float beta(const Fields& fields) {
  return static_cast<float>(fields.number("beta"));
}

constexpr double kMost = 1e6;
using Type = FieldRule::Type;

// The fields of functions with one and two parameters, by their defaults.
template <int numerator, int denominator = 1>
constexpr std::array<FieldRule, 1> kAlpha = {
    {{"alpha", Type::number, -kMost, kMost, double(numerator) / denominator}}};
constexpr std::array<FieldRule, 2> two(double a, double b) {
  return {{{"alpha", Type::number, -kMost, kMost, a}, {"beta", Type::number, -kMost, kMost, b}}};
}
constexpr auto kScaledTanh = two(1.7159, 2.0 / 3), kClamp = two(-1, 1),
               kGelu = two(0.7978845608, 0.044715), kHardSigmoid = two(1.0 / 6, 0.5),
               kSoftplus = two(1, 1), kClampedLeaky = two(0.01, 6), kLinearWithBias = two(1, 0),
               kThreshold = two(0, 0), kHardSwish = two(1.0 / 6, 0.5);

class ActivationStage final : public Stage {
 public:
  ActivationStage(const ResolvedLayer& layer, const ActivationFunction& function,
                  const FilterParameters& filter_parameters)
      : layer_({.function = function,
                .axes = {},
                .input = shape_of(layer.input),
                .output = shape_of(layer.output),
                .filter_parameters = filter_parameters}) {}

  void forward(const Pass& pass, const Descriptor& in, const Descriptor& out) override {
    layer_.apply(pass.samples, in, out);
  }
  void backward(const Pass& pass, const Descriptor& in, const Descriptor& out,
                const Descriptor& out_delta, const std::optional<Descriptor>& in_delta) override {
    if (!in_delta) return;
    layer_.apply_backward(
        pass.samples,
        {.input = in, .output = out, .output_gradient = out_delta, .input_gradient = in_delta});
  }

 private:
  ActivationLayer layer_;
};

struct Row {
  std::string_view name;
  std::span<const FieldRule> fields;
  Function function;
  bool rectifier = false;
};

using A = ActivationFunction;
using F = const Fields&;

constexpr Row kRows[] = {
    {"identity", {}, [](F) { return A::identity(); }},
    {"relu", {}, [](F) { return A::rectified_linear(); }, true},
    {"leaky_relu", kAlpha<1, 100>, [](F f) { return A::leaky_rectified_linear(alpha(f)); }, true},
    {"sigmoid", {}, [](F) { return A::sigmoid(); }},
    {"tanh", {}, [](F) { return A::tanh(); }},
    {"scaled_tanh", kScaledTanh, [](F f) { return A::scaled_tanh(alpha(f), beta(f)); }},
    {"abs", {}, [](F) { return A::abs(); }},
    {"linear", kAlpha<1>, [](F f) { return A::linear(alpha(f)); }},
    {"clamp", kClamp, [](F f) { return A::clamp(alpha(f), beta(f)); }},
    {"softmax", {}, [](F) { return A::softmax(); }},
    {"gelu", kGelu, [](F f) { return A::gelu_approximation(alpha(f), beta(f)); }, true},
    {"gelu2", kGelu, [](F f) { return A::gelu_approximation2(alpha(f), beta(f)); }, true},
    {"hard_sigmoid", kHardSigmoid, [](F f) { return A::hard_sigmoid(alpha(f), beta(f)); }},
    {"softplus", kSoftplus, [](F f) { return A::softplus(alpha(f), beta(f)); }},
    {"softsign", {}, [](F) { return A::softsign(); }},
    {"elu", kAlpha<1>, [](F f) { return A::elu(alpha(f)); }, true},
    {"clamped_leaky_relu", kClampedLeaky,
     [](F f) { return A::clamped_leaky_rectified_linear(alpha(f), beta(f)); }, true},
    {"linear_with_bias", kLinearWithBias,
     [](F f) { return A::linear_with_bias(alpha(f), beta(f)); }},
    {"log_softmax", {}, [](F) { return A::log_softmax(); }},
    {"log_sigmoid", {}, [](F) { return A::log_sigmoid(); }},
    {"selu", {}, [](F) { return A::selu(); }, true},
    {"celu", kAlpha<1>, [](F f) { return A::celu(alpha(f)); }, true},
    {"hard_shrink", kAlpha<1, 2>, [](F f) { return A::hard_shrink(alpha(f)); }},
    {"soft_shrink", kAlpha<1, 2>, [](F f) { return A::soft_shrink(alpha(f)); }},
    {"tanh_shrink", {}, [](F) { return A::tanh_shrink(); }},
    {"threshold", kThreshold, [](F f) { return A::threshold(alpha(f), beta(f)); }, true},
    {"hard_swish", kHardSwish, [](F f) { return A::hard_swish(alpha(f), beta(f)); }, true},
    {"silu", {}, [](F) { return A::silu(); }, true},
};
constexpr std::size_t kCount = std::size(kRows);

const Row* row_of(const LayerKind& kind) {
  for (const Row& row : kRows)
    if (row.name == kind.name) return &row;
  return nullptr;
}

MadeStage make(const StageContext& context) {
  const ResolvedLayer& layer = context.layers[0];
  return {std::make_unique<ActivationStage>(layer, row_of(*layer.kind)->function(layer.fields),
                                            context.filter_parameters)};
}

constexpr auto kKinds = [] {
  std::array<LayerKind, kCount> kinds{};
  for (std::size_t k = 0; k < kCount; ++k) {
    kinds[k] = {
        .name = kRows[k].name, .fields = kRows[k].fields, .output = same_shape, .make = make};
  }
  return kinds;
}();

}  // namespace

std::span<const LayerKind> activation_kinds() {
  return kKinds;
}

std::optional<ActivationFunction> fusable_activation(std::span<const ResolvedLayer> layers,
                                                     std::size_t index) {
  if (index >= layers.size()) return std::nullopt;
  const Row* row = row_of(*layers[index].kind);
  if (!row) return std::nullopt;
  const ActivationFunction function = row->function(layers[index].fields);
  // The softmax family works on whole samples, and has no place inside another filter.
  if (row->name == "softmax" || row->name == "log_softmax") return std::nullopt;
  return OpenBNNSCheckFusedActivation(&function.native()) == 0 ? std::optional(function)
                                                               : std::nullopt;
}

bool is_rectifier(const LayerKind& kind) {
  const Row* row = row_of(kind);
  return row && row->rectifier;
}

bool is_activation(const LayerKind& kind) {
  return row_of(kind) != nullptr;
}

}  // namespace bnns::train::impl
