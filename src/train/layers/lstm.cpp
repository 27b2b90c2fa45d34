// A sequence, one row of the input after the other, through cells with a memory. Its output is the
// sequence of their "outputs", or with "last" those of the last row alone. Weights and bias hold
// the gates in PyTorch's order: input, forget, candidate, output; there is one bias, where PyTorch
// has two that it adds.
#include <algorithm>
#include <map>
#include <utility>

#include "train/layers/other.h"

namespace bnns::train::impl {
namespace {

using Type = FieldRule::Type;

constexpr std::size_t kGates = 4;
constexpr FieldRule kFields[] = {{"outputs", Type::integer, 1, kLargest},
                                 {"last", Type::flag, 0, 1, 0}};

SampleShape output(const Fields& fields, const SampleShape& input) {
  if (input.channels != 1) {
    fields.fail("it takes a sequence of rows; its input is " + text_of(input));
  }
  return {.width = fields.integer("outputs"), .height = fields.flag("last") ? 1 : input.height};
}

std::vector<ParameterRule> parameters(const Fields& fields, const SampleShape& input,
                                      const SampleShape&) {
  const std::size_t hidden = fields.integer("outputs");
  const auto weights = [&](const char* name, std::size_t inputs) {
    return ParameterRule{.name = name,
                         .dimensions = {kGates * hidden, inputs},
                         .shape = Shape::matrix_row_major(inputs, kGates * hidden),
                         .initial = ParameterRule::Initial::weights,
                         .fan_in = inputs,
                         .fan_out = hidden};
  };
  return {weights("weight_ih_l0", input.width),
          weights("weight_hh_l0", hidden),
          {.name = "bias_ih_l0",
           .dimensions = {kGates * hidden},
           .shape = Shape::vector(kGates * hidden)}};
}

double multiply_adds(const ResolvedLayer& layer) {
  const auto hidden = static_cast<double>(layer.fields.integer("outputs"));
  return static_cast<double>(layer.input.height) * kGates * hidden *
         (static_cast<double>(layer.input.width) + hidden);
}

class LSTMStage final : public Stage {
 public:
  explicit LSTMStage(const StageContext& context)
      : inputs_(context.layers[0].input.width),
        steps_(context.layers[0].input.height),
        hidden_(context.layers[0].fields.integer("outputs")),
        last_(context.layers[0].fields.flag("last")),
        filter_parameters_(context.filter_parameters) {
    const std::string& path = context.layers[0].path;
    const char* names[] = {".weight_ih_l0", ".weight_hh_l0", ".bias_ih_l0"};
    for (std::size_t k = 0; k < 3; ++k) {
      values_[k] = context.parameters.values(context.parameters.entry(path + names[k])).data();
      if (const auto gradient = context.parameters.gradient(path + names[k])) {
        gradients_[k] = static_cast<float*>(gradient->data);
      }
    }
    if (last_) sequence_ = Tensor(Shape::vector(steps_ * hidden_), context.batch_size);
  }

  void forward(const Pass& pass, const Descriptor& in, const Descriptor& out) override {
    auto* values = static_cast<float*>(out.data);
    float* sequence = last_ ? sequence_.data() : values;
    layer(pass.samples)
        .apply({.input = steps(in.data, inputs_, pass.samples),
                .output = steps(sequence, hidden_, pass.samples),
                .phase = pass.phase()});
    for (std::size_t n = 0; last_ && n < pass.samples; ++n) {
      std::copy_n(sequence + ((n + 1) * steps_ - 1) * hidden_, hidden_, values + n * hidden_);
    }
  }
  void backward(const Pass& pass, const Descriptor& in, const Descriptor&,
                const Descriptor& out_delta, const std::optional<Descriptor>& in_delta) override {
    LSTMBackwardArguments arguments = {.input = steps(in.data, inputs_, pass.samples)};
    if (last_) {
      arguments.final_hidden_gradient = make_descriptor(
          BNNSDataTypeFloat32, Shape({1, 1, pass.samples, hidden_}), out_delta.data);
    } else {
      arguments.output_gradient = steps(out_delta.data, hidden_, pass.samples);
    }
    if (in_delta) arguments.input_gradient = steps(in_delta->data, inputs_, pass.samples);
    LSTMGateGradients* const gates[] = {&arguments.input_gate, &arguments.forget_gate,
                                        &arguments.candidate_gate, &arguments.output_gate};
    for (std::size_t k = 0; k < kGates; ++k) {
      if (gradients_[0]) gates[k]->input_weights = weights(gradients_[0], k, inputs_);
      if (gradients_[1]) gates[k]->hidden_weights = weights(gradients_[1], k, hidden_);
      if (gradients_[2]) gates[k]->bias = bias(gradients_[2], k);
    }
    layer(pass.samples).apply_backward(arguments);
  }

 private:
  // Samples one after the other, each row by row.
  Descriptor steps(void* data, std::size_t width, std::size_t samples) const {
    return make_descriptor(BNNSDataTypeFloat32, Shape::tensor_3d_nse(width, steps_, samples), data);
  }
  // The rows of gate k.
  Descriptor weights(float* data, std::size_t k, std::size_t inputs) const {
    return make_descriptor(BNNSDataTypeFloat32, Shape({1, 1, hidden_, inputs}),
                           data + k * hidden_ * inputs);
  }
  Descriptor bias(float* data, std::size_t k) const {
    return make_descriptor(BNNSDataTypeFloat32, Shape({1, 1, hidden_}), data + k * hidden_);
  }
  LSTMGate gate(std::size_t k) const {
    return {.input_weights = ParameterDescriptor(weights(values_[0], k, inputs_)),
            .hidden_weights = ParameterDescriptor(weights(values_[1], k, hidden_)),
            .bias = ParameterDescriptor(bias(values_[2], k))};
  }
  // A layer is made for a number of samples; shards have few different ones.
  LSTMLayer& layer(std::size_t samples) {
    const auto found = layers_.find(samples);
    if (found != layers_.end()) return found->second;
    const Descriptor input = steps(nullptr, inputs_, samples);
    LSTMLayer made({.input = input,
                    .output = steps(nullptr, hidden_, samples),
                    .input_gate = gate(0),
                    .forget_gate = gate(1),
                    .candidate_gate = gate(2),
                    .output_gate = gate(3),
                    .filter_parameters = filter_parameters_});
    return layers_.emplace(samples, std::move(made)).first->second;
  }

  std::size_t inputs_, steps_, hidden_;
  bool last_;
  FilterParameters filter_parameters_;
  float* values_[3] = {};
  float* gradients_[3] = {};  // null: the layer is frozen
  Tensor sequence_ = Tensor(Shape::vector(1));
  std::map<std::size_t, LSTMLayer> layers_;
};

MadeStage make(const StageContext& context) {
  return {std::make_unique<LSTMStage>(context)};
}

}  // namespace

constexpr LayerKind kLSTM = {.name = "lstm",
                             .fields = kFields,
                             .output = output,
                             .parameters = parameters,
                             .multiply_adds = multiply_adds,
                             .make = make};

}  // namespace bnns::train::impl
