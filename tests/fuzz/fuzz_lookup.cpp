// Embedding filters, gather and scatter: tables and indices of any type, indices that are right or
// wrong, forward, backward and reserve.
#include <cmath>

#include "one_input.h"

namespace fuzz {
namespace {

constexpr BNNSDataType kIndexTypes[] = {BNNSDataTypeInt8,   BNNSDataTypeInt16, BNNSDataTypeInt32,
                                        BNNSDataTypeInt64,  BNNSDataTypeUInt8, BNNSDataTypeUInt16,
                                        BNNSDataTypeUInt32, BNNSDataTypeUInt64};

BNNSDataLayout layout_of_rank(Provider& p, size_t rank) {
  if (rank == 1) return BNNSDataLayoutVector;
  if (rank == 2 && p.one_in(3)) return BNNSDataLayoutRowMajorMatrix;
  return static_cast<BNNSDataLayout>(rank << 16 | (p.one_in(2) ? 0x8000 : 0x8001));
}

BNNSNDArrayDescriptor tensor(Provider& p, const std::vector<size_t>& size, BNNSDataType type) {
  BNNSNDArrayDescriptor d = vector_of(1);
  d.layout = layout_of_rank(p, std::clamp<size_t>(size.size(), 1, 8));
  std::copy_n(size.begin(), std::min<size_t>(size.size(), 8), d.size);
  d.data_type = type;
  if (p.one_in(3)) choose_strides(p, d);
  if (p.one_in(50)) return descriptor(p, 8);
  return d;
}

// Random bits would hardly ever be inside a table.
void fill_indices(Provider& p, Memory& memory, size_t index, size_t limit) {
  if (index == kNowhere || !contains(kIndexTypes, memory.tensor(index).type)) return;
  Random random(p.byte());
  const bool wrong = p.one_in(10);
  const size_t at = p.byte(), bytes = memory.tensor(index).bits / 8;
  const std::vector<size_t>& offsets = memory.tensor(index).offsets;
  for (size_t k = 0; k < offsets.size(); ++k) {
    uint64_t value = limit == 0 ? 0 : random.next() % limit;
    if (wrong && k == at % offsets.size()) value = p.one_in(2) ? limit : p.odd_size();
    std::memcpy(memory.data(index) + offsets[k] * bytes, &value, bytes);  // little-endian
  }
  memory.accept();
}

// ---- Embedding ----

struct Embedding : OneInput {
  explicit Embedding(Provider& p);
  void check_creation() const;

  BNNSFilterParameters filter;
  BNNSLayerParametersEmbedding layer = {};
  Source dictionary;
  BNNSNDArrayDescriptor weights_delta = {};
  size_t dw = kNowhere;
};

Embedding::Embedding(Provider& p) : filter(filter_parameters(p)) {
  std::vector<size_t> item, places, table, out_size;
  for (size_t k = p.below(3); k > 0; --k) item.push_back(p.between(1, 9));
  for (size_t k = p.between(1, 2); k > 0; --k) places.push_back(p.between(1, 9));
  const size_t items = p.between(1, 30);
  table = out_size = item;
  table.push_back(items);
  out_size.insert(out_size.end(), places.begin(), places.end());
  const BNNSDataType type = p.one_in(4) ? p.constant(kTypes) : BNNSDataTypeFloat32;
  layer.i_desc = tensor(p, places, p.one_in(40) ? p.constant(kTypes) : p.pick(kIndexTypes));
  layer.o_desc = tensor(p, out_size, type);
  layer.dictionary = tensor(p, table, type);
  layer.padding_idx = p.one_in(2) ? SIZE_MAX : p.below(items + 1);
  if (p.one_in(3)) layer.max_norm = p.one_in(4) ? p.scalar() : 1;
  static constexpr float kNorms[] = {0, 1, 2, 3, INFINITY};
  layer.norm_type = p.one_in(8) ? p.scalar() : p.pick(kNorms);
  layer.flags = static_cast<BNNSEmbeddingFlags>(p.one_in(40) ? p.byte() : p.below(2));
  weights_delta = delta_of(p, layer.dictionary);
  out_delta = delta_of(p, layer.o_desc);
  if (!p.one_in(20)) weights_delta.data_type = out_delta.data_type = BNNSDataTypeFloat32;
  dictionary = Source(p, memory, layer.dictionary);
  if ((filter.flags & BNNSFlagsUseClientPtr) != 0) {
    parameters = dictionary.mask();
    if (dictionary.data != kNowhere) earlier.push_back(dictionary.data);
  }
  place_tensors(p, layer.i_desc, layer.o_desc);
  dw = add(p, weights_delta, {});
  connect_tensors(p, layer.i_desc, layer.o_desc);
  dictionary.set(p, memory, layer.dictionary);
  weights_delta.data = address(memory, dw);
  fill_indices(p, memory, in, items);
  show("dictionary", layer.dictionary);
  show("weights_delta", weights_delta);
}

void Embedding::check_creation() const {
  const char* function = "BNNSFilterCreateLayerEmbedding";
  check_descriptors(function, layer.i_desc, layer.o_desc);
  const Model table = model_of(layer.dictionary);
  expect(table.legal && !table.opaque, function, "accepts a dictionary it must refuse");
  expect(contains(kIndexTypes, layer.i_desc.data_type), function, "accepts what is no index");
  expect(std::isfinite(layer.max_norm) && layer.max_norm >= 0, function, "accepts any max_norm");
}

void gradients(Provider& p, Embedding& c, const Pair& filters) {
  const bool give_in = c.in != kNowhere && !p.one_in(20);
  const bool want = c.dw != kNowhere && !p.one_in(20);
  BNNSNDArrayDescriptor* in_delta = p.one_in(30) ? &c.out_delta : nullptr;
  BNNSNDArrayDescriptor* out_delta = p.one_in(60) ? nullptr : &c.out_delta;
  Promise promise;
  promise.written = want && c.in_batch.size > 0 ? mask_of(c.dw) : 0;
  promise.used = mask_of(c.dy) | (give_in ? mask_of(c.in) : 0) | (want ? mask_of(c.dw) : 0);
  if (c.weights_delta.flags == BNNSNDArrayFlagBackpropSet) promise.overwritten = promise.written;
  promise.apart = want ? mask_of(c.dy) | (give_in ? mask_of(c.in) : 0) : 0;
  run("BNNSFilterApplyBackwardBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSFilterApplyBackwardBatch(
               filters[k], c.in_batch.size, give_in ? c.memory.data(c.in) : nullptr,
               c.in_batch.stride, in_delta, 0, nullptr, 0, out_delta, c.out_delta_batch.stride,
               want ? &c.weights_delta : nullptr, nullptr) == 0;
  });
}

void embedding(Provider& p) {
  Embedding c(p);
  const BNNSLayerParametersEmbedding* layer = p.one_in(100) ? nullptr : &c.layer;
  const Pair filters(
      "BNNSFilterCreateLayerEmbedding", p, c.filter,
      [&](const BNNSFilterParameters* f) { return BNNSFilterCreateLayerEmbedding(layer, f); });
  c.memory.expect_untouched("BNNSFilterCreateLayerEmbedding");
  if (!filters) return;
  c.check_creation();
  some_calls(
      p, filters, [&] { forward(p, c, filters); }, [&] { gradients(p, c, filters); });
}

// ---- Gather and scatter ----

struct Tensors {
  BNNSNDArrayDescriptor input = {}, indices = {}, output = {};
  size_t axis = 0, limit = 1;
};

// The logical sizes of a matrix are rows, columns.
BNNSNDArrayDescriptor logical(Provider& p, const std::vector<size_t>& size, BNNSDataType type) {
  BNNSNDArrayDescriptor d = tensor(p, size, type);
  if (d.layout == BNNSDataLayoutRowMajorMatrix && size.size() == 2) std::swap(d.size[0], d.size[1]);
  return d;
}

Tensors choose_tensors(Provider& p, bool scatters, bool nd) {
  Tensors t;
  std::vector<size_t> table, rows, places;
  for (size_t k = p.between(1, 3); k > 0; --k) table.push_back(p.between(1, 9));
  if (nd) {
    const size_t known = p.between(1, table.size());
    t.limit = *std::min_element(table.begin(), table.begin() + static_cast<ptrdiff_t>(known));
    for (size_t k = p.below(3); k > 0; --k) places.push_back(p.between(1, 9));
    rows = places;
    rows.insert(rows.end(), table.begin() + static_cast<ptrdiff_t>(known), table.end());
    if (rows.empty()) rows = {1};
    places.push_back(known);
  } else {
    t.axis = p.one_in(40) ? p.odd_size() : p.below(table.size());
    rows = table;
    if (t.axis < table.size()) {
      t.limit = table[t.axis];
      rows[t.axis] = p.extent();
      places = p.one_in(2) ? rows : std::vector<size_t>{rows[t.axis]};
    }
    if (places.empty()) places = {1};
  }
  const BNNSDataType type = p.one_in(2) ? p.constant(kTypes) : BNNSDataTypeFloat32;
  t.input = logical(p, scatters ? rows : table, type);
  t.output = logical(p, scatters ? table : rows, type);
  t.indices = logical(p, places, p.one_in(40) ? p.constant(kTypes) : p.pick(kIndexTypes));
  return t;
}

void direct(Provider& p) {
  const bool scatters = p.one_in(2), nd = p.one_in(2);
  static constexpr const char* kNames[] = {"BNNSGather", "BNNSGatherND", "BNNSScatter",
                                           "BNNSScatterND"};
  const char* function = kNames[(scatters ? 2 : 0) + (nd ? 1 : 0)];
  const BNNSFilterParameters parameters = filter_parameters(p), twin = twin_of(parameters);
  Tensors t = choose_tensors(p, scatters, nd);
  static constexpr BNNSReduceFunction kOps[] = {BNNSReduceFunctionNone, BNNSReduceFunctionSum};
  const BNNSReduceFunction op =
      p.one_in(20) ? static_cast<BNNSReduceFunction>(p.below(20)) : p.pick(kOps);
  Memory memory;
  std::vector<size_t> earlier;
  const auto add = [&](const BNNSNDArrayDescriptor& d) {
    const size_t at = place(p, memory, model_of(d), {}, earlier);
    if (at != kNowhere) earlier.push_back(at);
    return at;
  };
  const size_t in = add(t.input), index = add(t.indices), out = add(t.output);
  memory.allocate(p.number<uint16_t>());
  t.input.data = address(memory, in);
  t.indices.data = address(memory, index);
  t.output.data = address(memory, out);
  fill_indices(p, memory, index, t.limit);
  show("input", t.input);
  show("indices", t.indices);
  show("output", t.output);
  Promise promise;
  promise.used = mask_of(in) | mask_of(index) | mask_of(out);
  promise.written = mask_of(out);
  promise.overwritten = scatters ? 0 : promise.written;
  promise.apart = mask_of(in) | mask_of(index);
  run(function, p, memory, promise, [&](size_t k) {
    const BNNSFilterParameters* f = k == 0 ? &parameters : &twin;
    if (nd)
      return (scatters ? BNNSScatterND(op, &t.input, &t.indices, &t.output, f)
                       : BNNSGatherND(&t.input, &t.indices, &t.output, f)) == 0;
    return (scatters ? BNNSScatter(t.axis, op, &t.input, &t.indices, &t.output, f)
                     : BNNSGather(t.axis, &t.input, &t.indices, &t.output, f)) == 0;
  });
  Hooks::expect_no_leak();
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider provider(data, size);
  if (provider.one_in(2))
    fuzz::embedding(provider);
  else
    fuzz::direct(provider);
  return 0;
}
