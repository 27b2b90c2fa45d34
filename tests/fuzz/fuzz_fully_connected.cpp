// Fully connected filters: any layout and type of weights, copied or the client's, fused
// activations, forward, and backward with every choice of gradients.
#include <cstring>

#include "weighted.h"

namespace fuzz {
namespace {

constexpr BNNSDataLayout kMatrices[] = {BNNSDataLayoutRowMajorMatrix,
                                        BNNSDataLayoutColumnMajorMatrix, BNNSDataLayout2DFirstMajor,
                                        BNNSDataLayout2DLastMajor};

// W(o, i), row = output.
BNNSNDArrayDescriptor weights_of(Provider& p, size_t inputs, size_t outputs) {
  BNNSNDArrayDescriptor d = {};
  d.layout = p.one_in(60) ? p.constant(kLayouts) : p.pick(kMatrices);
  const bool row_major = d.layout == BNNSDataLayoutRowMajorMatrix;
  d.size[0] = row_major ? inputs : outputs;
  d.size[1] = row_major ? outputs : inputs;
  if (p.one_in(60)) d.size[p.below(2)] = p.odd_size();
  choose_strides(p, d);
  choose_type(p, d, 4);
  return d;
}

void make_integer(Provider& p, BNNSLayerParametersFullyConnected& layer) {
  for (BNNSNDArrayDescriptor* d : {&layer.i_desc, &layer.o_desc, &layer.w_desc, &layer.bias})
    d->data_type = integer_type(p);
}

struct Case : Weighted<BNNSLayerParametersFullyConnected> {
  explicit Case(Provider& p);

  void connect(Provider& p);
  void check_creation() const;

  size_t per_channel[3] = {kNowhere, kNowhere, kNowhere};
};

Case::Case(Provider& p) : Weighted(p) {
  layer.activation = activation(p);
  if (!p.one_in(2)) layer.activation.function = BNNSActivationFunctionIdentity;
  layer.i_desc = p.one_in(4) ? descriptor(p, 6) : vector_of(p.extent());
  layer.o_desc = p.one_in(4) ? descriptor(p, 6) : vector_of(p.extent());
  if (p.one_in(4)) choose_strides(p, layer.i_desc);
  if (p.one_in(4)) choose_strides(p, layer.o_desc);
  const Model in_model = model_of(layer.i_desc), out_model = model_of(layer.o_desc);
  layer.w_desc = weights_of(p, in_model.count, out_model.count);
  const bool has_bias = !p.one_in(3);
  if (has_bias) {
    layer.bias = p.one_in(6) ? like(p, layer.o_desc) : vector_of(out_model.count);
    choose_type(p, layer.bias, 5);
  }
  const bool integer = is_integer_function(layer.activation.function);
  if (integer) make_integer(p, layer);
  weights = Source(p, memory, layer.w_desc);
  if (has_bias) bias = Source(p, memory, layer.bias);
  if (integer && out_model.count >= 1 && out_model.count <= 8192) {
    BNNSNDArrayDescriptor values = vector_of(out_model.count);
    values.data_type = BNNSDataTypeInt32;
    for (size_t& t : per_channel) {
      t = memory.add(model_of(values), {}, p.one_in(60) ? p.between(1, 3) : 0);
      constants |= mask_of(t);
    }
  }
  place_tensors(p);
}

void Case::connect(Provider& p) {
  layer.activation.iscale_per_channel = static_cast<int32_t*>(address(memory, per_channel[0]));
  layer.activation.ioffset_per_channel = static_cast<int32_t*>(address(memory, per_channel[1]));
  layer.activation.ishift_per_channel = static_cast<int32_t*>(address(memory, per_channel[2]));
  if (per_channel[2] != kNowhere) {
    for (size_t c = 0; c < memory.tensor(per_channel[2]).offsets.size(); ++c) {
      const auto shift = static_cast<int32_t>(c * 7 % 64);
      std::memcpy(memory.data(per_channel[2]) + c * sizeof shift, &shift, sizeof shift);
    }
    memory.accept();
  }
  connect_tensors(p);
}

void Case::check_creation() const {
  const char* function = "BNNSFilterCreateLayerFullyConnected";
  check_descriptors(function);
  expect(
      model_of(layer.w_desc).count == model_of(layer.i_desc).count * model_of(layer.o_desc).count,
      function, "accepts weights of another size");
}

void one_case(Provider& p) {
  Case c(p);
  c.connect(p);
  const Pair filters("BNNSFilterCreateLayerFullyConnected", p, c.filter,
                     [&](const BNNSFilterParameters* f) {
                       return BNNSFilterCreateLayerFullyConnected(&c.layer, f);
                     });
  c.memory.expect_untouched("BNNSFilterCreateLayerFullyConnected");
  if (!filters) return;
  c.check_creation();
  some_calls(p, c, filters);
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider provider(data, size);
  fuzz::one_case(provider);
  return 0;
}
