// The LSTM calls: forward with and without a cache, backward with the cache, with a damaged one and
// without. The four gates share their parameters; two of them have gradients.
#include <cmath>

#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {
namespace {

constexpr const char* kForward = "BNNSDirectApplyLSTMBatchTrainingCaching";
constexpr const char* kBackward = "BNNSDirectApplyLSTMBatchBackward";

struct Case {
  explicit Case(Provider& p);
  bool is_drawn() const { return layer.num_layers > 1 && layer.dropout > 0; }

  BNNSLayerParametersLSTM layer = {}, delta = {};
  Memory memory;
  uint32_t read = 0, outputs = 0, gradients = 0, set = 0, incoming = 0, states = 0;
  size_t cache = kNowhere, capacity = 0;

 private:
  void choose_sizes(Provider& p);
  BNNSNDArrayDescriptor tensor(Provider& p, BNNSDataLayout layout,
                               std::initializer_list<size_t> size);
  void add(Provider& p, BNNSNDArrayDescriptor& d, uint32_t& mask, size_t rarity);

  std::vector<size_t> earlier_;
  std::vector<std::pair<BNNSNDArrayDescriptor*, size_t>> placed_;
};

BNNSNDArrayDescriptor Case::tensor(Provider& p, BNNSDataLayout layout,
                                   std::initializer_list<size_t> size) {
  BNNSNDArrayDescriptor d = vector_of(1);
  d.layout = layout;
  std::copy(size.begin(), size.end(), d.size);
  if (p.one_in(4)) choose_strides(p, d);
  if (p.one_in(60)) d = like(p, d);
  return d;
}

// One in `rarity` is absent.
void Case::add(Provider& p, BNNSNDArrayDescriptor& d, uint32_t& mask, size_t rarity) {
  if (p.one_in(rarity)) return;
  size_t t = kNowhere;
  const Model m = model_of(d);
  if (m.small()) {
    const bool over = !earlier_.empty() && p.one_in(60);
    t = over ? memory.add_over(earlier_[p.below(earlier_.size())], m, {}, 4 * p.below(9))
             : memory.add(m, {}, p.one_in(90) ? p.between(1, 7) : 0);
    earlier_.push_back(t);
  }
  mask |= mask_of(t);
  placed_.emplace_back(&d, t);
}

void Case::choose_sizes(Provider& p) {
  layer.input_size = p.extent() % 20 + 1;
  layer.hidden_size = p.extent() % 20 + 1;
  layer.batch_size = p.between(1, 4);
  layer.num_layers = p.between(1, 3);
  layer.seq_len = p.between(1, 4);
  layer.lstm_flags = p.one_in(60) ? p.number<uint32_t>() : static_cast<uint32_t>(p.below(4));
  layer.dropout = p.one_in(4) ? p.scalar() : p.one_in(2) ? 0.5f : 0.0f;
  BNNSActivation* functions[] = {&layer.input_gate.activation, &layer.forget_gate.activation,
                                 &layer.candidate_gate.activation, &layer.output_gate.activation,
                                 &layer.hidden_activation};
  for (BNNSActivation* f : functions) {
    if (p.one_in(3)) {
      *f = activation(p);
    } else {
      f->function = BNNSActivationFunctionTanh;
    }
  }
}

Case::Case(Provider& p) {
  choose_sizes(p);
  const size_t i = layer.input_size, h = layer.hidden_size, n = layer.batch_size;
  const size_t l = layer.num_layers, t = layer.seq_len;
  const size_t d = (layer.lstm_flags & BNNSLayerFlagsLSTMBidirectional) != 0 ? 2 : 1;
  const bool split = l > 1 && i != d * h;
  const bool by_step = !p.one_in(3);
  const auto sequence = [&](size_t width) {
    return by_step ? tensor(p, BNNSDataLayoutSNE, {width, n, t})
                   : tensor(p, BNNSDataLayoutNSE, {width, t, n});
  };
  const auto block = [&](size_t layers, size_t rows, size_t columns) {
    if (layers * d == 1 && p.one_in(2))
      return tensor(p, BNNSDataLayoutRowMajorMatrix, {columns, rows});
    if (p.one_in(4)) return tensor(p, BNNSDataLayout3DFirstMajor, {layers * d, rows, columns});
    if (p.one_in(4)) return tensor(p, BNNSDataLayout4DLastMajor, {layers, d, rows, columns});
    return tensor(p, BNNSDataLayout4DFirstMajor, {layers, d, rows, columns});
  };
  const auto data = [&](BNNSLSTMDataDescriptor& to, size_t width) {
    to = {sequence(width), block(l, n, h), block(l, n, h)};
  };
  const auto gate = [&](BNNSLSTMGateDescriptor& to) {
    to.iw_desc[0] = block(split ? 1 : l, h, i);
    if (split) to.iw_desc[1] = block(l - 1, h, d * h);
    to.hw_desc = block(l, h, h);
    to.cw_desc = block(l, h, h);
    to.b_desc = tensor(p, BNNSDataLayout2DFirstMajor, {l * d, h});
  };
  const auto add_gate = [&](BNNSLSTMGateDescriptor& to, uint32_t& mask, size_t rarity) {
    add(p, to.iw_desc[0], mask, 60);
    if (split) add(p, to.iw_desc[1], mask, 60);
    add(p, to.hw_desc, mask, rarity * 4);
    add(p, to.cw_desc, mask, 2);
    add(p, to.b_desc, mask, rarity);
  };
  data(layer.input_descriptor, i);
  data(layer.output_descriptor, d * h);
  gate(layer.input_gate);
  add(p, layer.input_descriptor.data_desc, read, 90);
  add(p, layer.input_descriptor.hidden_desc, states, 3);
  add(p, layer.input_descriptor.cell_state_desc, states, 3);
  add_gate(layer.input_gate, read, 12);
  add(p, layer.output_descriptor.data_desc, outputs, 90);
  add(p, layer.output_descriptor.hidden_desc, outputs, 3);
  add(p, layer.output_descriptor.cell_state_desc, outputs, 3);
  layer.sequence_descriptor = vector_of(n);
  layer.sequence_descriptor.data_type = p.one_in(8) ? p.constant(kTypes) : BNNSDataTypeInt32;
  if (p.one_in(3)) add(p, layer.sequence_descriptor, read, 60);
  const size_t lengths = earlier_.empty() ? kNowhere : earlier_.back();
  data(delta.output_descriptor, d * h);
  data(delta.input_descriptor, i);
  for (BNNSNDArrayDescriptor* o :
       {&delta.output_descriptor.data_desc, &delta.output_descriptor.hidden_desc,
        &delta.output_descriptor.cell_state_desc})
    add(p, *o, incoming, 5);
  const bool accumulates = p.one_in(3);
  for (BNNSNDArrayDescriptor* o :
       {&delta.input_descriptor.data_desc, &delta.input_descriptor.hidden_desc,
        &delta.input_descriptor.cell_state_desc})
    add(p, *o, gradients, 5);
  gate(delta.forget_gate);
  gate(delta.output_gate);
  add_gate(delta.forget_gate, gradients, 3);
  add_gate(delta.output_gate, gradients, 3);
  if (accumulates) {
    for (auto& [desc, tensor] : placed_)
      if ((mask_of(tensor) & gradients) != 0) desc->flags = BNNSNDArrayFlagBackpropAccumulate;
  } else {
    set = gradients;
  }
  capacity = BNNSComputeLSTMTrainingCacheCapacity(&layer);
  if (capacity < size_t{1} << 20) cache = memory.add(model_of(vector_of(capacity / 4)), {});
  memory.allocate(p.number<uint16_t>());
  for (auto& [desc, tensor] : placed_) {
    desc->data = address(memory, tensor);
    // Lengths that are right, most of the time.
    if (desc != &layer.sequence_descriptor || tensor != lengths || p.one_in(20)) continue;
    if (desc->data_type != BNNSDataTypeInt32 || desc->stride[0] > 1) continue;
    for (size_t k = 0; k < n && k < desc->size[0]; ++k) {
      const auto length = static_cast<int32_t>(p.below(t + 1));
      std::memcpy(memory.data(tensor) + 4 * k, &length, 4);
    }
  }
  memory.accept();
  for (BNNSLSTMGateDescriptor* other :
       {&layer.forget_gate, &layer.candidate_gate, &layer.output_gate}) {
    const BNNSActivation own = other->activation;
    *other = layer.input_gate;
    other->activation = own;
  }
  if (p.one_in(90)) layer.seq_len = p.odd_size();
  if (p.one_in(90)) layer.hidden_size = p.odd_size();
  if (p.one_in(90)) layer.num_layers = p.odd_size();
}

void* cache_of(Provider& p, const Case& c) {
  return c.cache == kNowhere || p.one_in(4) ? nullptr : c.memory.data(c.cache);
}

bool forward(Provider& p, Case& c, const BNNSFilterParameters& parameters) {
  void* cache = cache_of(p, c);
  const size_t capacity = p.one_in(20) ? p.odd_size() : c.capacity;
  if (capacity > c.capacity) return false;  // a lie that nothing could find out
  Promise promise;
  promise.written = c.outputs | (cache == nullptr ? 0 : mask_of(c.cache));
  promise.used = c.read | c.states | promise.written;
  promise.overwritten = c.outputs & ~(c.read | c.states);
  promise.apart = c.read | c.states;
  promise.in_place = true;
  promise.repeatable = cache == nullptr || !c.is_drawn();
  const BNNSFilterParameters twin = twin_of(parameters);
  const bool success = run(kForward, p, c.memory, promise, [&](size_t k) {
    return BNNSDirectApplyLSTMBatchTrainingCaching(&c.layer, k == 0 ? &parameters : &twin, cache,
                                                   capacity) == 0;
  });
  return success && cache != nullptr;
}

void backward(Provider& p, Case& c, const BNNSFilterParameters& parameters, bool cached) {
  void* cache = cached || p.one_in(20) ? cache_of(p, c) : nullptr;
  if (cache != nullptr && p.one_in(3)) {
    for (size_t i = p.between(1, 6); i > 0 && c.capacity > 0; --i)
      static_cast<uint8_t*>(cache)[p.number<uint32_t>() % c.capacity] = p.byte();
    c.memory.accept();
  }
  const size_t capacity = p.one_in(20) ? p.below(200) : c.capacity;
  Promise promise;
  promise.written = c.gradients;
  promise.used =
      c.read | c.states | c.incoming | c.gradients | (cache == nullptr ? 0 : mask_of(c.cache));
  promise.overwritten = c.set;
  promise.apart = promise.used & ~c.gradients;
  const BNNSFilterParameters twin = twin_of(parameters);
  const BNNSLayerParametersLSTM* delta = p.one_in(90) ? nullptr : &c.delta;
  run(kBackward, p, c.memory, promise, [&](size_t k) {
    return BNNSDirectApplyLSTMBatchBackward(&c.layer, delta, k == 0 ? &parameters : &twin, cache,
                                            std::min(capacity, c.capacity)) == 0;
  });
}

void one_case(Provider& p) {
  const BNNSFilterParameters parameters = filter_parameters(p);
  Case c(p);
  bool cached = false;
  const size_t calls = p.between(1, 4);
  for (size_t i = 0; i < calls; ++i) {
    if (p.below(2) == 0) {
      cached = forward(p, c, parameters);
    } else {
      backward(p, c, parameters, cached);
    }
  }
  Hooks::expect_no_leak();
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider provider(data, size);
  fuzz::one_case(provider);
  return 0;
}
