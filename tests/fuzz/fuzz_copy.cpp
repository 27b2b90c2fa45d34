// BNNSCopy and BNNSTranspose between descriptors of any kind, and the three size queries, whose
// answers are compared with the model.
#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {
namespace {

// Sizes of `src` rearranged so that both have the same logical coordinates, where that is possible.
BNNSNDArrayDescriptor destination(Provider& p, const BNNSNDArrayDescriptor& src) {
  BNNSNDArrayDescriptor d = like(p, src);
  if (d.layout != src.layout && rank_of(d.layout) == rank_of(src.layout) && !p.one_in(8)) {
    std::copy(src.size, src.size + 8, d.size);
    const bool rows_first = src.layout == BNNSDataLayoutRowMajorMatrix;
    if (rows_first != (d.layout == BNNSDataLayoutRowMajorMatrix)) std::swap(d.size[0], d.size[1]);
    const bool swapped = src.layout == BNNSDataLayoutConvolutionWeightsIOHrWr;
    if (swapped != (d.layout == BNNSDataLayoutConvolutionWeightsIOHrWr) && rank_of(d.layout) == 4)
      std::swap(d.size[2], d.size[3]);
    choose_strides(p, d);
  }
  if (p.one_in(3)) choose_type(p, d, 1);
  return d;
}

struct Case {
  BNNSNDArrayDescriptor src, dest;
  BNNSFilterParameters parameters;
  Memory memory;
  Source from;
  size_t to = kNowhere;

  void allocate(Provider& p) {
    from = Source(p, memory, src);
    std::vector<size_t> earlier;
    if (from.data != kNowhere) earlier.push_back(from.data);
    to = place(p, memory, model_of(dest), {}, earlier);
    memory.allocate(p.number<uint16_t>());
    from.set(p, memory, src);
    if (!p.one_in(60)) dest.data = address(memory, to);
    dest.table_data = address(memory, from.table);
    dest.table_data_type = src.table_data_type;
    show("src", src);
    show("dest", dest);
  }
  Promise promise() const {
    return {.used = from.mask() | mask_of(to),
            .written = mask_of(to),
            .overwritten = mask_of(to),
            .apart = from.mask()};
  }
  void check(const char* function) const {
    expect(model_of(src).legal, function, "accepts a src that must be refused");
    expect(model_of(dest).legal, function, "accepts a dest that must be refused");
    expect(!model_of(src).opaque && !model_of(dest).opaque, function, "accepts an opaque layout");
    expect(model_of(src).count == model_of(dest).count, function, "accepts differing counts");
  }
};

void copy(Provider& p) {
  Case c = {.src = descriptor(p, 2), .dest = {}, .parameters = filter_parameters(p)};
  c.dest = destination(p, c.src);
  c.allocate(p);
  BNNSNDArrayDescriptor* dest = p.one_in(100) ? nullptr : &c.dest;
  const BNNSNDArrayDescriptor* src = p.one_in(100) ? nullptr : &c.src;
  const BNNSFilterParameters twin = twin_of(c.parameters);
  const bool success = run("BNNSCopy", p, c.memory, c.promise(), [&](size_t k) {
    return BNNSCopy(dest, src, k == 0 ? &c.parameters : &twin) == 0;
  });
  if (success) c.check("BNNSCopy");
  Hooks::expect_no_leak();
}

void transpose(Provider& p) {
  Case c = {.src = descriptor(p, 2), .dest = {}, .parameters = filter_parameters(p)};
  const size_t rank = std::clamp<size_t>(rank_of(c.src.layout), 1, 8);
  size_t axis0 = p.below(rank), axis1 = p.below(rank);
  BNNSNDArrayDescriptor turned = c.src;
  std::swap(turned.size[axis0], turned.size[axis1]);
  choose_strides(p, turned);
  c.dest = like(p, turned);
  c.allocate(p);
  if (p.one_in(40)) axis0 = p.odd_size();
  if (p.one_in(40)) axis1 = rank;
  const BNNSFilterParameters twin = twin_of(c.parameters);
  const bool success = run("BNNSTranspose", p, c.memory, c.promise(), [&](size_t k) {
    return BNNSTranspose(&c.dest, &c.src, axis0, axis1, k == 0 ? &c.parameters : &twin) == 0;
  });
  if (success) {
    c.check("BNNSTranspose");
    expect(axis0 < rank && axis1 < rank, "BNNSTranspose", "accepts an axis that is none");
  }
  Hooks::expect_no_leak();
}

void data_size(Provider& p) {
  static float something = 0;
  BNNSNDArrayDescriptor d = descriptor(p, 2);
  if (!p.one_in(8)) d.data = &something;
  if (!p.one_in(8)) d.table_data = &something;
  d.table_data_type = BNNSDataTypeFloat32;
  const Model m = model_of(d);
  show("array", d);
  const Watch watch("BNNSNDArrayGetDataSize");
  const size_t size = BNNSNDArrayGetDataSize(p.one_in(60) ? nullptr : &d);
  watch.done(size != 0);
  if (size == 0) return;
  expect(m.legal && d.data != nullptr && m.bits >= 8, "BNNSNDArrayGetDataSize",
         "gives a size to something that has none");
  expect(size == m.bytes(m.span), "BNNSNDArrayGetDataSize", "gives a wrong size");
}

// Answer of the model: bytes, or SIZE_MAX.
size_t allocation_size_of(const BNNSTensor& t) {
  if (!is_type(t.data_type) || t.rank > 8) return SIZE_MAX;
  Big values = 1;
  bool empty = false;
  for (size_t k = 0; k < t.rank; ++k) {
    if (t.shape[k] < 0 || t.stride[k] < 0) return SIZE_MAX;
    empty |= t.shape[k] == 0;
    if (t.shape[k] == 0) continue;
    values = values + Big(t.shape[k] - 1) * Big(t.stride[k]);
    if (values >= Big{1} << 100) return SIZE_MAX;
  }
  if (empty) return 0;
  const Big bytes = (values * bits_of(t.data_type) + 7) / 8;
  return bytes >= SIZE_MAX ? SIZE_MAX : static_cast<size_t>(bytes);
}

void allocation_size(Provider& p) {
  BNNSTensor t = {};
  t.data_type = p.constant(kTypes);
  t.rank = p.one_in(20) ? p.byte() : static_cast<uint8_t>(p.below(9));
  for (size_t k = 0; k < 8; ++k) {
    t.shape[k] = static_cast<ssize_t>(p.one_in(12) ? p.odd_size() : p.extent());
    t.stride[k] = static_cast<ssize_t>(p.one_in(12) ? p.odd_size() : p.extent() - 1);
  }
  const Watch watch("BNNSTensorGetAllocationSize");
  const size_t size = BNNSTensorGetAllocationSize(p.one_in(60) ? nullptr : &t);
  watch.done(size != SIZE_MAX);
  if (size == SIZE_MAX) return;
  expect(size == allocation_size_of(t), "BNNSTensorGetAllocationSize", "gives a wrong size");
}

void layout_rank(Provider& p) {
  const BNNSDataLayout layout = p.constant(kLayouts, 3);
  const Watch watch("BNNSDataLayoutGetRank");
  const size_t rank = BNNSDataLayoutGetRank(layout);
  watch.done(rank != SIZE_MAX);
  expect(rank == (is_layout(layout) ? rank_of(layout) : SIZE_MAX), "BNNSDataLayoutGetRank",
         "gives a wrong rank");
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider provider(data, size);
  switch (provider.below(8)) {
    case 0:
    case 1:
    case 2:
      fuzz::copy(provider);
      break;
    case 3:
    case 4:
      fuzz::transpose(provider);
      break;
    case 5:
      fuzz::data_size(provider);
      break;
    case 6:
      fuzz::allocation_size(provider);
      break;
    default:
      fuzz::layout_rank(provider);
      break;
  }
  return 0;
}
