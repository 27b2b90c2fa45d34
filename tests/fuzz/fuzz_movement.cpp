// Permute and padding filters, forward, backward and reserve; BNNSTile, BNNSTileBackward,
// BNNSShuffle and BNNSBandPart.
#include "one_input.h"

namespace fuzz {
namespace {

BNNSNDArrayDescriptor with_sizes(Provider& p, const BNNSNDArrayDescriptor& other) {
  BNNSNDArrayDescriptor d = other;
  d.data = nullptr;
  choose_strides(p, d);
  return d;
}

size_t small_rank(const BNNSNDArrayDescriptor& d) {
  return std::clamp<size_t>(rank_of(d.layout), 1, 8);
}

// ---- Filters ----

struct Case : OneInput {
  bool permutes = false;
  BNNSLayerParametersPermute permute = {};
  BNNSLayerParametersPadding padding = {};

  explicit Case(Provider& p) : permutes(p.one_in(2)) {
    permutes ? choose_permute(p) : choose_padding(p);
    choose_deltas(p, i_desc(), o_desc());
    if (!p.one_in(20)) in_delta.data_type = out_delta.data_type = BNNSDataTypeFloat32;
    place_tensors(p, i_desc(), o_desc());
    connect_tensors(p, i_desc(), o_desc());
  }

  const BNNSNDArrayDescriptor& i_desc() const { return permutes ? permute.i_desc : padding.i_desc; }
  const BNNSNDArrayDescriptor& o_desc() const { return permutes ? permute.o_desc : padding.o_desc; }
  const char* creator() const {
    return permutes ? "BNNSFilterCreateLayerPermute" : "BNNSFilterCreateLayerPadding";
  }
  BNNSFilter create(const BNNSFilterParameters* parameters, bool null) const {
    if (permutes) return BNNSFilterCreateLayerPermute(null ? nullptr : &permute, parameters);
    return BNNSFilterCreateLayerPadding(null ? nullptr : &padding, parameters);
  }

  // An order of the axes that is a permutation, most of the time.
  void choose_permute(Provider& p) {
    permute.i_desc = descriptor(p, 3);
    const size_t rank = small_rank(permute.i_desc);
    for (size_t k = 0; k < 8; ++k) permute.permutation[k] = k;
    for (size_t k = 0; k < rank; ++k)
      std::swap(permute.permutation[k], permute.permutation[p.below(rank)]);
    BNNSNDArrayDescriptor out = permute.i_desc;
    for (size_t k = 0; k < rank; ++k) out.size[k] = permute.i_desc.size[permute.permutation[k]];
    permute.o_desc = p.one_in(6) ? like(p, out) : with_sizes(p, out);
    if (p.one_in(30)) permute.permutation[p.below(rank)] = p.odd_size();
  }

  void choose_padding(Provider& p) {
    padding.i_desc = descriptor(p, 3);
    const size_t rank = small_rank(padding.i_desc);
    padding.padding_mode = static_cast<BNNSPaddingMode>(p.one_in(60) ? p.byte() : p.below(3));
    padding.padding_value = p.number<uint32_t>();
    BNNSNDArrayDescriptor out = padding.i_desc;
    for (size_t k = 0; k < rank; ++k) {
      for (size_t& cells : padding.padding_size[k]) {
        cells = p.one_in(2) ? 0 : p.between(0, rank > 4 ? 1 : 4);
        if (p.one_in(60)) cells = p.odd_size();
        out.size[k] += cells;
      }
    }
    padding.o_desc = p.one_in(6) ? like(p, out) : with_sizes(p, out);
  }

  void check_creation() const {
    check_descriptors(creator(), i_desc(), o_desc());
    const size_t in_count = model_of(i_desc()).count, out_count = model_of(o_desc()).count;
    expect(i_desc().data_type == o_desc().data_type, creator(), "accepts two types");
    expect(!permutes || in_count == out_count, creator(), "accepts other counts");
    expect(in_count <= out_count, creator(), "accepts a smaller output");
  }
};

void permute_backward(Provider& p, Case& c, const Pair& filters) {
  const bool want = c.dx != kNowhere && !p.one_in(20);
  BNNSNDArrayDescriptor* in_delta = want ? &c.in_delta : nullptr;
  BNNSNDArrayDescriptor* out_delta = p.one_in(60) ? nullptr : &c.out_delta;
  const Promise promise = backward_promise(c, false, want);
  run("BNNSPermuteFilterApplyBackwardBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSPermuteFilterApplyBackwardBatch(filters[k], c.in_batch.size, in_delta,
                                               c.in_delta_batch.stride, out_delta,
                                               c.out_delta_batch.stride) == 0;
  });
}

void any_backward(Provider& p, Case& c, const Pair& filters) {
  if (c.permutes && p.one_in(2)) return permute_backward(p, c, filters);
  backward(p, c, filters);
}

void filter_case(Provider& p) {
  const BNNSFilterParameters parameters = filter_parameters(p);
  Case c(p);
  const bool null = p.one_in(100);
  const Pair filters(c.creator(), p, parameters,
                     [&](const BNNSFilterParameters* f) { return c.create(f, null); });
  c.memory.expect_untouched(c.creator());
  if (!filters) return;
  c.check_creation();
  some_calls(
      p, filters, [&] { forward(p, c, filters); }, [&] { any_backward(p, c, filters); });
}

// ---- Functions ----

// Two tensors, of which `to` is written. `call` receives their descriptors.
template <class Call>
void function_case(Provider& p, const char* function, const BNNSNDArrayDescriptor& given_from,
                   const BNNSNDArrayDescriptor& given_to, const Call& call) {
  BNNSNDArrayDescriptor from = given_from, to = given_to;
  const BNNSFilterParameters parameters = filter_parameters(p), twin = twin_of(parameters);
  Memory memory;
  Source source(p, memory, from);
  std::vector<size_t> earlier;
  if (source.data != kNowhere) earlier.push_back(source.data);
  const size_t target = place(p, memory, model_of(to), {}, earlier);
  memory.allocate(p.number<uint16_t>());
  source.set(p, memory, from);
  if (!p.one_in(60)) to.data = address(memory, target);
  to.table_data = address(memory, source.table);
  to.table_data_type = from.table_data_type;
  show("from", from);
  show("to", to);
  const bool wanted = to.data != nullptr;
  const bool adds = to.flags == BNNSNDArrayFlagBackpropAccumulate;
  const Promise promise = {.used = source.mask() | mask_of(target),
                           .written = wanted ? mask_of(target) : 0,
                           .overwritten = wanted && !adds ? mask_of(target) : 0,
                           .apart = source.mask()};
  const bool success = run(function, p, memory, promise, [&](size_t k) {
    return call(from, to, k == 0 ? &parameters : &twin) == 0;
  });
  Hooks::expect_no_leak();
  if (!success || !wanted) return;
  expect(model_of(from).legal && model_of(to).legal, function, "accepts a bad descriptor");
  expect(!overlaps_itself(model_of(to)), function, "accepts an output that overlaps itself");
}

bool is_first_major(BNNSDataLayout layout) {
  return (static_cast<uint32_t>(layout) & 0xFFFF) == 0x8001;
}
BNNSDataLayout major(BNNSDataLayout layout, uint32_t kind) {
  return static_cast<BNNSDataLayout>((static_cast<uint32_t>(layout) & 0xFFFF0000u) | kind);
}

// BNNSTile reads two kinds of layouts in the opposite order: the model sees a tensor as the
// function does, the function gets the other name.
void tile(Provider& p) {
  BNNSNDArrayDescriptor from = descriptor(p, 3);
  const bool matrix = from.layout == BNNSDataLayout2DFirstMajor;
  if (is_first_major(from.layout) && !matrix) from.layout = major(from.layout, 0x8000);
  if (from.layout == BNNSDataLayoutRowMajorMatrix) from.layout = BNNSDataLayoutColumnMajorMatrix;
  BNNSNDArrayDescriptor to = from;
  for (size_t k = 0; k < small_rank(from); ++k) to.size[k] *= p.one_in(2) ? 1 : p.between(1, 3);
  if (p.one_in(20)) ++to.size[0];
  choose_strides(p, to);
  const bool is_last_major = (static_cast<uint32_t>(from.layout) & 0xFFFF) == 0x8000;
  const bool renames = matrix || (is_last_major && p.one_in(2));
  function_case(p, "BNNSTile", from, to, [&](auto input, auto output, auto* parameters) {
    if (renames) {
      const BNNSDataLayout layout =
          matrix ? BNNSDataLayoutRowMajorMatrix : major(input.layout, 0x8001);
      input.layout = output.layout = layout;
    }
    return BNNSTile(&input, &output, parameters);
  });
}

void tile_backward(Provider& p) {
  BNNSNDArrayDescriptor in_delta = descriptor(p, 12), out_delta = in_delta;
  for (size_t k = 0; k < small_rank(in_delta); ++k)
    out_delta.size[k] *= p.one_in(2) ? 1 : p.between(1, 3);
  if (p.one_in(20)) ++out_delta.size[0];
  choose_strides(p, out_delta);
  in_delta.flags = p.one_in(2) ? BNNSNDArrayFlagBackpropSet : BNNSNDArrayFlagBackpropAccumulate;
  function_case(p, "BNNSTileBackward", out_delta, in_delta,
                [](const auto& dy, auto& dx, auto* parameters) {
                  return BNNSTileBackward(&dx, &dy, parameters);
                });
}

void shuffle(Provider& p) {
  const size_t r = p.between(1, 4), n = p.between(1, 2), c = p.between(1, 3);
  const size_t rows = p.between(1, 4), columns = p.between(1, 9);
  BNNSNDArrayDescriptor deep = descriptor(p, 3, BNNSDataLayout4DFirstMajor);
  const size_t deep_size[] = {n, c * r * r, rows, columns};
  std::copy(deep_size, deep_size + 4, deep.size);
  BNNSNDArrayDescriptor wide = deep;
  const size_t wide_size[] = {n, c, rows * r, columns * r};
  std::copy(wide_size, wide_size + 4, wide.size);
  if (p.one_in(20)) ++wide.size[p.below(4)];
  choose_strides(p, deep);
  choose_strides(p, wide);
  if (p.one_in(30)) wide = like(p, wide);
  const auto type = static_cast<BNNSShuffleType>(p.one_in(60) ? p.byte() : p.below(4));
  const bool to_wide = static_cast<uint32_t>(type) % 2 == 0;
  function_case(p, "BNNSShuffle", to_wide ? deep : wide, to_wide ? wide : deep,
                [&](const auto& input, auto& output, auto* parameters) {
                  return BNNSShuffle(type, &input, &output, parameters);
                });
}

void band_part(Provider& p) {
  const BNNSNDArrayDescriptor from = descriptor(p, 3);
  const BNNSNDArrayDescriptor to = p.one_in(4) ? like(p, from) : with_sizes(p, from);
  const auto limit = [&] {
    return p.one_in(20) ? p.number<int32_t>() : static_cast<int>(p.below(5)) - 1;
  };
  const int lower = limit(), upper = limit();
  function_case(p, "BNNSBandPart", from, to,
                [&](const auto& input, auto& output, auto* parameters) {
                  return BNNSBandPart(lower, upper, &input, &output, parameters);
                });
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider provider(data, size);
  switch (provider.below(8)) {
    case 0:
      fuzz::tile(provider);
      break;
    case 1:
      fuzz::tile_backward(provider);
      break;
    case 2:
      fuzz::shuffle(provider);
      break;
    case 3:
      fuzz::band_part(provider);
      break;
    default:
      fuzz::filter_case(provider);
  }
  return 0;
}
