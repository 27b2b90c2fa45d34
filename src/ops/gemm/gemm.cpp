// How a product runs: what is packed when, and which tiles a grain computes.
//   One operand is shared: packed before the grains start, in slabs of kSlab floats (or packed for
//   good). The other is the grains' own: each packs its block of lines; if there are too few
//   blocks to share out, that operand is packed before, too, and grains are groups of tiles.
//   K beyond kSlabDepth is summed slab after slab in tiles of (hi, lo).
#include "ops/gemm/gemm.h"

#include <algorithm>

#include "core/parallel.h"
#include "ops/activation/fused.h"

namespace bnns::impl {
namespace {

// A part of C: rows [m0, m1) x columns [n0, n1).
struct Tile {
  size_t m0, m1, n0, n1;
};

// Called once on every part of C when it is complete and still in the cache; from several threads
// at once, the parts do not overlap.
void finish_tile(const GemmTarget& c, const Tile& t) {
  if (c.epilogue.activation == nullptr) return;
  c.epilogue.activation->forward({c.data + t.m0 * c.row + t.n0, c.row}, t.m1 - t.m0, t.n1 - t.n0);
}

// Lines of an operand that lie packed: panels [panel0, panel0 + count), their first line moved. Or
// lines in their matrix, cut as if they were packed.
struct Lines {
  GemmPanels panels;
  size_t line0, panel0, count;
  const GemmSource* in_place = nullptr;

  size_t first(size_t p) const { return line0 + panels.first(panel0 + p); }
  size_t lines(size_t p) const { return panels.count(panel0 + p); }
  // k counts from the first step that lies here.
  const float* rows_at(size_t p, size_t k) const {
    return in_place == nullptr ? panels.at(panel0 + p, k)
                               : in_place->floats() + first(p) * row() + k;
  }
  const float* columns_at(size_t p, size_t k) const {
    return in_place == nullptr ? panels.at(panel0 + p, k)
                               : in_place->floats() + k * row() + first(p);
  }
  size_t row() const { return in_place->operand.row; }
};

class Run {
 public:
  Run(const GemmKernels& kernels, size_t threads, const GemmProblem& problem, const GemmPlan& plan,
      const GemmData& data, const GemmTarget& c, float* scratch)
      : kernels_(kernels),
        plan_(plan),
        threads_(threads),
        k_(problem.shape.k),
        own_(source(problem, data, plan.own_is_a)),
        shared_(source(problem, data, !plan.own_is_a)),
        c_(c),
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

  static GemmSource source(const GemmProblem& problem, const GemmData& data, bool is_a) {
    if (is_a) return {.side = GemmSide::kA, .operand = problem.a, .data = data.a};
    return {.side = GemmSide::kB, .operand = problem.b, .data = data.b};
  }

  void run_slab(size_t shared0, size_t own0, size_t k0);
  Lines ready(const GemmSource& source, size_t line0, size_t line1, float* memory) const;
  void run_block(const Lines& own, const Lines& shared, size_t own_panel0, float* local_sums);
  void run_group(const Lines& a, const Lines& b, const Tile& panels, size_t a_panel0,
                 size_t b_panel0, float* local_sums);

  const GemmKernels& kernels_;
  const GemmPlan& plan_;
  const size_t threads_;
  const size_t k_;
  const GemmSource own_, shared_;
  const GemmTarget& c_;
  float* const memory_;
  size_t k0_ = 0, depth_ = 0;  // of the slab at work
};

// Panels of the lines for the slab's depth: in their matrix, lying packed, or packed here by all
// threads.
Lines Run::ready(const GemmSource& source, size_t line0, size_t line1, float* memory) const {
  const GemmSide side = source.side;
  if (side == GemmSide::kA ? plan_.a_in_place : plan_.b_in_place) {
    const GemmPanels p(nullptr, kernels_, side, line1 - line0, k_);
    return {.panels = p, .line0 = line0, .panel0 = 0, .count = p.panels, .in_place = &source};
  }
  if (source.operand.packed != nullptr) {
    const GemmPanels& p = source.operand.packed->panels();
    // Slabs of a packed operand are counted in whole panels, at most `width` lines each.
    const size_t panel0 = line0 / p.width;
    return {.panels = p,
            .line0 = 0,
            .panel0 = panel0,
            .count = std::min(p.panels, div_up(line1, p.width)) - panel0};
  }
  const GemmPanels p(memory, kernels_, side, line1 - line0, depth_);
  parallel_for(threads_, pack_groups(p),
               [&](size_t group, size_t) { pack_group(kernels_, source, p, group, line0, k0_); });
  return {.panels = p, .line0 = line0, .panel0 = 0, .count = p.panels};
}

void Run::run_slab(size_t shared0, size_t own0, size_t k0) {
  k0_ = k0;
  depth_ = std::min(plan_.depth_slab, k_ - k0);
  const size_t shared1 = std::min(plan_.shared_lines, shared0 + plan_.shared_slab);
  const size_t own1 = std::min(plan_.own_lines, own0 + plan_.own_slab);
  const Lines shared = ready(shared_, shared0, shared1, shared_memory());
  if (plan_.local) {
    const size_t blocks = div_up(own1 - own0, plan_.block);
    parallel_for(threads_, blocks, [&](size_t block, size_t worker) {
      const size_t line0 = own0 + block * plan_.block;
      const GemmPanels p(worker_memory(worker), kernels_, own_.side,
                         std::min(plan_.block, own1 - line0), depth_);
      for (size_t group = 0; group < pack_groups(p); ++group)
        pack_group(kernels_, own_, p, group, line0, k0_);
      const Lines own = {.panels = p, .line0 = line0, .panel0 = 0, .count = p.panels};
      run_block(own, shared, block * (plan_.block / p.width),
                worker_memory(worker) + plan_.block_floats);
    });
    return;
  }
  const Lines own = ready(own_, own0, own1, own_memory());
  const Lines &a = plan_.own_is_a ? own : shared, &b = plan_.own_is_a ? shared : own;
  const size_t groups_b = div_up(b.count, plan_.group_b);
  parallel_for(threads_, groups_b * div_up(a.count, plan_.group_a), [&](size_t g, size_t worker) {
    const size_t i = g / groups_b * plan_.group_a, j = g % groups_b * plan_.group_b;
    const Tile panels = {.m0 = i,
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
      const Tile panels = {.m0 = i,
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
void Run::run_group(const Lines& a, const Lines& b, const Tile& t, size_t a_panel0, size_t b_panel0,
                    float* local_sums) {
  GemmTileJob job = {.a_row = a.in_place == nullptr ? 0 : a.row(),
                     .b_step = b.in_place == nullptr ? kernels_.nr : b.row(),
                     .c = c_};
  // Operands that are not packed here span all of K.
  const size_t a_k = a.panels.depth == depth_ ? 0 : k0_, b_k = b.panels.depth == depth_ ? 0 : k0_;
  const bool many_slabs = depth_ < k_;
  // Without sums to keep there is no memory for them, which may be no memory at all.
  const bool keeps_sums = many_slabs || plan_.group_floats > 0;
  const size_t sum_size = keeps_sums ? 2 * kernels_.mr * kernels_.nr : 0;
  for (size_t k = 0; k < depth_; k += kGemmDepth) {
    job.depth = std::min(kGemmDepth, depth_ - k);
    const bool first = k0_ + k == 0, last = k0_ + k + job.depth == k_;
    for (size_t j = t.n0; j < t.n1; ++j) {
      const size_t n = b.first(j);
      job.b = b.columns_at(j, b_k + k);
      job.columns = b.lines(j);
      job.c.epilogue.column = c_.epilogue.column.from(n);
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
        job.c.epilogue.row = c_.epilogue.row.from(m);
        job.c.data = c_.data + m * c_.row + n;
        job.sum_in = first ? nullptr : sum;
        job.sum_out = last ? nullptr : sum;
        kernels_.tile(job);
      }
    }
  }
  if (k0_ + depth_ < k_) return;
  finish_tile(c_, {.m0 = a.first(t.m0),
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

void run_direct(const GemmKernels& kernels, size_t threads, bool dot, const GemmProblem& problem,
                const GemmData& data, const GemmTarget& c) {
  const GemmShape& shape = problem.shape;
  const GemmDirect p = {.a = static_cast<const float*>(data.a),
                        .a_row = problem.a.transposed ? 1 : problem.a.row,
                        .a_k = problem.a.transposed ? problem.a.row : 1,
                        .b = static_cast<const float*>(data.b),
                        .b_row = problem.b.row,
                        .k = shape.k};
  const auto kernel = dot ? kernels.dot : kernels.axpy;
  const size_t tile_m = dot ? kDotM : kAxpyM;
  const size_t sharers = shape.m <= kAxpyM ? threads : 1;
  const size_t piece = div_up(div_up(shape.n, sharers), kAxpyLeastN) * kAxpyLeastN;
  const size_t tile_n = dot ? kDotN : std::min(kAxpyN, piece);
  const auto run_tile = [&](const Tile& t) {
    kernel(p, c, t.m0, t.m1, t.n0, t.n1);
    finish_tile(c, t);
  };
  // The smallest products should not pay for the plan.
  if (shape.m <= tile_m && shape.n <= tile_n)
    return run_tile({.m0 = 0, .m1 = shape.m, .n0 = 0, .n1 = shape.n});
  const size_t tiles_n = div_up(shape.n, tile_n);
  parallel_for(threads, tiles_n * div_up(shape.m, tile_m), [&](size_t t, size_t) {
    const size_t m = t / tiles_n * tile_m, n = t % tiles_n * tile_n;
    run_tile({.m0 = m,
              .m1 = std::min(shape.m, m + tile_m),
              .n0 = n,
              .n1 = std::min(shape.n, n + tile_n)});
  });
}

// Products of a batch: one thread computes those of a grain, some 10 us of work. Products that need
// more than 4 MB, and those beyond 20 us of which there are fewer than each has grains of its own,
// use all threads one after the other.
constexpr double kGrainNanoseconds = 10000;
constexpr size_t kMostFloats = size_t{1} << 20, kManyProducts = 16;
// About the size of a grain of one product.
constexpr size_t kGrainRows = 120, kGrainColumns = 64;

}  // namespace

GemmOp::GemmOp(const GemmKernels& kernels, size_t threads, const GemmProblem& problem)
    : kernels_(&kernels),
      threads_(threads),
      problem_(problem),
      nanoseconds_(gemm_nanoseconds(problem.shape)),
      form_(gemm_form(problem.shape, problem.a, problem.b)) {
  if (form_ == GemmForm::kPacked) plan_.emplace(kernels, problem.shape, problem.a, problem.b);
}

bool GemmOp::is_small() const {
  return !plan_ || plan_->floats(1) <= kMostFloats;
}

size_t GemmOp::scratch(size_t count) const {
  if (!plan_) return 0;
  const size_t inside = plan_->floats(useful_threads(threads_, nanoseconds_));
  return count > 1 && is_small() ? std::max(inside, threads_ * plan_->floats(1)) : inside;
}

void GemmOp::run(const GemmData& data, float* scratch) const {
  run(useful_threads(threads_, nanoseconds_), data, scratch);
}

void GemmOp::run(size_t threads, const GemmData& data, float* scratch) const {
  GemmTarget c = {.data = data.c, .row = problem_.c_row, .epilogue = problem_.epilogue};
  c.epilogue.row = data.row;
  c.epilogue.column = data.column;
  c.epilogue.accumulate = data.accumulate;
  if (!plan_) return run_direct(*kernels_, threads, form_ == GemmForm::kDot, problem_, data, c);
  Run(*kernels_, threads, problem_, *plan_, data, c, scratch).run();
}

void GemmOp::run_batch(size_t count, const GemmSteps& steps, const GemmData& data,
                       float* scratch) const {
  const auto moved = [](auto* from, size_t values) {
    return from == nullptr ? nullptr : from + values;
  };
  const auto operand = [&](const GemmOperand& how, const void* from, size_t values) {
    return moved(static_cast<const char*>(from), values * type_bytes(how.type));
  };
  const auto product = [&](size_t i) -> GemmData {
    return {.a = operand(problem_.a, data.a, i * steps.a),
            .b = operand(problem_.b, data.b, i * steps.b),
            .c = data.c + i * steps.c,
            .row = data.row.from(i * steps.row),
            .column = data.column.from(i * steps.column),
            .accumulate = data.accumulate};
  };
  const size_t grains =
      div_up(problem_.shape.m, kGrainRows) * div_up(problem_.shape.n, kGrainColumns);
  const bool alone =
      is_small() && (nanoseconds_ < kSerialNanoseconds || count >= std::min(kManyProducts, grains));
  if (!alone) {
    for (size_t i = 0; i < count; ++i) run(product(i), scratch);
    return;
  }
  const size_t one = plan_ ? plan_->floats(1) : 0;
  const auto grain = static_cast<size_t>(kGrainNanoseconds / (nanoseconds_ + 100)) + 1;
  const double work = static_cast<double>(count) * nanoseconds_;
  parallel_for(useful_threads(threads_, work), div_up(count, grain), [&](size_t g, size_t worker) {
    for (size_t i = g * grain; i < std::min(count, (g + 1) * grain); ++i)
      run(1, product(i), scratch + worker * one);
  });
}

}  // namespace bnns::impl
