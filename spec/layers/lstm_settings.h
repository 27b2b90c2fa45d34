// What an LSTM case varies, its operands, and how they become the structures of a call.
#ifndef OPENBNNS_SPEC_LSTM_SETTINGS_H
#define OPENBNNS_SPEC_LSTM_SETTINGS_H

#include <cstring>
#include <memory>

#include "layers/activation_functions.h"
#include "runner/case.h"

namespace spec {

struct LstmFunctionSetting {
  BNNSActivationFunction function = BNNSActivationFunctionSigmoid;
  float alpha = 0, beta = 0;
};

struct LstmSettings {
  enum Operand : size_t { kX, kY, kLastH, kLastC, kFirstH, kFirstC };
  enum Part : size_t { kIw, kHw, kIwUpper, kCw, kBias };
  enum Form { kFull, kJoined, kShort, kLastMajor };  // how states and parameters are laid out

  std::string name;
  size_t inputs = 3, hidden = 2, batch = 2, layers = 1, steps = 3;
  bool both = false, bias = true, states = true;
  size_t peepholes = 0;  // bit k: gate k has one
  bool batch_first = false, cached = true, flag = true;
  Form form = kFull;
  std::vector<int32_t> lengths = {};
  LstmFunctionSetting function[5] = {
      {}, {}, {BNNSActivationFunctionTanh}, {}, {BNNSActivationFunctionTanh}};
  float dropout = 0;
  // By layer below: what its outputs are multiplied with.
  std::vector<std::vector<double>> factors = {};

  size_t directions() const { return both ? 2 : 1; }
  size_t outputs() const { return directions() * hidden; }
  size_t inputs_of(size_t l) const { return l == 0 ? inputs : outputs(); }
  size_t rows() const { return steps * batch; }
  size_t step(size_t d, size_t turn) const { return d == 0 ? turn : steps - 1 - turn; }
  bool is_active(size_t t, size_t n) const {
    return lengths.empty() || t < static_cast<size_t>(lengths[n]);
  }
  bool splits() const { return layers > 1 && inputs != outputs(); }
  bool has_peephole(size_t k) const { return (peepholes >> k & 1) != 0; }
  bool is_output(size_t i) const { return i == kY || i == kLastH || i == kLastC; }
  bool is_small() const {
    return rows() * layers * directions() * hidden * (inputs + hidden) < 400;
  }

  bool has(size_t k, Part part) const {
    if (part == kIwUpper) return splits();
    if (part == kCw) return has_peephole(k);
    return part != kBias || bias;
  }
  size_t operand(size_t k, Part part) const {
    size_t at = states ? kFirstC + 1 : kFirstH;
    for (size_t g = 0; g <= k; ++g)
      for (size_t p = kIw; p <= kBias; ++p) {
        if (g == k && p == part) return at;
        at += has(g, static_cast<Part>(p));
      }
    return at;
  }
  std::string tag() const {
    const auto n = [](const char* letter, size_t v) { return letter + std::to_string(v); };
    return n("i", inputs) + n("h", hidden) + n("b", batch) + n("l", layers) + n("t", steps) +
           (both ? "_both" : "") + (batch_first ? "_nse" : "") + (bias ? "" : "_nobias") +
           (states ? "" : "_nostate") + (peepholes ? n("_peep", peepholes) : "") +
           (lengths.empty() ? "" : "_lengths") + (cached ? "" : "_uncached") +
           (form == kFull ? "" : n("_form", form));
  }

  Shape sequence(size_t width) const {
    if (batch_first) return {BNNSDataLayoutNSE, {width, steps, batch}};
    return {BNNSDataLayoutSNE, {width, batch, steps}};
  }
  // Of extents [layer][direction] and one or two more.
  Shape shape(Index full) const {
    if (form == kLastMajor) return {last_major(full.size()), full};
    if (form != kFull) {
      full[1] *= full[0];
      full.erase(full.begin());
    }
    if (form == kShort) full.erase(full.begin());
    if (form == kShort && full.size() == 2)
      return {BNNSDataLayoutRowMajorMatrix, {full[1], full[0]}};
    if (form == kShort) return {BNNSDataLayoutVector, full};
    return {first_major(full.size()), full};
  }
};

inline std::vector<Operand> lstm_operands(const LstmSettings& s) {
  std::vector<Operand> list;
  const size_t d = s.directions();
  const auto add = [&](const std::string& name, Role role, const Shape& shape, double range) {
    list.push_back({.name = name, .role = role, .shape = shape, .fill = {-range, range}});
  };
  const Shape state = s.shape({s.layers, d, s.batch, s.hidden});
  add("x", Role::kIn, s.sequence(s.inputs), 2);
  add("y", Role::kOut, s.sequence(s.outputs()), 1);
  add("last_h", Role::kOut, state, 1);
  add("last_c", Role::kOut, state, 1);
  if (s.states) add("h", Role::kIn, state, 1);
  if (s.states) add("c", Role::kIn, state, 1);
  constexpr const char* kNames = "ifgo";
  for (size_t k = 0; k < 4; ++k) {
    const std::string gate(1, kNames[k]);
    const double in = 2.0 / std::sqrt(double(s.inputs)),
                 own = std::min(1.5, 4.0 / double(s.hidden));
    add("iw_" + gate, Role::kIn, s.shape({s.splits() ? 1 : s.layers, d, s.hidden, s.inputs}), in);
    add("hw_" + gate, Role::kIn, s.shape({s.layers, d, s.hidden, s.hidden}), own);
    if (s.splits())
      add("iw1_" + gate, Role::kIn, s.shape({s.layers - 1, d, s.hidden, s.outputs()}), own);
    if (s.has_peephole(k))
      add("cw_" + gate, Role::kIn, s.shape({s.layers, d, s.hidden, s.hidden}), own);
    if (s.bias) add("b_" + gate, Role::kIn, s.shape({s.layers, d, s.hidden}), 1);
  }
  for (Operand& o : list) o.once = true;
  return list;
}

// The structures of a call, over the memory of its arguments.
struct LstmCall {
  BNNSLayerParametersLSTM p = {}, delta = {};
  std::vector<int32_t> lengths;
  std::vector<char> cache;

  LstmCall(const LstmSettings& s, const std::vector<Argument>& value,
           const std::vector<Argument>* deltas)
      : lengths(s.lengths) {
    fill(s, value, p);
    p.dropout = s.dropout;
    p.lstm_flags = (s.both ? uint32_t{BNNSLayerFlagsLSTMBidirectional} : 0u) |
                   (s.flag ? uint32_t{BNNSLayerFlagsLSTMDefaultActivations} : 0u);
    if (!lengths.empty())
      p.sequence_descriptor = {.layout = BNNSDataLayoutVector,
                               .size = {s.batch},
                               .data = lengths.data(),
                               .data_type = BNNSDataTypeInt32};
    BNNSActivation* functions[5] = {&p.input_gate.activation, &p.forget_gate.activation,
                                    &p.candidate_gate.activation, &p.output_gate.activation,
                                    &p.hidden_activation};
    for (size_t k = 0; k < 5; ++k)
      *functions[k] = {
          .function = s.flag ? static_cast<BNNSActivationFunction>(77) : s.function[k].function,
          .alpha = s.function[k].alpha,
          .beta = s.function[k].beta};
    if (deltas != nullptr) fill(s, *deltas, delta);
  }

  int forward(const BNNSFilterParameters& parameters, bool cached) {
    if (cached) cache.assign(BNNSComputeLSTMTrainingCacheCapacity(&p), 0);
    return BNNSDirectApplyLSTMBatchTrainingCaching(&p, &parameters, cached ? cache.data() : nullptr,
                                                   cache.size());
  }
  int backward(const BNNSFilterParameters& parameters, bool cached) {
    return BNNSDirectApplyLSTMBatchBackward(&p, &delta, &parameters,
                                            cached ? cache.data() : nullptr, cache.size());
  }

 private:
  static void fill(const LstmSettings& s, const std::vector<Argument>& from,
                   BNNSLayerParametersLSTM& p) {
    p.input_size = s.inputs;
    p.hidden_size = s.hidden;
    p.batch_size = s.batch;
    p.num_layers = s.layers;
    p.seq_len = s.steps;
    p.input_descriptor.data_desc = from[LstmSettings::kX].desc;
    p.output_descriptor = {.data_desc = from[LstmSettings::kY].desc,
                           .hidden_desc = from[LstmSettings::kLastH].desc,
                           .cell_state_desc = from[LstmSettings::kLastC].desc};
    if (s.states) {
      p.input_descriptor.hidden_desc = from[LstmSettings::kFirstH].desc;
      p.input_descriptor.cell_state_desc = from[LstmSettings::kFirstC].desc;
    }
    BNNSLSTMGateDescriptor* gates[] = {&p.input_gate, &p.forget_gate, &p.candidate_gate,
                                       &p.output_gate};
    for (size_t k = 0; k < 4; ++k) {
      const auto desc = [&](LstmSettings::Part part) { return from[s.operand(k, part)].desc; };
      gates[k]->iw_desc[0] = desc(LstmSettings::kIw);
      gates[k]->hw_desc = desc(LstmSettings::kHw);
      if (s.splits()) gates[k]->iw_desc[1] = desc(LstmSettings::kIwUpper);
      if (s.has_peephole(k)) gates[k]->cw_desc = desc(LstmSettings::kCw);
      if (s.bias) gates[k]->b_desc = desc(LstmSettings::kBias);
    }
  }
};

// With a cache, a forward call fills it first; its outputs go to memory of their own.
inline int lstm_backward(const LstmSettings& s, Call& call) {
  if (!s.cached) return LstmCall(s, call.value, &call.delta).backward(call.parameters, false);
  std::vector<Argument> value = call.value;
  std::vector<std::vector<char>> outputs;
  for (size_t i : {LstmSettings::kY, LstmSettings::kLastH, LstmSettings::kLastC}) {
    outputs.emplace_back(BNNSNDArrayGetDataSize(&value[i].desc));
    value[i].desc.data = outputs.back().data();
  }
  LstmCall lstm(s, value, &call.delta);
  const int status = lstm.forward(call.parameters, true);
  return status != 0 ? status : lstm.backward(call.parameters, true);
}

inline std::vector<LstmSettings> lstm_settings() {
  std::vector<LstmSettings> list;
  const auto add = [&](LstmSettings s, const char* name) -> LstmSettings& {
    s.name = name;
    return list.emplace_back(s);
  };
  using F = LstmSettings::Form;
  const char* plain = "plain";
  add({}, plain);
  add({.cached = false, .form = F::kShort}, plain);
  add({.states = false, .batch_first = true}, plain);
  add({.bias = false}, plain);
  add({.both = true, .form = F::kJoined}, plain);
  add({.layers = 2, .form = F::kJoined}, plain);
  add({.inputs = 2, .layers = 2, .cached = false}, plain);
  add({.batch = 1, .layers = 3, .steps = 2, .both = true, .form = F::kLastMajor}, plain);
  add({.inputs = 4, .batch = 3, .layers = 2, .both = true, .batch_first = true}, plain);
  add({.batch = 3, .steps = 4, .lengths = {4, 0, 2}}, plain);
  add({.batch = 3, .layers = 2, .steps = 3, .both = true, .lengths = {1, 3, 0}}, plain);
  add({.batch = 2, .both = true, .states = false, .lengths = {1, 3}}, plain);
  add({.layers = 2, .both = true, .peepholes = 15}, "peephole");
  add({.peepholes = 7, .cached = false}, "peephole");
  add({.peepholes = 8}, "peephole");
  add({.batch = 3, .peepholes = 5, .lengths = {2, 3, 1}}, "peephole");
  // Each function in each place, those with gradients that two steps apart are still smooth.
  size_t place = 0;
  for (const ActivationInfo& row : activation_rows()) {
    const auto& formula = reference::formula<double>(row.function);
    if (formula.y == nullptr || row.function == BNNSActivationFunctionPReLUPerChannel) continue;
    LstmSettings s{.batch = 2, .steps = 2, .both = place % 2 == 1, .flag = false};
    const BNNSActivation a = activation_of(row);
    for (size_t k : {place % 5, (place + 2) % 5}) s.function[k] = {a.function, a.alpha, a.beta};
    add(s, "function").name += "_" + std::to_string(static_cast<int>(row.function));
    ++place;
  }
  for (size_t n = 1; n <= 40; ++n) {  // sizes around the widths of vectors
    add({.inputs = 1 + n * 7 % 37,
         .hidden = n,
         .batch = 1 + n % 5,
         .layers = 1 + n % 3 / 2,
         .steps = 1 + n % 4,
         .both = n % 4 == 1,
         .peepholes = n % 7 == 0 ? n % 16 : 0,
         .batch_first = n % 3 == 0,
         .cached = n % 2 == 0},
        "size");
  }
  add({.inputs = 33, .hidden = 70, .batch = 20, .steps = 5}, "large");
  add({.inputs = 20, .hidden = 37, .batch = 35, .layers = 2, .steps = 3, .both = true}, "large");
  return list;
}

}  // namespace spec
#endif
