// The plan of a product: what is packed when, and which tiles a grain computes.
//   One operand is shared: packed before the grains start, in slabs of kSlab floats (or packed for
//   good). The other is the grains' own: each packs its block of lines; if there are too few
//   blocks to share out, that operand is packed before, too, and grains are groups of tiles.
//   K beyond kSlabDepth is summed slab after slab in tiles of (hi, lo).
#include "ops/gemm/gemm.h"

#include <algorithm>

#include "core/parallel.h"
#include "ops/gemm/plan.h"

namespace bnns::impl {
namespace {

// Lines of an operand that lie packed: panels [panel0, panel0 + count), their first line moved. Or
// lines in their matrix, cut as if they were packed.
struct Lines {
  GemmPanels panels;
  size_t line0, panel0, count;
  const GemmMatrix* in_place = nullptr;

  size_t first(size_t p) const { return line0 + panels.first(panel0 + p); }
  size_t lines(size_t p) const { return panels.count(panel0 + p); }
  // k counts from the first step that lies here.
  const float* rows_at(size_t p, size_t k) const {
    return in_place == nullptr ? panels.at(panel0 + p, k) : plain() + first(p) * in_place->row + k;
  }
  const float* columns_at(size_t p, size_t k) const {
    return in_place == nullptr ? panels.at(panel0 + p, k) : plain() + k * in_place->row + first(p);
  }

 private:
  const float* plain() const { return static_cast<const float*>(in_place->data); }
};

class Run {
 public:
  Run(const GemmKernels& kernels, size_t threads, const GemmShape& shape, const GemmOperand& a,
      const GemmOperand& b, const GemmTarget& c, const GemmEpilogue& epilogue, float* scratch)
      : kernels_(kernels),
        plan_(kernels, shape, a, b, GemmPacking::kWherePays),
        threads_(useful_threads(threads, plan_.nanoseconds())),
        k_(shape.k),
        own_(plan_.own_is_a ? a : b),
        shared_(plan_.own_is_a ? b : a),
        c_(c),
        epilogue_(epilogue),
        memory_(scratch) {}

  void run() {
    for (size_t s = 0; s < plan_.shared_lines; s += plan_.shared_slab) {
      for (size_t o = 0; o < plan_.own_lines; o += plan_.own_slab) {
        for (size_t k = 0; k < k_; k += plan_.depth_slab) run_slab(s, o, k);
      }
    }
  }

 private:
  // Offsets in the working memory.
  float* shared_memory() const { return memory_; }
  float* own_memory() const { return memory_ + plan_.shared_floats; }
  float* slab_sums() const { return own_memory() + plan_.own_floats; }
  float* worker_memory(size_t worker) const {
    return slab_sums() + plan_.sum_floats + worker * plan_.worker_floats();
  }

  GemmSide own_side() const { return plan_.own_is_a ? GemmSide::kA : GemmSide::kB; }
  GemmSide shared_side() const { return plan_.own_is_a ? GemmSide::kB : GemmSide::kA; }

  void run_slab(size_t shared0, size_t own0, size_t k0);
  Lines ready(const GemmOperand& operand, GemmSide side, size_t line0, size_t line1, float* memory);
  void run_block(const Lines& own, const Lines& shared, size_t own_panel0, float* local_sums);
  void run_group(const Lines& a, const Lines& b, const GemmTile& panels, size_t a_panel0,
                 size_t b_panel0, float* local_sums);

  const GemmKernels& kernels_;
  const GemmPlan plan_;
  const size_t threads_;
  const size_t k_;
  const GemmOperand &own_, &shared_;
  const GemmTarget& c_;
  const GemmEpilogue& epilogue_;
  float* const memory_;
  size_t k0_ = 0, depth_ = 0;  // of the slab at work
};

// Panels of the lines for the slab's depth: in their matrix, lying packed, or packed here by all
// threads.
Lines Run::ready(const GemmOperand& operand, GemmSide side, size_t line0, size_t line1,
                 float* memory) {
  if (side == GemmSide::kA ? plan_.a_in_place : plan_.b_in_place) {
    const GemmPanels p(nullptr, kernels_, side, line1 - line0, k_);
    return {
        .panels = p, .line0 = line0, .panel0 = 0, .count = p.panels, .in_place = &operand.matrix};
  }
  if (operand.packed != nullptr) {
    const GemmPanels& p = operand.packed->panels();
    // Slabs of a packed operand are counted in whole panels, at most `width` lines each.
    const size_t panel0 = line0 / p.width;
    return {.panels = p,
            .line0 = 0,
            .panel0 = panel0,
            .count = std::min(p.panels, div_up(line1, p.width)) - panel0};
  }
  const GemmPanels p(memory, kernels_, side, line1 - line0, depth_);
  parallel_for(threads_, pack_groups(p), [&](size_t group, size_t) {
    pack_group(kernels_, side, operand, p, group, line0, k0_);
  });
  return {.panels = p, .line0 = line0, .panel0 = 0, .count = p.panels};
}

void Run::run_slab(size_t shared0, size_t own0, size_t k0) {
  k0_ = k0;
  depth_ = std::min(plan_.depth_slab, k_ - k0);
  const size_t shared1 = std::min(plan_.shared_lines, shared0 + plan_.shared_slab);
  const size_t own1 = std::min(plan_.own_lines, own0 + plan_.own_slab);
  const Lines shared = ready(shared_, shared_side(), shared0, shared1, shared_memory());
  if (plan_.local) {
    const size_t blocks = div_up(own1 - own0, plan_.block);
    parallel_for(threads_, blocks, [&](size_t block, size_t worker) {
      const size_t line0 = own0 + block * plan_.block;
      const GemmPanels p(worker_memory(worker), kernels_, own_side(),
                         std::min(plan_.block, own1 - line0), depth_);
      for (size_t group = 0; group < pack_groups(p); ++group)
        pack_group(kernels_, own_side(), own_, p, group, line0, k0_);
      const Lines own = {.panels = p, .line0 = line0, .panel0 = 0, .count = p.panels};
      run_block(own, shared, block * (plan_.block / p.width),
                worker_memory(worker) + plan_.block_floats);
    });
    return;
  }
  const Lines own = ready(own_, own_side(), own0, own1, own_memory());
  const Lines &a = plan_.own_is_a ? own : shared, &b = plan_.own_is_a ? shared : own;
  const size_t groups_b = div_up(b.count, plan_.group_b);
  parallel_for(threads_, groups_b * div_up(a.count, plan_.group_a), [&](size_t g, size_t worker) {
    const size_t i = g / groups_b * plan_.group_a, j = g % groups_b * plan_.group_b;
    const GemmTile panels = {.m0 = i,
                             .m1 = std::min(a.count, i + plan_.group_a),
                             .n0 = j,
                             .n1 = std::min(b.count, j + plan_.group_b)};
    run_group(a, b, panels, 0, 0, worker_memory(worker) + plan_.block_floats);
  });
}

// A grain's own block times all that is shared.
void Run::run_block(const Lines& own, const Lines& shared, size_t own_panel0, float* local_sums) {
  const Lines &a = plan_.own_is_a ? own : shared, &b = plan_.own_is_a ? shared : own;
  for (size_t j = 0; j < b.count; j += plan_.group_b) {
    for (size_t i = 0; i < a.count; i += plan_.group_a) {
      const GemmTile panels = {.m0 = i,
                               .m1 = std::min(a.count, i + plan_.group_a),
                               .n0 = j,
                               .n1 = std::min(b.count, j + plan_.group_b)};
      run_group(a, b, panels, plan_.own_is_a ? own_panel0 : 0, plan_.own_is_a ? 0 : own_panel0,
                local_sums);
    }
  }
}

// Tiles of panels [m0, m1) x [n0, n1), block of depth after block of depth: the panel of B and the
// sums stay in the nearest caches.
void Run::run_group(const Lines& a, const Lines& b, const GemmTile& t, size_t a_panel0,
                    size_t b_panel0, float* local_sums) {
  GemmTileJob job = {.a_row = a.in_place == nullptr ? 0 : a.in_place->row,
                     .b_step = b.in_place == nullptr ? kernels_.nr : b.in_place->row,
                     .c = c_};
  // Operands that are not packed here span all of K.
  const size_t a_k = a.panels.depth == depth_ ? 0 : k0_, b_k = b.panels.depth == depth_ ? 0 : k0_;
  const bool many_slabs = depth_ < k_;
  const size_t sum_size = 2 * kernels_.mr * kernels_.nr;
  for (size_t k = 0; k < depth_; k += kGemmDepth) {
    job.depth = std::min(kGemmDepth, depth_ - k);
    const bool first = k0_ + k == 0, last = k0_ + k + job.depth == k_;
    for (size_t j = t.n0; j < t.n1; ++j) {
      const size_t n = b.first(j);
      job.b = b.columns_at(j, b_k + k);
      job.columns = b.lines(j);
      if (c_.column_bias != nullptr) job.c.column_bias = c_.column_bias + n;
      float* sum =
          many_slabs ? slab_sums() + ((b_panel0 + j) * plan_.sum_rows + a_panel0 + t.m0) * sum_size
                     : local_sums + (j - t.n0) * plan_.group_a * sum_size;
      for (size_t i = t.m0; i < t.m1; i += job.panels, sum += job.panels * sum_size) {
        const size_t m = a.first(i);
        job.a = a.rows_at(i, a_k + k);
        job.rows = a.lines(i);
        // Panels of as many rows are one call.
        const size_t longer = a.panels.longer - std::min(a.panels.longer, a.panel0 + i);
        job.panels = std::min(t.m1 - i, longer > 0 ? longer : t.m1);
        if (job.panels > 1) job.a_next = static_cast<size_t>(a.rows_at(i + 1, a_k + k) - job.a);
        if (c_.row_bias != nullptr) job.c.row_bias = c_.row_bias + m;
        job.c.data = c_.data + m * c_.row + n;
        job.sum_in = first ? nullptr : sum;
        job.sum_out = last ? nullptr : sum;
        kernels_.tile(job);
      }
    }
  }
  if (epilogue_.finish == nullptr || k0_ + depth_ < k_) return;
  epilogue_.finish(epilogue_.context, {.m0 = a.first(t.m0),
                                       .m1 = a.first(t.m1 - 1) + a.lines(t.m1 - 1),
                                       .n0 = b.first(t.n0),
                                       .n1 = b.first(t.n1 - 1) + b.lines(t.n1 - 1)});
}

// ---- Products that are not packed ----

// Grains are 64 columns x 32 rows of a dot product, 512 columns x 32 rows of axpy: each some
// microseconds of work. A thread takes up to 4096 neighbouring columns of axpy together, because it
// reads long pieces of the rows of B faster: a column's sum does not depend on its neighbours, and
// grains begin at the same vectors whether they are taken together or not.
constexpr size_t kDotM = 32, kDotN = 64;
constexpr size_t kAxpyM = 32, kAxpyN = 4096, kAxpyLeastN = 512;
static_assert(kAxpyN % kAxpyLeastN == 0);

void run_direct(const GemmKernels& kernels, size_t threads, GemmForm form, const GemmShape& shape,
                const GemmMatrix& a, const GemmMatrix& b, const GemmTarget& c,
                const GemmEpilogue& epilogue) {
  const bool dot = form == GemmForm::kDot;
  const GemmDirect p = {.a = static_cast<const float*>(a.data),
                        .a_row = a.transposed ? 1 : a.row,
                        .a_k = a.transposed ? a.row : 1,
                        .b = static_cast<const float*>(b.data),
                        .b_row = b.row,
                        .k = shape.k};
  const auto kernel = dot ? kernels.dot : kernels.axpy;
  const size_t used = useful_threads(threads, gemm_nanoseconds(shape));
  const size_t tile_m = dot ? kDotM : kAxpyM;
  const size_t sharers = shape.m <= kAxpyM ? used : 1;
  const size_t piece = div_up(div_up(shape.n, sharers), kAxpyLeastN) * kAxpyLeastN;
  const size_t tile_n = dot ? kDotN : std::min(kAxpyN, piece);
  const auto run_tile = [&](const GemmTile& t) {
    kernel(p, c, t.m0, t.m1, t.n0, t.n1);
    if (epilogue.finish != nullptr) epilogue.finish(epilogue.context, t);
  };
  // The smallest products should not pay for the plan.
  if (shape.m <= tile_m && shape.n <= tile_n)
    return run_tile({.m0 = 0, .m1 = shape.m, .n0 = 0, .n1 = shape.n});
  const size_t tiles_n = div_up(shape.n, tile_n);
  parallel_for(used, tiles_n * div_up(shape.m, tile_m), [&](size_t t, size_t) {
    const size_t m = t / tiles_n * tile_m, n = t % tiles_n * tile_n;
    run_tile({.m0 = m,
              .m1 = std::min(shape.m, m + tile_m),
              .n0 = n,
              .n1 = std::min(shape.n, n + tile_n)});
  });
}

}  // namespace

size_t gemm_scratch(const GemmKernels& kernels, size_t threads, const GemmShape& shape,
                    const GemmOperand& a, const GemmOperand& b) {
  if (gemm_form(shape, a, b) != GemmForm::kPacked) return 0;
  // Rows of the operands may be another distance apart when the product runs, and packing pay then.
  return GemmPlan(kernels, shape, a, b, GemmPacking::kAlways).floats(threads);
}

void run_gemm(const GemmKernels& kernels, size_t threads, const GemmShape& shape,
              const GemmOperand& a, const GemmOperand& b, const GemmTarget& c,
              const GemmEpilogue& epilogue, float* scratch) {
  const GemmForm form = gemm_form(shape, a, b);
  if (form != GemmForm::kPacked)
    return run_direct(kernels, threads, form, shape, a.matrix, b.matrix, c, epilogue);
  Run(kernels, threads, shape, a, b, c, epilogue, scratch).run();
}

void run_gemm_batch(const GemmKernels& kernels, size_t threads, size_t count,
                    const GemmShape& shape, const GemmOperand& a, const GemmOperand& b,
                    const GemmTarget& c, const GemmSteps& steps, float* scratch) {
  const size_t one = gemm_scratch(kernels, 1, shape, a, b);
  const auto moved = [](const GemmOperand& from, size_t values) {
    GemmOperand to = from;
    to.matrix.data =
        static_cast<const char*>(from.matrix.data) + values * type_bytes(from.matrix.type);
    return to;
  };
  const double work = static_cast<double>(count) * gemm_nanoseconds(shape);
  parallel_for(useful_threads(threads, work), count, [&](size_t i, size_t worker) {
    GemmTarget target = c;
    target.data += i * steps.c;
    run_gemm(kernels, 1, shape, moved(a, i * steps.a), moved(b, i * steps.b), target, {},
             scratch + worker * one);
  });
}

}  // namespace bnns::impl
