// Attention filters: sizes and layouts that fit most of the time, every mask, bias and gradient,
// caches that are damaged, workspaces of any size, reserve.
#include <cmath>

#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {
namespace {

enum Role { kQuery, kKey, kValue, kOutput, kRoles };

struct Item {
  BNNSNDArrayDescriptor desc = {};
  Batch batch = {};
  size_t place = kNowhere;

  void put(Provider& p, Memory& memory, std::vector<size_t>& earlier) {
    place = fuzz::place(p, memory, model_of(desc), batch, earlier);
    if (place != kNowhere) earlier.push_back(place);
  }
};

struct Case {
  explicit Case(Provider& p);
  void choose_layer(Provider& p);
  void choose_masks(Provider& p);
  void place_tensors(Provider& p);

  BNNSLayerParametersMultiheadAttention layer = {};
  size_t target, source, size, heads, depth, value_depth;
  Memory memory;
  Item rows[kRoles], weights[kRoles], bias[2];  // of queries and of the output
  Item rows_delta[kRoles], weights_delta[kRoles], bias_delta[2], appended_delta[2];
  Item appended[2], mask, matrix, cache;
  size_t batch = 0, cache_size = 0;
};

BNNSNDArrayDescriptor shaped(Provider& p, BNNSDataLayout layout,
                             std::initializer_list<size_t> size) {
  BNNSNDArrayDescriptor d = vector_of(1);
  d.layout = layout;
  std::copy(size.begin(), size.end(), d.size);
  if (p.one_in(4)) choose_strides(p, d);
  if (p.one_in(60)) d = descriptor(p, 10);
  return d;
}

BNNSNDArrayDescriptor matrix_of(Provider& p, size_t rows, size_t columns) {
  if (p.one_in(4)) return shaped(p, BNNSDataLayout2DLastMajor, {rows, columns});
  return shaped(p, BNNSDataLayoutRowMajorMatrix, {columns, rows});
}

void Case::choose_layer(Provider& p) {
  target = p.between(1, 20);
  source = p.one_in(40) ? target + 1 : p.between(1, 20);
  size = p.between(1, 9);
  heads = p.between(1, 3);
  depth = p.between(1, 5);
  value_depth = p.between(1, 5);
  BNNSMHAProjectionParameters* const roles[] = {&layer.query, &layer.key, &layer.value,
                                                &layer.output};
  static constexpr BNNSDataLayout kWeights[] = {BNNSDataLayoutMHA_DHK, BNNSDataLayout3DFirstMajor,
                                                BNNSDataLayout3DLastMajor};
  for (size_t i = 0; i < kRoles; ++i) {
    rows[i].desc = matrix_of(p, i == kQuery || i == kOutput ? target : source, size);
    weights[i].desc = i == kOutput ? matrix_of(p, heads * value_depth, size)
                                   : shaped(p, p.pick(kWeights),
                                            {size, i == kValue ? value_depth : depth, heads});
    roles[i]->target_desc = rows[i].desc;
  }
  bias[0].desc = matrix_of(p, depth, heads);
  bias[1].desc = vector_of(size);
  appended[0].desc = matrix_of(p, depth, heads);
  appended[1].desc = matrix_of(p, value_depth, heads);
  layer.add_zero_attn = p.one_in(4);
  layer.dropout = p.one_in(6) ? p.scalar() : p.one_in(4) ? 0.25f : 0;
  layer.seed = static_cast<uint32_t>(p.between(1, 3));
}

void Case::choose_masks(Provider& p) {
  static constexpr BNNSDataType kMasks[] = {BNNSDataTypeBoolean, BNNSDataTypeInt8,
                                            BNNSDataTypeUInt32, BNNSDataTypeInt64};
  mask.desc = vector_of(source);
  mask.desc.data_type = p.constant(kMasks, 30);
  mask.batch = with_stride(p, {.size = batch}, model_of(mask.desc));
  switch (p.below(4)) {
    case 0:
      matrix.desc = matrix_of(p, target, source);
      break;
    case 1:
      matrix.desc = shaped(p, BNNSDataLayout3DFirstMajor, {heads, target, source});
      break;
    default:
      matrix.desc = shaped(p, BNNSDataLayout4DFirstMajor, {batch, heads, target, source});
  }
  if (p.one_in(3)) matrix.desc.data_type = BNNSDataTypeBoolean;
}

void Case::place_tensors(Provider& p) {
  std::vector<size_t> earlier;
  for (Item& t : rows) t.put(p, memory, earlier);
  std::vector<size_t> nothing;
  for (Item& t : weights) t.put(p, memory, nothing);
  for (Item* t : {&bias[0], &bias[1], &appended[0], &appended[1]}) t->put(p, memory, nothing);
  mask.put(p, memory, earlier);
  matrix.put(p, memory, earlier);
  // Gradients of inputs that begin at the same place are one on purpose, below.
  std::vector<size_t> inputs = earlier;
  for (Item& t : rows_delta) t.put(p, memory, inputs), inputs = earlier;
  for (const Item& t : rows_delta)
    if (t.place != kNowhere) earlier.push_back(t.place);
  for (Item& t : weights_delta) t.put(p, memory, earlier);
  for (Item* t : {&bias_delta[0], &appended_delta[0], &appended_delta[1]})
    t->put(p, memory, earlier);
  // Self-attention: the gradients of the inputs are one.
  if (p.one_in(4)) {
    rows_delta[kKey].desc = rows_delta[kQuery].desc;
    rows_delta[kKey].batch = rows_delta[kQuery].batch;
    rows_delta[kKey].place = rows_delta[kQuery].place;
  }
  // Room for the cache of a batch of 3, in floats, as it must be aligned to them. It is apart from
  // all others, because a call may use less of it.
  cache.desc = vector_of(8000);
  std::vector<size_t> alone;
  cache.put(p, memory, alone);
  memory.allocate(p.number<uint16_t>());
  const auto set = [&](Item& t) { t.desc.data = address(memory, t.place); };
  for (Item& t : rows_delta) set(t);
  for (Item& t : weights_delta) set(t);
  for (Item* t : {&bias_delta[0], &appended_delta[0], &appended_delta[1], &mask, &matrix}) set(*t);
  BNNSMHAProjectionParameters* const roles[] = {&layer.query, &layer.key, &layer.value,
                                                &layer.output};
  for (size_t i = 0; i < kRoles; ++i) {
    set(weights[i]);
    if (!p.one_in(60)) roles[i]->weights = weights[i].desc;
  }
  for (Item* t : {&bias[0], &bias[1], &appended[0], &appended[1]}) set(*t);
  if (p.one_in(2)) layer.query.bias = bias[0].desc;
  if (p.one_in(2)) layer.output.bias = bias[1].desc;
  if (p.one_in(3)) {
    layer.key_attn_bias = appended[0].desc;
    if (!p.one_in(30)) layer.value_attn_bias = appended[1].desc;
  }
}

Case::Case(Provider& p) {
  static constexpr size_t kBatches[] = {1, 2, 3, 1, 2, 0, 9};
  batch = p.one_in(60) ? p.odd_size() : p.pick(kBatches);
  choose_layer(p);
  choose_masks(p);
  for (size_t i = 0; i < kRoles; ++i) {
    rows[i].batch = with_stride(p, {.size = batch}, model_of(rows[i].desc));
    rows_delta[i].desc = delta_of(p, rows[i].desc);
    rows_delta[i].batch = with_stride(p, {.size = batch}, model_of(rows_delta[i].desc));
    weights_delta[i].desc = delta_of(p, weights[i].desc);
  }
  bias_delta[0].desc = delta_of(p, bias[0].desc);
  for (size_t i = 0; i < 2; ++i) appended_delta[i].desc = delta_of(p, appended[i].desc);
  place_tensors(p);
  for (size_t i = 0; i < kRoles; ++i)
    show("target", rows[i].desc), show("weights", weights[i].desc);
  show("key_mask", mask.desc);
  show("matrix", matrix.desc);
  show("batch", batch);
}

// What a call reads besides the inputs: masks and parameters of the client.
uint32_t read_mask(const Case& c, const bool (&given)[2]) {
  uint32_t mask = given[0] ? mask_of(c.mask.place) : 0;
  if (given[1]) mask |= mask_of(c.matrix.place);
  for (const Item& w : c.weights) mask |= mask_of(w.place);
  for (const Item* t : {&c.bias[0], &c.bias[1], &c.appended[0], &c.appended[1]})
    mask |= mask_of(t->place);
  return mask;
}

struct Inputs {
  const void* data[kOutput];
  bool masks[2];

  Inputs(Provider& p, const Case& c) {
    for (size_t i = 0; i < kOutput; ++i)
      data[i] = p.one_in(40) ? nullptr : address(c.memory, c.rows[i].place);
    masks[0] = c.mask.place != kNowhere && p.one_in(3);
    masks[1] = c.matrix.place != kNowhere && p.one_in(3);
  }
  uint32_t mask(const Case& c) const {
    uint32_t result = read_mask(c, masks);
    for (size_t i = 0; i < kOutput; ++i)
      if (data[i] != nullptr) result |= mask_of(c.rows[i].place);
    return result;
  }
};

struct Workspace {
  size_t size = 0;
  std::vector<char> data;
  bool wanted;

  template <class Query>
  Workspace(Provider& p, const Query& query) : wanted(p.one_in(3)) {
    if (!wanted) return;
    // The two filters have different numbers of threads, and need different sizes.
    for (size_t k = 0; k < 2; ++k) {
      size_t needed = 0;
      if (query(k, &needed) == 0 && needed <= size_t{1} << 26) size = std::max(size, needed);
    }
    data.resize(size + 64);
    if (p.one_in(10)) size = p.below(200);
    shift_ = p.below(64);
  }
  size_t* size_pointer() { return wanted ? &size : nullptr; }
  void* pointer() { return wanted ? data.data() + shift_ : nullptr; }

 private:
  size_t shift_ = 0;
};

void forward(Provider& p, Case& c, const Pair& filters) {
  const Inputs in(p, c);
  void* out = p.one_in(40) ? nullptr : address(c.memory, c.rows[kOutput].place);
  const bool keeps = c.cache.place != kNowhere && p.one_in(2);
  size_t cache_size = p.one_in(30) ? p.odd_size() % 32000 : 32000;
  const auto call = [&](size_t k, size_t* workspace_size, void* workspace) {
    return BNNSApplyMultiheadAttention(
        filters[k], c.batch, in.data[0], c.rows[0].batch.stride, in.data[1], c.rows[1].batch.stride,
        in.masks[0] ? &c.mask.desc : nullptr, c.mask.batch.stride, in.data[2],
        c.rows[2].batch.stride, out, c.rows[3].batch.stride, in.masks[1] ? &c.matrix.desc : nullptr,
        keeps ? &cache_size : nullptr, keeps ? c.memory.data(c.cache.place) : nullptr,
        workspace_size, workspace);
  };
  Workspace workspace(p, [&](size_t k, size_t* size) { return call(k, size, nullptr); });
  c.memory.expect_untouched("a query of the size of a workspace");
  Promise promise;
  promise.used = in.mask(c) | mask_of(c.rows[kOutput].place) | (keeps ? mask_of(c.cache.place) : 0);
  promise.written = mask_of(c.rows[kOutput].place) | (keeps ? mask_of(c.cache.place) : 0);
  if (c.batch == 0) promise.written = 0;
  promise.overwritten = promise.written & mask_of(c.rows[kOutput].place);
  promise.apart = in.mask(c) & ~read_mask(c, {});
  run("BNNSApplyMultiheadAttention", p, c.memory, promise,
      [&](size_t k) { return call(k, workspace.size_pointer(), workspace.pointer()) == 0; });
}

void backward(Provider& p, Case& c, const Pair& filters) {
  const Inputs in(p, c);
  const bool kept = c.cache.place != kNowhere && p.one_in(2);
  if (kept && p.one_in(10)) {
    c.memory.data(c.cache.place)[p.below(128)] = p.byte();
    c.memory.accept();
  }
  Promise promise;
  promise.used = in.mask(c) | (kept ? mask_of(c.cache.place) : 0);
  BNNSMHAProjectionParameters delta[kRoles] = {};
  bool accumulates = false;
  const auto want = [&](BNNSNDArrayDescriptor& to, const Item& t) {
    if (t.place == kNowhere || p.one_in(4)) return;
    to = t.desc;
    promise.written |= mask_of(t.place);
    accumulates |= t.desc.flags != BNNSNDArrayFlagBackpropSet;
  };
  for (size_t i = 0; i < kOutput; ++i) {
    want(delta[i].target_desc, c.rows_delta[i]);
    delta[i].target_desc.stride[2] = c.rows_delta[i].batch.stride;
  }
  for (size_t i = 0; i < kRoles; ++i) want(delta[i].weights, c.weights_delta[i]);
  BNNSNDArrayDescriptor appended[2] = {};
  if (p.one_in(2)) want(delta[kQuery].bias, c.bias_delta[0]);
  for (size_t i = 0; i < 2; ++i)
    if (p.one_in(3)) want(appended[i], c.appended_delta[i]);
  delta[kOutput].target_desc = c.rows_delta[kOutput].desc;
  delta[kOutput].target_desc.stride[2] = c.rows_delta[kOutput].batch.stride;
  promise.used |= promise.written | mask_of(c.rows_delta[kOutput].place);
  if (c.batch == 0) promise.written = 0;
  if (!accumulates) promise.overwritten = promise.written;
  promise.apart = mask_of(c.rows_delta[kOutput].place);
  const size_t cache_size = p.one_in(30) ? p.odd_size() % 32000 : 32000;
  BNNSMHAProjectionParameters* output = p.one_in(60) ? nullptr : &delta[kOutput];
  const auto call = [&](size_t k, size_t* workspace_size, void* workspace) {
    return BNNSApplyMultiheadAttentionBackward(
        filters[k], c.batch, in.data[0], c.rows[0].batch.stride, &delta[0], in.data[1],
        c.rows[1].batch.stride, in.masks[0] ? &c.mask.desc : nullptr, c.mask.batch.stride,
        &delta[1], in.data[2], c.rows[2].batch.stride, &delta[2],
        in.masks[1] ? &c.matrix.desc : nullptr, &appended[0], &appended[1], nullptr, 0, output,
        cache_size, kept ? c.memory.data(c.cache.place) : nullptr, workspace_size, workspace);
  };
  Workspace workspace(p, [&](size_t k, size_t* size) { return call(k, size, nullptr); });
  c.memory.expect_untouched("a query of the size of a workspace");
  run("BNNSApplyMultiheadAttentionBackward", p, c.memory, promise,
      [&](size_t k) { return call(k, workspace.size_pointer(), workspace.pointer()) == 0; });
}

void one_case(Provider& p) {
  const BNNSFilterParameters parameters = filter_parameters(p);
  Case c(p);
  const char* function = "BNNSFilterCreateLayerMultiheadAttention";
  const BNNSLayerParametersMultiheadAttention* layer = p.one_in(100) ? nullptr : &c.layer;
  const Pair filters(function, p, parameters, [&](const BNNSFilterParameters* f) {
    return BNNSFilterCreateLayerMultiheadAttention(layer, f);
  });
  c.memory.expect_untouched(function);
  if (!filters) return;
  for (const Item& t : c.rows)
    expect(model_of(t.desc).legal, function, "accepts a target_desc it must refuse");
  expect(!overlaps_itself(model_of(c.rows[kOutput].desc)), function,
         "accepts an output whose elements overlap");
  expect(c.layer.dropout >= 0 && c.layer.dropout < 1, function, "accepts a dropout outside [0, 1)");
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
