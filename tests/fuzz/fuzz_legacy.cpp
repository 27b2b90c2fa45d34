// The creators of 2016: vector activation and fully connected, with scaled integers, indexed
// weights and sizes that are stated twice; convolution and pooling with empty parameters.
#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {
namespace {

BNNSVectorDescriptor vector_descriptor(Provider& p, size_t size) {
  BNNSNDArrayDescriptor d = {};
  choose_type(p, d, 3);
  return {.size = p.one_in(60) ? p.odd_size() : size,
          .data_type = d.data_type,
          .data_scale = d.data_scale,
          .data_bias = d.data_bias};
}

// Today's words for it, so that the model can judge.
BNNSNDArrayDescriptor today(const BNNSVectorDescriptor& v) {
  BNNSNDArrayDescriptor d = vector_of(v.size);
  d.data_type = v.data_type;
  return d;
}

struct Data {
  BNNSLayerData layer = {};
  BNNSNDArrayDescriptor descriptor = {};
  Source source;

  Data() = default;
  Data(Provider& p, Memory& memory, const BNNSNDArrayDescriptor& shape) : descriptor(shape) {
    choose_type(p, descriptor, 2);
    source = Source(p, memory, descriptor);
  }
  void connect(Provider& p, const Memory& memory) {
    source.set(p, memory, descriptor);
    // Tables of this interface are Float32; a block made for a narrower type would be too short.
    const bool table = descriptor.table_data_type == BNNSDataTypeFloat32;
    layer = {.data = descriptor.data,
             .data_type = descriptor.data_type,
             .data_scale = descriptor.data_scale,
             .data_bias = descriptor.data_bias,
             .data_table = table ? static_cast<const float*>(descriptor.table_data) : nullptr};
  }
};

struct Case {
  BNNSVectorDescriptor in_desc = {}, out_desc = {};
  Memory memory;
  Batch in_batch, out_batch;
  size_t in = kNowhere, out = kNowhere;

  void place_vectors(Provider& p) {
    const Batch batch = batch_of(p);
    const Model in_model = model_of(today(in_desc)), out_model = model_of(today(out_desc));
    in_batch = with_stride(p, batch, in_model);
    out_batch = with_stride(p, batch, out_model);
    in = place(p, memory, in_model, in_batch, {});
    std::vector<size_t> earlier;
    if (in != kNowhere) earlier.push_back(in);
    out = place(p, memory, out_model, out_batch, earlier);
    show("in_desc", today(in_desc));
    show("out_desc", today(out_desc));
    show("batch", batch.size);
    show("in_stride", in_batch.stride);
    show("out_stride", out_batch.stride);
  }

  void check_creation(const char* function) const {
    expect(model_of(today(in_desc)).legal, function, "accepts an in_desc that must be refused");
    expect(model_of(today(out_desc)).legal, function, "accepts an out_desc that must be refused");
    expect(!is_indexed(in_desc.data_type) && !is_indexed(out_desc.data_type), function,
           "accepts an indexed vector");
  }

  void apply(Provider& p, const Pair& filters, uint32_t parameters, bool in_place,
             bool repeatable) {
    if (in == kNowhere || out == kNowhere) return;
    const uint32_t written = in_batch.size == 0 ? 0 : mask_of(out);
    const Promise promise = {.used = mask_of(in) | mask_of(out) | parameters,
                             .written = written,
                             .overwritten = written,
                             .apart = mask_of(in),
                             .in_place = in_place,
                             .repeatable = repeatable};
    run("BNNSFilterApplyBatch", p, memory, promise, [&](size_t k) {
      return BNNSFilterApplyBatch(filters[k], in_batch.size, memory.data(in), in_batch.stride,
                                  memory.data(out), out_batch.stride) == 0;
    });
  }
};

void vector_activation(Provider& p) {
  const char* function = "BNNSFilterCreateVectorActivationLayer";
  const BNNSFilterParameters parameters = filter_parameters(p);
  const BNNSActivation act = activation(p);
  Case c;
  const size_t size = p.extent();
  c.in_desc = vector_descriptor(p, size);
  c.out_desc = vector_descriptor(p, size);
  c.place_vectors(p);
  c.memory.allocate(p.number<uint16_t>());
  const size_t without = p.one_in(60) ? p.between(1, 3) : 0;
  const Pair filters(function, p, parameters, [&](const BNNSFilterParameters* f) {
    return BNNSFilterCreateVectorActivationLayer(without == 1 ? nullptr : &c.in_desc,
                                                 without == 2 ? nullptr : &c.out_desc,
                                                 without == 3 ? nullptr : &act, f);
  });
  c.memory.expect_untouched(function);
  if (!filters) return;
  c.check_creation(function);
  c.apply(p, filters, 0, true, !is_random(act.function));
}

void fully_connected(Provider& p) {
  const char* function = "BNNSFilterCreateFullyConnectedLayer";
  const BNNSFilterParameters parameters = filter_parameters(p);
  Case c;
  const size_t inputs = p.extent(), outputs = p.extent();
  c.in_desc = vector_descriptor(p, inputs);
  c.out_desc = vector_descriptor(p, outputs);
  BNNSNDArrayDescriptor matrix = vector_of(inputs);
  matrix.layout = BNNSDataLayoutRowMajorMatrix;
  matrix.size[1] = outputs;
  Data weights(p, c.memory, matrix);
  const bool has_bias = !p.one_in(3);
  Data bias;
  if (has_bias) bias = Data(p, c.memory, vector_of(outputs));
  c.place_vectors(p);
  c.memory.allocate(p.number<uint16_t>());
  weights.connect(p, c.memory);
  if (has_bias) bias.connect(p, c.memory);
  BNNSFullyConnectedLayerParameters layer = {.in_size = inputs,
                                             .out_size = outputs,
                                             .weights = weights.layer,
                                             .bias = bias.layer,
                                             .activation = activation(p)};
  if (!p.one_in(2)) layer.activation.function = BNNSActivationFunctionIdentity;
  const bool client = (parameters.flags & BNNSFlagsUseClientPtr) != 0;
  const Pair filters(function, p, parameters, [&](const BNNSFilterParameters* f) {
    return BNNSFilterCreateFullyConnectedLayer(&c.in_desc, &c.out_desc, &layer, f);
  });
  c.memory.expect_untouched(function);
  if (!filters) return;
  c.check_creation(function);
  expect(c.in_desc.size == inputs && c.out_desc.size == outputs, function,
         "accepts sizes that contradict each other");
  const uint32_t used = client ? weights.source.mask() | bias.source.mask() : 0;
  c.apply(p, filters, used, false, !is_random(layer.activation.function));
}

void empty_parameters(Provider& p) {
  BNNSImageStackDescriptor image = {};
  image.width = p.extent();
  image.height = p.extent();
  image.channels = p.extent();
  image.data_type = p.constant(kTypes);
  const BNNSFilterParameters parameters = filter_parameters(p);
  const BNNSConvolutionLayerParameters convolution = {};
  const BNNSPoolingLayerParameters pooling = {};
  {
    const Watch watch("BNNSFilterCreateConvolutionLayer");
    const BNNSFilter filter =
        BNNSFilterCreateConvolutionLayer(&image, &image, &convolution, &parameters);
    watch.done(filter != nullptr);
    BNNSFilterDestroy(filter);
  }
  const Watch watch("BNNSFilterCreatePoolingLayer");
  const BNNSFilter filter = BNNSFilterCreatePoolingLayer(&image, &image, &pooling, &parameters);
  watch.done(filter != nullptr);
  BNNSFilterDestroy(filter);
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider provider(data, size);
  switch (provider.below(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
      fuzz::vector_activation(provider);
      break;
    case 15:
      fuzz::empty_parameters(provider);
      break;
    default:
      fuzz::fully_connected(provider);
      break;
  }
  return 0;
}
