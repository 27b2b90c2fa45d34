// Pooling filters: any geometry, all functions, indices of both types that are right, wrong or
// missing, forward and backward through the generic functions and through those with indices.
#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {
namespace {

constexpr BNNSPoolingFunction kFunctions[] = {BNNSPoolingFunctionMax,
                                              BNNSPoolingFunctionAverageCountIncludePadding,
                                              BNNSPoolingFunctionAverageCountExcludePadding,
                                              BNNSPoolingFunctionUnMax, BNNSPoolingFunctionL2Norm};

constexpr BNNSDataType kIndexTypes[] = {BNNSDataTypeUInt64, BNNSDataTypeUInt32};

struct Case {
  explicit Case(Provider& p);
  void choose_window(Provider& p);
  void place_tensors(Provider& p);
  void fill_indices(Provider& p);
  void check_creation() const;

  bool un_max() const { return layer.pooling_function == BNNSPoolingFunctionUnMax; }
  bool max() const { return layer.pooling_function == BNNSPoolingFunctionMax; }
  const BNNSNDArrayDescriptor& cells() const { return un_max() ? layer.o_desc : layer.i_desc; }
  const BNNSNDArrayDescriptor& windows() const { return un_max() ? layer.i_desc : layer.o_desc; }

  BNNSLayerParametersPooling layer = {};
  Memory memory;
  BNNSNDArrayDescriptor in_delta = {}, out_delta = {}, bias_delta = {};
  BNNSDataType index_type = BNNSDataTypeUInt64;
  Batch in_batch, out_batch, index_batch, in_delta_batch, out_delta_batch;
  size_t in = kNowhere, out = kNowhere, index = kNowhere, bias = kNowhere, dx = kNowhere,
         dy = kNowhere, db = kNowhere;
};

BNNSNDArrayDescriptor image(Provider& p, size_t width, size_t height, size_t channels,
                            BNNSDataType type) {
  BNNSNDArrayDescriptor d = vector_of(width);
  d.layout = BNNSDataLayoutImageCHW;
  d.size[1] = height;
  d.size[2] = channels;
  d.data_type = type;
  if (p.one_in(3)) choose_strides(p, d);
  return d;
}

// Fields first, then an image that has room for the windows, most of the time.
void Case::choose_window(Provider& p) {
  const auto field = [&](size_t low, size_t high) {
    return p.one_in(60) ? p.odd_size() : p.between(low, high);
  };
  layer.k_width = field(1, 5);
  layer.k_height = field(1, 5);
  layer.x_stride = field(0, 4);
  layer.y_stride = field(0, 4);
  layer.x_dilation_stride = p.one_in(3) ? field(0, 3) : 0;
  layer.y_dilation_stride = p.one_in(3) ? field(0, 3) : 0;
  if (p.one_in(3)) layer.x_padding = field(0, 3);
  if (p.one_in(3)) layer.y_padding = field(0, 3);
  for (size_t& side : layer.pad) side = p.one_in(4) ? field(0, 4) : 0;
}

Case::Case(Provider& p) {
  layer.pooling_function = p.constant(kFunctions, 60);
  choose_window(p);
  layer.activation = p.one_in(3) ? activation(p) : BNNSActivation{};
  static constexpr BNNSDataType kFloatTypes[] = {BNNSDataTypeFloat32, BNNSDataTypeFloat16,
                                                 BNNSDataTypeBFloat16};
  const BNNSDataType type = p.one_in(4) ? p.constant(kFloatTypes) : BNNSDataTypeFloat32;
  const size_t width = p.extent(), height = p.between(1, 9), channels = p.between(1, 4);
  const auto room = [&](size_t cells, size_t stride) {
    const size_t step = stride == 0 ? 1 : stride;
    return p.one_in(20) ? p.between(1, 20)
                        : 1 + (cells - 1) / step - (p.one_in(3) ? 0 : cells > step);
  };
  const BNNSNDArrayDescriptor large = image(p, width, height, channels, type);
  const BNNSNDArrayDescriptor small =
      image(p, room(width, layer.x_stride), room(height, layer.y_stride), channels, type);
  layer.i_desc = un_max() ? small : large;
  layer.o_desc = un_max() ? large : small;
  if (p.one_in(40)) layer.i_desc = descriptor(p, 20);
  if (p.one_in(40)) layer.o_desc = descriptor(p, 20);
  layer.bias = vector_of(p.one_in(30) ? p.extent() : channels);
  if (p.one_in(10)) layer.bias.data_type = p.constant(kFloatTypes);
  index_type = p.one_in(40) ? p.pick(kTypes) : p.pick(kIndexTypes);
  const Batch batch = batch_of(p);
  BNNSNDArrayDescriptor indices = windows();
  indices.data_type = index_type;
  in_delta = delta_of(p, layer.i_desc);
  out_delta = delta_of(p, layer.o_desc);
  bias_delta = delta_of(p, layer.bias);
  in_batch = with_stride(p, batch, model_of(layer.i_desc));
  out_batch = with_stride(p, batch, model_of(layer.o_desc));
  index_batch = with_stride(p, batch, model_of(indices));
  in_delta_batch = with_stride(p, batch, model_of(in_delta));
  out_delta_batch = with_stride(p, batch, model_of(out_delta));
  place_tensors(p);
}

void Case::place_tensors(Provider& p) {
  std::vector<size_t> earlier;
  const auto add = [&](const BNNSNDArrayDescriptor& d, const Batch& batch) {
    const size_t t = place(p, memory, model_of(d), batch, earlier);
    if (t != kNowhere) earlier.push_back(t);
    return t;
  };
  BNNSNDArrayDescriptor indices = windows();
  indices.data_type = index_type;
  in = add(layer.i_desc, in_batch);
  out = add(layer.o_desc, out_batch);
  index = add(indices, index_batch);
  dx = add(in_delta, in_delta_batch);
  dy = add(out_delta, out_delta_batch);
  if (!p.one_in(3)) bias = add(layer.bias, {});
  db = add(bias_delta, {});
  memory.allocate(p.number<uint16_t>());
  layer.bias.data = address(memory, bias);
  in_delta.data = address(memory, dx);
  out_delta.data = address(memory, dy);
  bias_delta.data = address(memory, db);
  fill_indices(p);
  show("i_desc", layer.i_desc);
  show("o_desc", layer.o_desc);
  show("in_delta", in_delta);
  show("out_delta", out_delta);
  show(layer.activation);
  show("function", size_t{layer.pooling_function});
  show("kernel x", layer.k_width);
  show("kernel y", layer.k_height);
  show("batch", in_batch.size);
}

// Random bits would never be inside a plane.
void Case::fill_indices(Provider& p) {
  if (index == kNowhere || !contains(kIndexTypes, index_type)) return;
  const size_t plane = cells().size[0] * cells().size[1];
  Random random(p.byte());
  const bool wrong = p.one_in(10);
  const size_t at = p.byte(), bytes = bits_of(index_type) / 8;
  const std::vector<size_t>& offsets = memory.tensor(index).offsets;
  for (size_t k = 0; k < offsets.size(); ++k) {
    uint64_t value = plane == 0 ? 0 : random.next() % plane;
    if (wrong && k == at % offsets.size()) value = p.one_in(2) ? plane : p.odd_size();
    // Little-endian, as every target of the fuzzer is.
    std::memcpy(memory.data(index) + offsets[k] * bytes, &value, bytes);
  }
  memory.accept();
}

void Case::check_creation() const {
  const char* function = "BNNSFilterCreateLayerPooling";
  const Model in_model = model_of(layer.i_desc), out_model = model_of(layer.o_desc);
  expect(in_model.legal && out_model.legal, function, "accepts a descriptor it must refuse");
  expect(!overlaps_itself(out_model), function, "accepts an o_desc with overlapping elements");
  expect(layer.i_desc.size[2] == layer.o_desc.size[2], function, "accepts differing channels");
  expect(layer.k_width > 0 && layer.k_height > 0, function, "accepts an empty window");
  expect(layer.bias.data == nullptr || model_of(layer.bias).count == layer.o_desc.size[2], function,
         "accepts a bias that does not fit");
  const bool symmetric = layer.x_padding > 0 || layer.y_padding > 0;
  const Big pads[] = {symmetric ? Big{layer.x_padding} * 2 : Big{layer.pad[0]} + layer.pad[1],
                      symmetric ? Big{layer.y_padding} * 2 : Big{layer.pad[2]} + layer.pad[3]};
  const size_t strides[] = {layer.x_stride, layer.y_stride};
  for (size_t a = 0; a < 2; ++a) {
    const Big begin = times(std::max<size_t>(strides[a], 1), Big{windows().size[a]} - 1);
    expect(begin < cells().size[a] + pads[a], function, "accepts windows outside the image");
  }
}

void forward(Provider& p, Case& c, const Pair& filters) {
  const bool possible = c.in != kNowhere && c.out != kNowhere;
  const void* in = p.one_in(40) || !possible ? nullptr : c.memory.data(c.in);
  void* out = p.one_in(40) || !possible ? nullptr : c.memory.data(c.out);
  const bool give = c.index != kNowhere && !p.one_in(4);
  void* index = give ? c.memory.data(c.index) : nullptr;
  const bool used = give && (c.max() || c.un_max());
  Promise promise;
  promise.used = mask_of(c.in) | mask_of(c.out) | mask_of(c.bias) | (give ? mask_of(c.index) : 0);
  promise.written = mask_of(c.out) | (used && c.max() ? mask_of(c.index) : 0);
  if (c.in_batch.size == 0) promise.written = 0;
  promise.overwritten = promise.written;
  promise.apart = mask_of(c.in) | (used && c.un_max() ? mask_of(c.index) : 0);
  promise.repeatable = !is_random(c.layer.activation.function);
  const auto plain = [&](size_t k) {
    return BNNSFilterApplyBatch(filters[k], c.in_batch.size, in, c.in_batch.stride, out,
                                c.out_batch.stride) == 0;
  };
  const auto indexed = [&](size_t k) {
    return BNNSPoolingFilterApplyBatchEx(filters[k], c.in_batch.size, in, c.in_batch.stride, out,
                                         c.out_batch.stride, c.index_type, index,
                                         c.index_batch.stride) == 0;
  };
  if (give || p.one_in(2)) {
    run("BNNSPoolingFilterApplyBatchEx", p, c.memory, promise, indexed);
  } else {
    run("BNNSFilterApplyBatch", p, c.memory, promise, plain);
  }
}

void backward(Provider& p, Case& c, const Pair& filters) {
  const bool give_in = c.in != kNowhere && !p.one_in(4);
  const bool give_out = c.out != kNowhere && !p.one_in(4);
  const bool give_index = c.index != kNowhere && !p.one_in(3);
  const bool want_x = c.dx != kNowhere && !p.one_in(6);
  const bool want_b = c.db != kNowhere && c.bias != kNowhere && p.one_in(2);
  Promise promise;
  promise.used = mask_of(c.dy) | (give_in ? mask_of(c.in) : 0) | (give_out ? mask_of(c.out) : 0) |
                 (give_index ? mask_of(c.index) : 0) | mask_of(c.bias);
  if (want_x) promise.written |= mask_of(c.dx);
  if (want_b) promise.written |= mask_of(c.db);
  promise.used |= promise.written;
  if (c.in_batch.size == 0) promise.written = 0;
  if (c.in_delta.flags == BNNSNDArrayFlagBackpropSet) promise.overwritten |= mask_of(c.dx);
  if (c.bias_delta.flags == BNNSNDArrayFlagBackpropSet) promise.overwritten |= mask_of(c.db);
  promise.overwritten &= promise.written;
  promise.apart = mask_of(c.dy);
  const void* in = give_in ? c.memory.data(c.in) : nullptr;
  const void* out = give_out ? c.memory.data(c.out) : nullptr;
  const void* index = give_index ? c.memory.data(c.index) : nullptr;
  BNNSNDArrayDescriptor* out_delta = p.one_in(60) ? nullptr : &c.out_delta;
  BNNSNDArrayDescriptor* weights_delta = p.one_in(30) ? &c.bias_delta : nullptr;
  if (!give_index && p.one_in(2)) {
    run("BNNSFilterApplyBackwardBatch", p, c.memory, promise, [&](size_t k) {
      return BNNSFilterApplyBackwardBatch(
                 filters[k], c.in_batch.size, in, c.in_batch.stride, want_x ? &c.in_delta : nullptr,
                 c.in_delta_batch.stride, out, c.out_batch.stride, out_delta,
                 c.out_delta_batch.stride, weights_delta, want_b ? &c.bias_delta : nullptr) == 0;
    });
    return;
  }
  run("BNNSPoolingFilterApplyBackwardBatchEx", p, c.memory, promise, [&](size_t k) {
    return BNNSPoolingFilterApplyBackwardBatchEx(
               filters[k], c.in_batch.size, in, c.in_batch.stride, want_x ? &c.in_delta : nullptr,
               c.in_delta_batch.stride, out, c.out_batch.stride, out_delta,
               c.out_delta_batch.stride, want_b ? &c.bias_delta : nullptr, c.index_type, index,
               c.index_batch.stride) == 0;
  });
}

void one_case(Provider& p) {
  const BNNSFilterParameters parameters = filter_parameters(p);
  Case c(p);
  const BNNSLayerParametersPooling* layer = p.one_in(100) ? nullptr : &c.layer;
  const Pair filters(
      "BNNSFilterCreateLayerPooling", p, parameters,
      [&](const BNNSFilterParameters* f) { return BNNSFilterCreateLayerPooling(layer, f); });
  c.memory.expect_untouched("BNNSFilterCreateLayerPooling");
  if (!filters) return;
  c.check_creation();
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
