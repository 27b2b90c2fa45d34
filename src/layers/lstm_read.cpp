#include "layers/lstm_read.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "layers/activation.h"
#include "ops/convert/convert.h"

namespace bnns::impl {
namespace {

struct GateInfo {
  const char* name;
  const BNNSLSTMGateDescriptor BNNSLayerParametersLSTM::*given;
  BNNSActivationFunction usual;
};
constexpr GateInfo kGates[kLstmGates] = {
    {"input_gate.", &BNNSLayerParametersLSTM::input_gate, BNNSActivationFunctionSigmoid},
    {"forget_gate.", &BNNSLayerParametersLSTM::forget_gate, BNNSActivationFunctionSigmoid},
    {"candidate_gate.", &BNNSLayerParametersLSTM::candidate_gate, BNNSActivationFunctionTanh},
    {"output_gate.", &BNNSLayerParametersLSTM::output_gate, BNNSActivationFunctionSigmoid},
};

LstmFunction read_function(const BNNSActivation& given, const char* place, const char* field) {
  const ActivationInfo* info = nullptr;
  try {
    info = &read_activation(given);
  } catch (const Error& error) {
    fail(place, error.text.c_str());
  }
  const FusedActivation f(*info, coefficients_of(given));
  require(f.is_element() || f.is_along_axes(), place, field, ".function is ", info->name,
          "; the functions of an LSTM are element-wise, Softmax or LogSoftmax");
  return LstmFunction(*info, coefficients_of(given));
}

LstmFunctions read_functions(const BNNSLayerParametersLSTM& p) {
  const bool defaults = (p.lstm_flags & BNNSLayerFlagsLSTMDefaultActivations) != 0;
  const auto usual = [](BNNSActivationFunction f) {
    return BNNSActivation{.function = f, .alpha = 0, .beta = 0};
  };
  LstmFunctions f;
  f.standard = p.output_gate.cw_desc.data == nullptr;
  for (size_t k = 0; k < kLstmGates; ++k) {
    const GateInfo& info = kGates[k];
    f.gate[k] = read_function(defaults ? usual(info.usual) : (p.*info.given).activation, info.name,
                              "activation");
    f.standard &= f.gate[k].info().function == info.usual;
  }
  const BNNSActivation hidden = defaults ? usual(BNNSActivationFunctionTanh) : p.hidden_activation;
  f.hidden = read_function(hidden, "hidden_", "activation");
  f.standard &= f.hidden.info().function == BNNSActivationFunctionTanh;
  return f;
}

// The logical coordinates of a descriptor from the slowest one: of sequences (sequence, sample,
// values), of all others as the layout has them.
size_t coordinate(const LayoutInfo& layout, size_t i) {
  const bool sequence = layout.layout == BNNSDataLayoutSNE || layout.layout == BNNSDataLayoutNSE;
  return layout.tuple[sequence ? layout.rank - 1 - i : i];
}

size_t axis_of_size(const LayoutInfo& layout, size_t size) {
  return static_cast<size_t>(std::find(layout.pair, layout.pair + layout.rank, size) - layout.pair);
}

void set_axis(View& view, size_t axis, size_t extent, size_t stride) {
  view.extent[axis] = extent;
  view.stride[axis] = stride;
}

}  // namespace

const char* lstm_gate_name(size_t gate) {
  return kGates[gate].name;
}

LstmShape read_lstm_shape(const BNNSLayerParametersLSTM& p) {
  const auto size = [](size_t value, const char* field) {
    require(value > 0, field, " is 0; it must be at least 1");
    return value;
  };
  constexpr uint32_t kFlags =
      BNNSLayerFlagsLSTMBidirectional | BNNSLayerFlagsLSTMDefaultActivations;
  require((p.lstm_flags & ~kFlags) == 0, "lstm_flags is ", p.lstm_flags,
          "; it may have the bits of BNNSLayerFlags only");
  const LstmShape shape = {
      .inputs = size(p.input_size, "input_size"),
      .hidden = size(p.hidden_size, "hidden_size"),
      .batch = size(p.batch_size, "batch_size"),
      .layers = size(p.num_layers, "num_layers"),
      .steps = size(p.seq_len, "seq_len"),
      .directions = (p.lstm_flags & BNNSLayerFlagsLSTMBidirectional) != 0 ? size_t{2} : size_t{1}};
  if (shape.layers > 1) {
    require(p.dropout >= 0 && p.dropout < 1, "dropout is ", double{p.dropout},
            "; it must be at least 0 and below 1");
  }
  // Products of sizes that are not those of a tensor.
  const LstmCache cache(shape);
  const size_t widest =
      checked_mul(std::max(shape.inputs, shape.outputs()), shape.gates(), "the weights of a layer");
  const size_t floats = std::max(
      {cache.floats(), widest, checked_mul(shape.rows(), shape.inputs, "the input sequence")});
  require(floats <= static_cast<size_t>(std::numeric_limits<ptrdiff_t>::max()) / 64,
          "input_size, hidden_size, batch_size, num_layers and seq_len are ", shape.inputs, ", ",
          shape.hidden, ", ", shape.batch, ", ", shape.layers, ", ", shape.steps,
          "; that is more than an address space");
  return shape;
}

LstmProblem read_lstm_problem(const BNNSLayerParametersLSTM& p) {
  LstmProblem problem = {.shape = read_lstm_shape(p), .functions = read_functions(p)};
  if (problem.shape.layers > 1) problem.dropout = p.dropout;
  return problem;
}

void check_lstm_delta_sizes(const BNNSLayerParametersLSTM& p, const LstmShape& s) {
  const auto check = [](size_t given, size_t right, const char* field) {
    require(given == 0 || given == right, "layer_delta_params: ", field, " is ", given,
            ", that of "
            "layer_params is ",
            right, "; it must be the same or 0");
  };
  check(p.input_size, s.inputs, "input_size");
  check(p.hidden_size, s.hidden, "hidden_size");
  check(p.batch_size, s.batch, "batch_size");
  check(p.num_layers, s.layers, "num_layers");
  check(p.seq_len, s.steps, "seq_len");
}

LstmTensor LstmTensors::add(const Descriptor& d, const Name& name, Use use) {
  const Text field = name.text();
  require(d.view.is_float(), field, ".data_type is ", d.type->name, "; LSTM tensors are Float32");
  require_plain_layout(d, field.c_str());
  require(!d.layout->rotated, field, ".layout is ", d.layout->name,
          "; it must be a plain array here");
  require_data(d.view.data, d.view.type, Text(field, ".data").c_str());
  const auto* begin = static_cast<const char*>(d.view.data);
  names_[count_] = name;
  ranges_[count_] = {.range = {.begin = begin, .end = begin + d.span_bytes},
                     .tensor = count_,
                     .written = use == Use::kOutput};
  ++count_;
  LstmTensor tensor;
  tensor.view.data = d.view.data;
  tensor.view.count = d.view.count;
  tensor.accumulate = d.accumulate;
  return tensor;
}

LstmTensor LstmTensors::read_tensor(const BNNSNDArrayDescriptor& given, const Name& name,
                                    const Extents& want, Use use) {
  if (given.data == nullptr) return {};
  const Text field = name.text();
  BNNSNDArrayDescriptor filled = given;
  bool sized = false;
  for (size_t size : given.size) sized |= size != 0;
  if (given.layout == static_cast<BNNSDataLayout>(0) && !sized)
    filled.layout = want.count == 4 ? BNNSDataLayout4DFirstMajor : BNNSDataLayout3DFirstMajor;
  // A size of 0 is what the axis must have; the first one then has all axes in front of it.
  if (const LayoutInfo* layout = find_layout(filled.layout)) {
    for (size_t i = 0; i < layout->rank; ++i) {
      size_t& size = filled.size[coordinate(*layout, i)];
      const size_t from_last = layout->rank - 1 - i;
      if (size != 0) continue;
      size = from_last < want.count ? want.extent[want.count - 1 - from_last] : 1;
      for (size_t k = 0; i == 0 && k + 1 + from_last < want.count; ++k) size *= want.extent[k];
    }
  }
  const Descriptor d = read_descriptor(filled, field.c_str(), use);
  LstmTensor tensor = add(d, name, use);
  // Pairs up the axes that have more than one element.
  tensor.view.rank = want.count;
  size_t i = 0;
  bool fits = true;
  for (size_t k = 0; k < want.count; ++k) {
    const size_t axis = want.count - 1 - k, extent = want.extent[k];
    set_axis(tensor.view, axis, extent, 1);
    if (extent == 1) continue;
    while (i < d.rank() && d.size[coordinate(*d.layout, i)] == 1) ++i;
    if (i == d.rank()) {
      fits = false;
      break;
    }
    const size_t place = coordinate(*d.layout, i), size = d.size[place];
    const size_t stride = d.view.stride[axis_of_size(*d.layout, place)];
    ++i;
    const bool joined = k == 0 && want.extent[1] > 1 && size == extent * want.extent[1];
    fits &= joined || size == extent;
    set_axis(tensor.view, axis, extent, joined ? stride * want.extent[1] : stride);
    if (joined) {
      set_axis(tensor.view, axis - 1, want.extent[1], stride);
      ++k;
    }
  }
  for (; i < d.rank(); ++i) fits &= d.size[coordinate(*d.layout, i)] == 1;
  if (!fits) {
    Text sizes;
    for (size_t k = 0; k < want.count; ++k) {
      sizes.add('[');
      sizes.add(want.extent[k]);
      sizes.add(']');
    }
    fail(field, " is ", describe(d), "; its sizes must be ", sizes,
         ", in the order of its coordinates");
  }
  return tensor;
}

LstmTensor LstmTensors::read_sequence(const BNNSNDArrayDescriptor& given, const Name& name,
                                      size_t values, Use use) {
  if (given.data == nullptr) return {};
  const Text field = name.text();
  BNNSNDArrayDescriptor filled = given;
  if (given.layout == static_cast<BNNSDataLayout>(0)) filled.layout = BNNSDataLayoutSNE;
  require(filled.layout == BNNSDataLayoutSNE || filled.layout == BNNSDataLayoutNSE, field,
          ".layout is ", static_cast<uint32_t>(given.layout), "; sequences are SNE or NSE");
  const bool by_step = filled.layout == BNNSDataLayoutSNE;
  const size_t right[] = {values, by_step ? shape_.batch : shape_.steps,
                          by_step ? shape_.steps : shape_.batch};
  for (size_t k = 0; k < 3; ++k)
    if (filled.size[k] == 0) filled.size[k] = right[k];
  const Descriptor d = read_descriptor(filled, field.c_str(), use);
  if (!std::equal(right, right + 3, d.size)) {
    fail(field, " is ", describe(d), "; its sizes must be {", right[0], ", ", right[1], ", ",
         right[2], "}");
  }
  LstmTensor tensor = add(d, name, use);
  tensor.view.rank = 3;
  const size_t sample = by_step ? 1 : 2, step = by_step ? 2 : 1;
  set_axis(tensor.view, 0, values, d.view.stride[0]);
  set_axis(tensor.view, 1, shape_.batch, d.view.stride[sample]);
  set_axis(tensor.view, 2, shape_.steps, d.view.stride[step]);
  return tensor;
}

LstmData LstmTensors::read_data(const BNNSLSTMDataDescriptor& given, const char* place,
                                const char* part, size_t values, Use use) {
  const Extents state = {4, {shape_.layers, shape_.directions, shape_.batch, shape_.hidden}};
  return {.sequence = read_sequence(given.data_desc, {place, part, "data_desc"}, values, use),
          .hidden = read_tensor(given.hidden_desc, {place, part, "hidden_desc"}, state, use),
          .cell = read_tensor(given.cell_state_desc, {place, part, "cell_state_desc"}, state, use)};
}

LstmGateTensors LstmTensors::read_gate(const BNNSLSTMGateDescriptor& given, const char* place,
                                       const char* part, Use use) {
  const LstmShape& s = shape_;
  const bool split = s.splits_weights();
  const auto matrices = [&](size_t layers, size_t columns) {
    return Extents{4, {layers, s.directions, s.hidden, columns}};
  };
  LstmGateTensors gate;
  gate.iw = read_tensor(given.iw_desc[0], {place, part, "iw_desc[0]"},
                        matrices(split ? 1 : s.layers, s.inputs), use);
  if (split) {
    gate.iw_upper = read_tensor(given.iw_desc[1], {place, part, "iw_desc[1]"},
                                matrices(s.layers - 1, s.outputs()), use);
  }
  gate.hw = read_tensor(given.hw_desc, {place, part, "hw_desc"}, matrices(s.layers, s.hidden), use);
  gate.cw = read_tensor(given.cw_desc, {place, part, "cw_desc"}, matrices(s.layers, s.hidden), use);
  gate.b = read_tensor(given.b_desc, {place, part, "b_desc"},
                       {3, {s.layers, s.directions, s.hidden}}, use);
  return gate;
}

void LstmTensors::read_gates(const BNNSLayerParametersLSTM& p, const char* place, Use use,
                             LstmNetwork& network) {
  for (size_t k = 0; k < kLstmGates; ++k)
    network.gate[k] = read_gate(p.*kGates[k].given, place, kGates[k].name, use);
}

LstmNetwork LstmTensors::read_values(const BNNSLayerParametersLSTM& p, bool with_outputs) {
  LstmNetwork network;
  const auto need = [](const LstmTensor& tensor, const char* part, const char* field) {
    require(bool{tensor}, part, field, ".data is NULL; it must point to data");
  };
  network.in = read_data(p.input_descriptor, "", "input_descriptor.", shape_.inputs, Use::kInput);
  need(network.in.sequence, "input_descriptor.", "data_desc");
  if (with_outputs) {
    network.out =
        read_data(p.output_descriptor, "", "output_descriptor.", shape_.outputs(), Use::kOutput);
    need(network.out.sequence, "output_descriptor.", "data_desc");
    // Outputs are set, whatever the flags say.
    for (LstmTensor* out : {&network.out.sequence, &network.out.hidden, &network.out.cell})
      out->accumulate = false;
    allow_in_place(network.in.hidden, network.out.hidden, "hidden_desc");
    allow_in_place(network.in.cell, network.out.cell, "cell_state_desc");
  }
  read_gates(p, "", Use::kInput, network);
  for (size_t k = 0; k < kLstmGates; ++k) {
    need(network.gate[k].iw, kGates[k].name, "iw_desc[0]");
    if (shape_.splits_weights()) need(network.gate[k].iw_upper, kGates[k].name, "iw_desc[1]");
    need(network.gate[k].hw, kGates[k].name, "hw_desc");
  }
  return network;
}

LstmNetwork LstmTensors::read_deltas(const BNNSLayerParametersLSTM& p) {
  constexpr const char* kPlace = "layer_delta_params: ";
  LstmNetwork network;
  network.out =
      read_data(p.output_descriptor, kPlace, "output_descriptor.", shape_.outputs(), Use::kInput);
  require(network.out.sequence || network.out.hidden || network.out.cell, kPlace,
          "output_descriptor: data_desc.data, hidden_desc.data and cell_state_desc.data are NULL; "
          "one must be the gradient of an output");
  const auto check_flags = [&](const BNNSNDArrayDescriptor& given, const Name& name) {
    if (given.data != nullptr) require_delta_flags(given, name.text().c_str());
  };
  const BNNSLSTMDataDescriptor& in = p.input_descriptor;
  check_flags(in.data_desc, {kPlace, "input_descriptor.", "data_desc"});
  check_flags(in.hidden_desc, {kPlace, "input_descriptor.", "hidden_desc"});
  check_flags(in.cell_state_desc, {kPlace, "input_descriptor.", "cell_state_desc"});
  for (const GateInfo& info : kGates) {
    const BNNSLSTMGateDescriptor& gate = p.*info.given;
    check_flags(gate.iw_desc[0], {kPlace, info.name, "iw_desc[0]"});
    if (shape_.splits_weights()) check_flags(gate.iw_desc[1], {kPlace, info.name, "iw_desc[1]"});
    check_flags(gate.hw_desc, {kPlace, info.name, "hw_desc"});
    check_flags(gate.cw_desc, {kPlace, info.name, "cw_desc"});
    check_flags(gate.b_desc, {kPlace, info.name, "b_desc"});
  }
  network.in = read_data(in, kPlace, "input_descriptor.", shape_.inputs, Use::kOutput);
  read_gates(p, kPlace, Use::kOutput, network);
  return network;
}

void LstmTensors::allow_in_place(const LstmTensor& in, const LstmTensor& out, const char* field) {
  bool same = in && out && in.view.data == out.view.data;
  for (size_t k = 0; same && k < in.view.rank; ++k)
    same = in.view.extent[k] == 1 || in.view.stride[k] == out.view.stride[k];
  for (size_t i = 0; same && i < count_; ++i) {
    if (!ranges_[i].written && std::strcmp(names_[i].field, field) == 0) ranges_[i].range = {};
  }
}

const size_t* LstmTensors::read_lengths(const BNNSLayerParametersLSTM& p, const Memory& memory,
                                        Array<size_t>& lengths) {
  constexpr const char* kField = "sequence_descriptor";
  if (p.sequence_descriptor.data == nullptr) return nullptr;
  BNNSNDArrayDescriptor filled = p.sequence_descriptor;
  if (filled.layout == static_cast<BNNSDataLayout>(0)) filled.layout = BNNSDataLayoutVector;
  if (filled.size[0] == 0) filled.size[0] = shape_.batch;
  const Descriptor d = read_descriptor(filled, kField, Use::kInput);
  if (d.rank() != 1 || d.size[0] != shape_.batch) {
    fail(kField, " is ", describe(d), "; it must be a Vector of ", shape_.batch,
         " lengths, one for each sample");
  }
  const BNNSDataType type = d.view.type;
  require(type == BNNSDataTypeInt32 || type == BNNSDataTypeUInt32 || type == BNNSDataTypeInt64 ||
              type == BNNSDataTypeUInt64,
          kField, ".data_type is ", d.type->name, "; lengths are Int32, UInt32, Int64 or UInt64");
  require_data(d.view.data, type, Text(kField, ".data").c_str());
  lengths = Array<size_t>(memory, shape_.batch);
  const View view = collapsed(d.view);
  bool shorter = false;
  for (size_t n = 0; n < shape_.batch; ++n) {
    int64_t length;
    impl::read_values(view, n, 1, &length);
    if (length < 0 || static_cast<uint64_t>(length) > shape_.steps) {
      Text shown;
      if (type == BNNSDataTypeUInt64)
        shown.add(static_cast<uint64_t>(length));
      else
        shown.add(length);
      fail(kField, ".data[", n, "] is ", shown,
           "; a length must be between 0 and seq_len, which is ", shape_.steps);
    }
    lengths[n] = static_cast<size_t>(length);
    shorter |= lengths[n] < shape_.steps;
  }
  const auto* begin = static_cast<const char*>(d.view.data);
  names_[count_] = {"", "", kField};
  ranges_[count_] = {.range = {begin, begin + d.span_bytes}, .tensor = count_, .written = false};
  ++count_;
  return shorter ? lengths.data() : nullptr;
}

void LstmTensors::add_cache(const void* cache, size_t bytes, bool written) {
  const auto* begin = static_cast<const char*>(cache);
  names_[count_] = {"", "", "training_cache_ptr"};
  ranges_[count_] = {.range = {begin, begin + bytes}, .tensor = count_, .written = written};
  ++count_;
}

void LstmTensors::check_overlaps() {
  const Overlap overlap = find_overlap(ranges_, count_);
  if (overlap.first == nullptr) return;
  fail(names_[overlap.first->tensor].text(), " and ", names_[overlap.second->tensor].text(),
       " overlap in memory; they must be separate");
}

}  // namespace bnns::impl
