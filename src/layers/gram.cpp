// The Gram filter. An image x has C channels of P pixels:
//   G(f, c)  = alpha sum over p of x(p, f) x(p, c)
//   dx(p, f) = alpha sum over c of (dG(f, c) + dG(c, f)) x(p, c)
// As matrices, X with C rows and P columns: G = alpha X X^T, and dX = alpha S X with S = dG + dG^T.
// Both are batches of products, one for each image, which ops/gemm shares out among the threads.
// Dense Float32 is used where it lies, anything else through copies of some images at a time.
#include "layers/gram.h"

#include <algorithm>
#include <cmath>

#include "core/call.h"
#include "core/filter.h"
#include "core/scratch_pool.h"
#include "layers/coordinates.h"
#include "ops/gemm/gemm.h"

namespace bnns::impl {
namespace {

struct GramParameters {
  Descriptor in, out;
  float alpha;
  size_t images = 1, channels = 0, pixels = 0;  // images: of one sample
  size_t x_size = 0, g_size = 0;                // values of an image and of its Gram matrix
};

void check_tensor(const Descriptor& d, const char* field) {
  require_plain_layout(d, field);
  require(d.rank() >= 2 && !d.layout->rotated, field, ".layout is ", d.layout->name,
          "; it must have two axes or more, none of them rotated");
  require(d.type->kind == TypeClass::kFloat, field, ".data_type is ", d.type->name,
          "; it must be a floating-point type");
}

// The last coordinate of i_desc counts channels, the two before it pixels, further ones images.
GramParameters read_gram(const BNNSLayerParametersGram* p) {
  require(p != nullptr, "layer_params is NULL");
  require(std::isfinite(p->alpha), "alpha is ", double{p->alpha}, "; it must be finite");
  GramParameters g = {.in = read_descriptor(p->i_desc, "i_desc", Use::kInput),
                      .out = read_descriptor(p->o_desc, "o_desc", Use::kOutput),
                      .alpha = p->alpha};
  check_tensor(g.in, "i_desc");
  check_tensor(g.out, "o_desc");
  const size_t rank = g.in.rank(), out_rank = std::max<size_t>(2, rank - 1);
  g.channels = g.in.logical_extent(rank - 1);
  bool fits = g.out.rank() == out_rank;
  for (size_t i = 0; fits && i < out_rank; ++i)
    fits = g.out.logical_extent(i) == (i + 2 < out_rank ? g.in.logical_extent(i) : g.channels);
  if (!fits) {
    fail("o_desc is ", describe(g.out), ", i_desc is ", describe(g.in), "; o_desc must hold a ",
         g.channels, " x ", g.channels, " matrix for each image");
  }
  g.g_size = g.channels * g.channels;
  g.images = g.out.view.count / g.g_size;
  g.x_size = g.in.view.count / g.images;
  g.pixels = g.x_size / g.channels;
  return g;
}

constexpr size_t kPixelsFirst[kMaxRank] = {1, 0, 0, 2, 3, 4, 5, 6};  // channels, then images

class GramFilter final : public Filter {
 public:
  GramFilter(const FilterOptions& options, const GramParameters& p)
      : Filter("a Gram filter", options),
        p_(p),
        forward_(*gemm_kernels(), options.threads,
                 {.shape = {p.channels, p.channels, p.pixels},
                  .a = {.row = p.pixels},
                  .b = {.row = p.pixels, .transposed = true},
                  .c_row = p.channels,
                  .epilogue = {.alpha = p.alpha}}),
        backward_(*gemm_kernels(), options.threads,
                  {.shape = {p.channels, p.pixels, p.channels},
                   .a = {.row = p.channels},
                   .b = {.row = p.pixels},
                   .c_row = p.pixels,
                   .epilogue = {.alpha = p.alpha}}),
        scratch_(options.memory) {}

  void apply(const ForwardArgs& args) override;
  void apply_backward(const BackwardArgs& args) override;
  void reserve(size_t batch, size_t callers) override {
    Filter::reserve(batch, callers);
    scratch_.reserve(callers, [&](Array<float>& memory) { prepare(memory, batch); });
  }
  Text plan() const override { return Text(p_.channels, " channels of ", p_.pixels, " pixels"); }

 private:
  struct Buffers {
    float *product, *x, *g, *dx;
    size_t most;  // images that are computed together
  };
  Buffers prepare(Array<float>& memory, size_t batch) const;

  GramParameters p_;
  GemmOp forward_, backward_;
  const ConvertKernels* convert_ = convert_kernels();
  ScratchPool<Array<float>> scratch_;
};

// All memory comes before anything is written. Copies take 1 MB, or what one image needs.
GramFilter::Buffers GramFilter::prepare(Array<float>& memory, size_t batch) const {
  constexpr size_t kFloats = size_t{1} << 18;
  const size_t fitting = std::max<size_t>(1, kFloats / std::max(p_.x_size, p_.g_size));
  const size_t samples = std::clamp<size_t>(batch, 1, fitting);
  const size_t most = std::min(fitting, samples * p_.images);
  const size_t product = std::max(forward_.scratch(most), backward_.scratch(most));
  const size_t size = product + most * (2 * p_.x_size + p_.g_size);
  if (memory.size() < size) memory = Array<float>(this->memory(), size);
  float* x = memory.data() + product;
  float* g = x + most * p_.x_size;
  return {.product = memory.data(), .x = x, .g = g, .dx = g + most * p_.g_size, .most = most};
}

void GramFilter::apply(const ForwardArgs& args) {
  if (args.batch == 0) return;
  Call call(args.batch);
  const Batch in = call.reads(p_.in.view, args.in, args.in_stride, kIn);
  const Batch out = call.writes(p_.out.view, args.out, args.out_stride, kOut);
  call.check_overlaps();

  const View x = by_coordinates(in, *p_.in.layout, kPixelsFirst);
  const View g = by_coordinates(out, *p_.out.layout, kLastFirst);
  const auto scratch = scratch_.take();
  const Buffers b = prepare(*scratch, args.batch);
  const size_t images = args.batch * p_.images, xs = p_.x_size, gs = p_.g_size;
  for (size_t i = 0; i < images; i += b.most) {
    const size_t n = std::min(b.most, images - i);
    const float* from = read_dense(*convert_, x, i * xs, n * xs, b.x);
    float* to = dense_or(b.g, g, i * gs);
    forward_.run_batch(n, {.a = xs, .b = xs, .c = gs}, {.a = from, .b = from, .c = to}, b.product);
    if (to == b.g) write_values(*convert_, g, i * gs, n * gs, to);
  }
}

void GramFilter::apply_backward(const BackwardArgs& args) {
  constexpr DeltaRules kRules = {.bfloat16 = true, .same_layout = true};
  require(!is_wanted(args.weights_delta), "weights_delta has data; a Gram layer has no weights");
  require(!is_wanted(args.bias_delta), "bias_delta has data; a Gram layer has no bias");
  require(is_wanted(args.in_delta), "in_delta is missing; a Gram layer has no other gradient");
  if (args.batch == 0) return;
  Call call(args.batch);
  const Batch in = call.reads(p_.in.view, args.in, args.in_stride, kIn);
  const Batch out_delta =
      call.reads_delta(args.out_delta, args.out_delta_stride, kOutDelta, p_.out, "o_desc", kRules);
  const Gradient in_delta =
      call.writes_delta(*args.in_delta, args.in_delta_stride, kInDelta, p_.in, "i_desc", kRules);
  call.check_overlaps();

  const View x = by_coordinates(in, *p_.in.layout, kPixelsFirst);
  const View dx = by_coordinates(in_delta, *p_.in.layout, kPixelsFirst);
  const View dg = by_coordinates(out_delta, *p_.out.layout, kLastFirst);
  const auto scratch = scratch_.take();
  const Buffers b = prepare(*scratch, args.batch);
  const size_t images = args.batch * p_.images, xs = p_.x_size, gs = p_.g_size, c = p_.channels;
  for (size_t i = 0; i < images; i += b.most) {
    const size_t n = std::min(b.most, images - i);
    const float* from = read_dense(*convert_, x, i * xs, n * xs, b.x);
    float* to = dense_or(b.dx, dx, i * xs);
    if (to == b.dx && in_delta.accumulate) read_values(*convert_, dx, i * xs, n * xs, to);
    read_values(*convert_, dg, i * gs, n * gs, b.g);
    for (float* s = b.g; s < b.g + n * gs; s += gs)
      for (size_t f = 0; f < c; ++f)
        for (size_t k = 0; k <= f; ++k) s[f * c + k] = s[k * c + f] = s[f * c + k] + s[k * c + f];
    backward_.run_batch(n, {.a = gs, .b = xs, .c = xs},
                        {.a = b.g, .b = from, .c = to, .accumulate = in_delta.accumulate},
                        b.product);
    if (to == b.dx) write_values(*convert_, dx, i * xs, n * xs, to);
  }
}

}  // namespace

BNNSFilter make_gram_filter(const BNNSLayerParametersGram* parameters,
                            const BNNSFilterParameters* filter_parameters) {
  const GramParameters p = read_gram(parameters);
  return make_filter<GramFilter>(FilterOptions(filter_parameters), p);
}

}  // namespace bnns::impl
