// Stacked LSTM cells over a sequence, in one direction or both.
//   Shapes, with L layers, D directions, hidden size H, n samples, t steps, I inputs:
// sequences Shape::tensor_3d_sne(I, n, t) or tensor_3d_nse(I, t, n), with D H in place of I for
// outputs; states {L, D, n, H}; input_weights {L, D, H, I}, hidden_weights and cell_weights
// {L, D, H, H}, bias {L, D, H}. If L > 1 and I is not D H, input_weights are {1, D, H, I}, and
// upper_input_weights {L - 1, D, H, D H} those of the layers above the first.
#ifndef OPENBNNS_LAYERS_LSTM_HPP
#define OPENBNNS_LAYERS_LSTM_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "../parameter_list.hpp"
#include "activation.hpp"
#include "normalization.hpp"

namespace bnns {

struct LSTMGate {
  Required<ParameterDescriptor, field::input_weights> input_weights;
  std::optional<ParameterDescriptor> upper_input_weights = std::nullopt;
  Required<ParameterDescriptor, field::hidden_weights> hidden_weights;
  std::optional<ParameterDescriptor> cell_weights = std::nullopt;  // peepholes
  std::optional<ParameterDescriptor> bias = std::nullopt;
  std::optional<ActivationFunction> activation = std::nullopt;  // absent: sigmoid; candidate: tanh
};

struct LSTMLayerOptions {
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::output> output;
  std::size_t layer_count = 1;
  bool is_bidirectional = false;
  float dropout = 0;  // between layers, in training
  Required<LSTMGate, field::input_gate> input_gate;
  Required<LSTMGate, field::forget_gate> forget_gate;
  Required<LSTMGate, field::candidate_gate> candidate_gate;
  Required<LSTMGate, field::output_gate> output_gate;
  std::optional<ActivationFunction> activation = std::nullopt;  // of the cell state; absent: tanh
  FilterParameters filter_parameters = {};
};

// What is left out is zero, or not wanted. Lengths are one 32- or 64-bit integer per sample.
struct LSTMApplyArguments {
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::output> output;
  Descriptor initial_hidden = {}, initial_cell = {};
  Descriptor final_hidden = {}, final_cell = {};
  Descriptor lengths = {};
  LearningPhase phase = LearningPhase::training;
};

struct LSTMGateGradients {
  Descriptor input_weights = {}, upper_input_weights = {}, hidden_weights = {}, cell_weights = {};
  Descriptor bias = {};
};

// The first fields are those of the forward call.
struct LSTMBackwardArguments {
  Required<Descriptor, field::input> input;
  Descriptor initial_hidden = {}, initial_cell = {};
  Descriptor lengths = {};
  Descriptor output_gradient = {}, final_hidden_gradient = {}, final_cell_gradient = {};
  Descriptor input_gradient = {}, initial_hidden_gradient = {}, initial_cell_gradient = {};
  LSTMGateGradients input_gate = {}, forget_gate = {}, candidate_gate = {}, output_gate = {};
};

// A forward pass in training fills a cache that the layer owns, and apply_backward uses it; after
// one in inference, or without one, apply_backward computes the forward pass again. One thread at a
// time may use a layer that trains.
class LSTMLayer {
 public:
  explicit LSTMLayer(const LSTMLayerOptions& options)
      : filter_parameters_(detail::native(options.filter_parameters)) {
    constexpr const char* kClass = "LSTMLayer";
    const std::size_t directions = options.is_bidirectional ? 2 : 1;
    const bool by_step = options.input->layout == BNNSDataLayoutSNE;
    detail::require(by_step || options.input->layout == BNNSDataLayoutNSE,
                    Error::Code::unable_to_create_layer, kClass,
                    "input must have the layout tensor_3d_sne or tensor_3d_nse");
    parameters_.input_size = options.input->size[0];
    parameters_.batch_size = options.input->size[by_step ? 1 : 2];
    parameters_.seq_len = options.input->size[by_step ? 2 : 1];
    require_outputs(*options.output, directions);
    parameters_.hidden_size = options.output->size[0] / directions;
    parameters_.num_layers = options.layer_count;
    parameters_.dropout = options.dropout;
    if (options.is_bidirectional) parameters_.lstm_flags |= BNNSLayerFlagsLSTMBidirectional;
    const std::array<const LSTMGate*, 4> gates = {&*options.input_gate, &*options.forget_gate,
                                                  &*options.candidate_gate, &*options.output_gate};
    for (std::size_t k = 0; k < gates.size(); ++k) set(gate(parameters_, k), *gates[k], k == 2);
    parameters_.hidden_activation =
        options.activation.value_or(ActivationFunction::tanh()).native();
    capacity_ = BNNSComputeLSTMTrainingCacheCapacity(&parameters_);
    detail::check(capacity_ == SIZE_MAX ? -1 : 0, Error::Code::unable_to_create_layer, kClass);
    require_weights(directions);
  }
  LSTMLayer(LSTMLayer&& other) noexcept
      : owners_(std::move(other.owners_)),
        parameters_(other.parameters_),
        filter_parameters_(other.filter_parameters_),
        capacity_(std::exchange(other.capacity_, 0)),
        cache_(std::move(other.cache_)),
        has_cache_(std::exchange(other.has_cache_, false)) {}
  LSTMLayer& operator=(LSTMLayer&& other) noexcept {
    owners_ = std::move(other.owners_);
    parameters_ = other.parameters_;
    filter_parameters_ = other.filter_parameters_;
    capacity_ = std::exchange(other.capacity_, 0);
    cache_ = std::move(other.cache_);
    has_cache_ = std::exchange(other.has_cache_, false);
    return *this;
  }

  // In bytes; of the memory that a pass in training fills.
  std::size_t cache_size() const noexcept { return capacity_; }

  void apply(const LSTMApplyArguments& a) {
    constexpr const char* kOperation = "LSTMLayer::apply";
    require_ready(kOperation);
    require_one_each(kOperation, {{"input", *a.input},
                                  {"output", *a.output},
                                  {"initial_hidden", a.initial_hidden},
                                  {"initial_cell", a.initial_cell},
                                  {"final_hidden", a.final_hidden},
                                  {"final_cell", a.final_cell},
                                  {"lengths", a.lengths}});
    const bool trains = a.phase == LearningPhase::training;
    if (trains && !cache_) cache_ = std::make_unique<std::byte[]>(capacity_);
    has_cache_ = false;
    BNNSLayerParametersLSTM call = parameters_;
    call.input_descriptor = {*a.input, a.initial_hidden, a.initial_cell};
    call.output_descriptor = {*a.output, a.final_hidden, a.final_cell};
    call.sequence_descriptor = a.lengths;
    detail::check(
        BNNSDirectApplyLSTMBatchTrainingCaching(
            &call, &filter_parameters_, trains ? cache_.get() : nullptr, trains ? capacity_ : 0),
        Error::Code::layer_apply_fail, kOperation);
    has_cache_ = trains;
  }

  void apply_backward(const LSTMBackwardArguments& a) const {
    constexpr const char* kOperation = "LSTMLayer::apply_backward";
    require_ready(kOperation);
    require_one_each(kOperation, {{"input", *a.input},
                                  {"initial_hidden", a.initial_hidden},
                                  {"initial_cell", a.initial_cell},
                                  {"lengths", a.lengths},
                                  {"output_gradient", a.output_gradient},
                                  {"final_hidden_gradient", a.final_hidden_gradient},
                                  {"final_cell_gradient", a.final_cell_gradient},
                                  {"input_gradient", a.input_gradient},
                                  {"initial_hidden_gradient", a.initial_hidden_gradient},
                                  {"initial_cell_gradient", a.initial_cell_gradient}});
    BNNSLayerParametersLSTM call = parameters_, delta = {};
    call.input_descriptor = {*a.input, a.initial_hidden, a.initial_cell};
    call.sequence_descriptor = a.lengths;
    delta.output_descriptor = {a.output_gradient, a.final_hidden_gradient, a.final_cell_gradient};
    delta.input_descriptor = {a.input_gradient, a.initial_hidden_gradient, a.initial_cell_gradient};
    const std::array<const LSTMGateGradients*, 4> gates = {&a.input_gate, &a.forget_gate,
                                                           &a.candidate_gate, &a.output_gate};
    for (std::size_t k = 0; k < gates.size(); ++k) {
      BNNSLSTMGateDescriptor& to = gate(delta, k);
      to.iw_desc[0] = gates[k]->input_weights;
      to.iw_desc[1] = gates[k]->upper_input_weights;
      to.hw_desc = gates[k]->hidden_weights;
      to.cw_desc = gates[k]->cell_weights;
      to.b_desc = gates[k]->bias;
    }
    detail::check(BNNSDirectApplyLSTMBatchBackward(&call, &delta, &filter_parameters_,
                                                   has_cache_ ? cache_.get() : nullptr,
                                                   has_cache_ ? capacity_ : 0),
                  Error::Code::layer_apply_fail, kOperation);
  }

 private:
  struct Argument {
    const char* name;
    const Descriptor& descriptor;
  };
  // Samples are an axis of each of these tensors, not a batch of them.
  static void require_one_each(const char* operation, std::initializer_list<Argument> arguments) {
    for (const Argument& a : arguments) detail::require_one_sample(a.descriptor, operation, a.name);
  }
  void require_ready(const char* operation) const {
    detail::require(capacity_ != 0, Error::Code::invalid_argument, operation,
                    "the layer was moved from");
  }
  void require_outputs(const Descriptor& output, std::size_t directions) const {
    constexpr auto kCode = Error::Code::unable_to_create_layer;
    const bool by_step = output.layout == BNNSDataLayoutSNE;
    detail::require(by_step || output.layout == BNNSDataLayoutNSE, kCode, "LSTMLayer",
                    "output must have the layout tensor_3d_sne or tensor_3d_nse");
    detail::require(output.size[0] % directions == 0, kCode, "LSTMLayer", "output has ",
                    output.size[0], " values for each step; both directions need an even number");
    const std::size_t samples = output.size[by_step ? 1 : 2], steps = output.size[by_step ? 2 : 1];
    detail::require(samples == parameters_.batch_size && steps == parameters_.seq_len, kCode,
                    "LSTMLayer", "output has ", samples, " samples of ", steps,
                    " steps, input has ", parameters_.batch_size, " of ", parameters_.seq_len,
                    "; they must be equal");
  }
  // The C functions check shapes at every call; a wrong number of elements is refused here.
  void require_weights(std::size_t directions) const {
    const std::size_t layers = parameters_.num_layers, hidden = parameters_.hidden_size;
    const std::size_t inputs = parameters_.input_size, rows = directions * hidden;
    const bool split = layers > 1 && inputs != rows;
    for (const BNNSLSTMGateDescriptor* g :
         {&parameters_.input_gate, &parameters_.forget_gate, &parameters_.candidate_gate,
          &parameters_.output_gate}) {
      require_count("input_weights", g->iw_desc[0], {split ? 1 : layers, rows, inputs});
      if (split) require_count("upper_input_weights", g->iw_desc[1], {layers - 1, rows, rows});
      require_count("hidden_weights", g->hw_desc, {layers, rows, hidden});
      if (g->cw_desc.data) require_count("cell_weights", g->cw_desc, {layers, rows, hidden});
      if (g->b_desc.data) require_count("bias", g->b_desc, {layers, rows, 1});
    }
  }
  static void require_count(const char* name, const BNNSNDArrayDescriptor& weights,
                            const std::array<std::size_t, 3>& sizes) {
    detail::require(weights.data != nullptr, Error::Code::unable_to_create_layer, "LSTMLayer", name,
                    " is missing");
    std::size_t count = 1, wanted = 1;
    const std::size_t axes = rank(static_cast<DataLayout>(weights.layout));
    for (std::size_t k = 0; k < std::min<std::size_t>(axes, 8); ++k)
      count = detail::multiply(count, weights.size[k], "LSTMLayer");
    for (const std::size_t size : sizes) wanted = detail::multiply(wanted, size, "LSTMLayer");
    detail::require(count == wanted, Error::Code::unable_to_create_layer, "LSTMLayer", name,
                    " has ", count, " elements, the network needs ", wanted);
  }
  static BNNSLSTMGateDescriptor& gate(BNNSLayerParametersLSTM& p, std::size_t k) {
    BNNSLSTMGateDescriptor* const gates[] = {&p.input_gate, &p.forget_gate, &p.candidate_gate,
                                             &p.output_gate};
    return *gates[k];
  }
  void set(BNNSLSTMGateDescriptor& to, const LSTMGate& from, bool is_candidate) {
    const auto take = [&](const std::optional<ParameterDescriptor>& parameter) {
      if (parameter && parameter->owner()) owners_.push_back(parameter->owner());
      return detail::value_or_zero(parameter);
    };
    to.iw_desc[0] = take(*from.input_weights);
    to.iw_desc[1] = take(from.upper_input_weights);
    to.hw_desc = take(*from.hidden_weights);
    to.cw_desc = take(from.cell_weights);
    to.b_desc = take(from.bias);
    const auto usual = is_candidate ? ActivationFunction::tanh() : ActivationFunction::sigmoid();
    to.activation = from.activation.value_or(usual).native();
  }

  std::vector<std::shared_ptr<const void>> owners_;
  BNNSLayerParametersLSTM parameters_ = {};
  BNNSFilterParameters filter_parameters_;
  std::size_t capacity_ = 0;
  std::unique_ptr<std::byte[]> cache_;
  bool has_cache_ = false;  // what is in it belongs to the last forward pass
};

// All parameters of such a layer, drawn as PyTorch's LSTM begins: uniform within 1 / sqrt(H). Each
// tensor has its gradient; add_to() gives them to an optimizer's list.
class LSTMParameters {
 public:
  struct Sizes {
    std::size_t inputs, hidden, layers = 1;
    bool is_bidirectional = false, has_bias = true, has_peepholes = false;
  };

  LSTMParameters(RandomGenerator& generator, const Sizes& sizes) {
    const std::size_t d = sizes.is_bidirectional ? 2 : 1, h = sizes.hidden, l = sizes.layers;
    detail::require(h > 0 && l > 0 && sizes.inputs > 0, Error::Code::invalid_argument,
                    "LSTMParameters", "a size is 0");
    const bool split = l > 1 && sizes.inputs != d * h;
    const float bound = 1 / std::sqrt(static_cast<float>(h));
    const auto draw = [&](std::initializer_list<std::size_t> shape) {
      return Parameter(Tensor::uniform(generator, -bound, bound, Shape(shape)));
    };
    for (Gate& gate : gates_) {
      gate.push_back(draw({split ? 1 : l, d, h, sizes.inputs}));
      gate.push_back(draw({l, d, h, h}));
      if (split) gate.push_back(draw({l - 1, d, h, d * h}));
      if (sizes.has_bias) gate.push_back(draw({l, d, h}));
      if (sizes.has_peepholes) gate.push_back(draw({l, d, h, h}));
    }
    upper_ = split ? 2 : kNone;
    bias_ = sizes.has_bias ? 2 + (split ? 1 : 0) : kNone;
    cell_ = sizes.has_peepholes ? gates_[0].size() - 1 : kNone;
  }

  // Gates 0 to 3: input, forget, candidate, output.
  LSTMGate gate(std::size_t k) const {
    const auto optional = [&](std::size_t i) {
      return i == kNone ? std::nullopt
                        : std::optional<ParameterDescriptor>(ParameterDescriptor(gates_[k][i]));
    };
    return {.input_weights = ParameterDescriptor(gates_[k][0]),
            .upper_input_weights = optional(upper_),
            .hidden_weights = ParameterDescriptor(gates_[k][1]),
            .cell_weights = optional(cell_),
            .bias = optional(bias_)};
  }
  LSTMGateGradients gradients(std::size_t k) const {
    const auto optional = [&](std::size_t i) {
      return i == kNone ? Descriptor() : gates_[k][i].gradient.descriptor();
    };
    return {.input_weights = optional(0),
            .upper_input_weights = optional(upper_),
            .hidden_weights = optional(1),
            .cell_weights = optional(cell_),
            .bias = optional(bias_)};
  }
  void add_to(ParameterList& list) const {
    for (const Gate& gate : gates_) {
      for (const Parameter& parameter : gate) list.add(parameter);
    }
  }

 private:
  using Gate = std::vector<Parameter>;
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::array<Gate, 4> gates_;
  std::size_t upper_ = kNone, bias_ = kNone, cell_ = kNone;
};

}  // namespace bnns

#endif
