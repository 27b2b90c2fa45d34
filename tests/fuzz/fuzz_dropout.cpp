// Dropout filters: tensors of any layout, forward, backward and reserve. Two filters with one seed
// draw the same numbers as long as they are called alike, so that their results are compared.
#include "one_input.h"

namespace fuzz {
namespace {

struct Case : OneInput {
  explicit Case(Provider& p);
  void check_creation() const;

  BNNSLayerParametersDropout layer = {};
};

constexpr BNNSDataType kFloatTypes[] = {BNNSDataTypeFloat32, BNNSDataTypeFloat16,
                                        BNNSDataTypeBFloat16};

Case::Case(Provider& p) {
  layer.i_desc = descriptor(p, 30);
  if (p.one_in(3)) layer.i_desc.data_type = p.pick(kFloatTypes);
  layer.o_desc = like(p, layer.i_desc);
  if (p.one_in(4)) layer.o_desc.data_type = p.pick(kFloatTypes);
  static constexpr float kRates[] = {0.5f, 0.1f, 0.0f, 0.9f, 0.99999994f, 1e-30f};
  layer.rate = p.one_in(8) ? p.scalar() : p.pick(kRates);
  layer.seed = p.one_in(8) ? 0 : p.number<uint16_t>() + 1u;
  layer.control = p.one_in(2) ? p.byte() : 0;
  in_place = true;
  repeatable = layer.seed != 0;
  choose_deltas(p, layer.i_desc, layer.o_desc);
  for (BNNSNDArrayDescriptor* d : {&in_delta, &out_delta})
    if (!p.one_in(20)) d->data_type = p.one_in(8) ? BNNSDataTypeBFloat16 : BNNSDataTypeFloat32;
  place_tensors(p, layer.i_desc, layer.o_desc);
  connect_tensors(p, layer.i_desc, layer.o_desc);
}

void Case::check_creation() const {
  const char* function = "BNNSFilterCreateLayerDropout";
  check_descriptors(function, layer.i_desc, layer.o_desc);
  expect(model_of(layer.i_desc).count == model_of(layer.o_desc).count, function,
         "accepts differing counts");
  expect(layer.rate >= 0 && layer.rate < 1, function, "accepts a rate it must refuse");
}

void one_case(Provider& p) {
  const BNNSFilterParameters parameters = filter_parameters(p);
  Case c(p);
  const BNNSLayerParametersDropout* layer = p.one_in(100) ? nullptr : &c.layer;
  const Pair filters(
      "BNNSFilterCreateLayerDropout", p, parameters,
      [&](const BNNSFilterParameters* f) { return BNNSFilterCreateLayerDropout(layer, f); });
  c.memory.expect_untouched("BNNSFilterCreateLayerDropout");
  if (!filters) return;
  c.check_creation();
  if (!p.one_in(10)) forward(p, c, filters);
  some_calls(
      p, filters, [&] { forward(p, c, filters); }, [&] { backward(p, c, filters); });
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider provider(data, size);
  fuzz::one_case(provider);
  return 0;
}
