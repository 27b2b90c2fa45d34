// The op: working memory, gamma and beta in the form the kernels read, moving statistics, and the
// choice among the three ways through the batch.
#include "ops/normalization/normalization.h"

#include <cstring>

#include "ops/normalization/passes.h"

namespace bnns::impl {
namespace {

using namespace normalization;

template <class T>
void grow(const Memory& memory, Array<T>& array, size_t size) {
  if (array.size() < size) array = Array<T>(memory, size);
}

// The same, preserving the contents.
template <class T>
void grow_keeping(const Memory& memory, Array<T>& array, size_t size) {
  if (array.size() >= size) return;
  Array<T> larger(memory, size);
  if (array) std::memcpy(larger.data(), array.data(), array.size() * sizeof(T));
  array = std::move(larger);
}

// Offset of the cached values from the start of their allocation. Large tensors tend to start at a
// page boundary, and at equal offsets in a page their lines compete for the same sets of the
// first-level cache; this would cost a tenth of the time of layer normalization of rows of one
// page.
constexpr size_t kCacheOffset = 512;

size_t working_size(const NormalizationProblem& p) {
  return by_element(p) ? p.count() : p.channels;
}

// Index of the value that a parameter has for the element at (w, h, c).
size_t parameter_index(const AffineParameter& p, size_t w, size_t h, size_t c) {
  const size_t i = p.extent[0] == 1 ? 0 : w, j = p.extent[1] == 1 ? 0 : h,
               k = p.extent[2] == 1 ? 0 : c;
  return i + p.extent[0] * (j + p.extent[1] * k);
}

bool is_whole(const NormalizationProblem& p, const AffineParameter& parameter) {
  return parameter.view.count == working_size(p);
}

View line(float* data, size_t count) {
  View view;
  view.data = data;
  view.rank = 1;
  view.extent[0] = view.count = view.span = count;
  view.stride[0] = 1;
  return view;
}

// Calls body(first, values, n) for blocks of a vector of the client, as floats; the block is
// written back if kWrite.
template <bool kWrite, class Body>
void for_values(const ConvertKernels& convert, const View& view, const Body& body) {
  alignas(64) float values[kBlock];
  for (size_t first = 0; first < view.count; first += kBlock) {
    const size_t n = std::min(kBlock, view.count - first);
    read_values(convert, view, first, n, values);
    body(first, values, n);
    if constexpr (kWrite) write_values(convert, view, first, n, values);
  }
}

}  // namespace

NormalizationOp::NormalizationOp(const Memory& memory, size_t threads,
                                 const NormalizationProblem& problem, bool use_client_pointers)
    : memory_(memory), threads_(threads), problem_(problem), scratch_(memory) {
  const auto own = [&](const AffineParameter& parameter, Array<float>& to, float absent) {
    const bool given = parameter.view.data != nullptr;
    if (given && use_client_pointers) return;
    to = Array<float>(memory, working_size(problem));
    if (given) {
      expand(parameter, to.data());
    } else {
      std::fill_n(to.data(), to.size(), absent);
    }
  };
  own(problem.gamma, own_gamma_, 1);
  own(problem.beta, own_beta_, 0);
  const auto own_moving = [&](View& view, Array<float>& to) {
    if (view.data == nullptr || use_client_pointers) return;
    to = Array<float>(memory, problem.channels);
    read_values(*convert_, view, 0, problem.channels, to.data());
    view = line(to.data(), problem.channels);
  };
  own_moving(problem_.moving_mean, own_mean_);
  own_moving(problem_.moving_variance, own_variance_);
}

// Expands in place from the back, so that no unread value is overwritten.
void NormalizationOp::expand(const AffineParameter& parameter, float* to) const {
  read_values(*convert_, parameter.view, 0, parameter.view.count, to);
  if (is_whole(problem_, parameter)) return;
  for (size_t c = problem_.channels; c-- > 0;) {
    for (size_t h = problem_.height; h-- > 0;) {
      float* row = to + (c * problem_.height + h) * problem_.width;
      for (size_t w = problem_.width; w-- > 0;) row[w] = to[parameter_index(parameter, w, h, c)];
    }
  }
}

// Whether the kernels can read the parameter directly in the client's memory.
bool NormalizationOp::fits(const AffineParameter& parameter) const {
  const View& v = parameter.view;
  return is_whole(problem_, parameter) && v.is_float() && v.rank == 1 &&
         (v.stride[0] == 1 || v.count == 1);
}

const float* NormalizationOp::working_form(const AffineParameter& parameter,
                                           const Array<float>& own,
                                           const Array<float>& buffer) const {
  if (own) return own.data();
  if (fits(parameter)) return static_cast<const float*>(parameter.view.data);
  expand(parameter, buffer.data());
  return buffer.data();
}

void NormalizationOp::prepare(Scratch& s, size_t batch, bool backward) const {
  const size_t count = problem_.count(), channels = problem_.channels;
  const GroupPlan plan = plan_groups(problem_, batch);
  const size_t parts = plan_parts(batch).parts, pieces = plan.groups * plan.pieces();
  grow(memory_, s.mean, plan.groups);
  grow(memory_, s.variance, plan.groups);
  if (!own_gamma_ && !fits(problem_.gamma)) grow(memory_, s.gamma, working_size(problem_));
  if (!own_beta_ && !fits(problem_.beta)) grow(memory_, s.beta, working_size(problem_));
  if (by_column(problem_)) grow(memory_, s.column_coefficients, 3 * count);
  if (!backward) {
    grow(memory_, s.inverse, plan.groups);
    if (by_column(problem_)) {
      grow(memory_, s.moments, parts * count);
    } else {
      grow(memory_, s.moments, most_split_pieces(plan, threads_));
    }
    return;
  }
  if (by_column(problem_)) {
    grow(memory_, s.sums, 2 * parts * count);
    grow(memory_, s.affine_sums, 2 * channels);
  } else if (by_element(problem_) && count <= kSmallSample) {
    const SamplePlan samples = plan_samples(batch, count);
    grow(memory_, s.affine_sums, 2 * count);
    grow(memory_, s.block_sums, samples.blocks * samples.step);
  } else {
    grow(memory_, s.sums, 2 * pieces);
    grow(memory_, s.affine_sums, 2 * working_size(problem_));
  }
}

void NormalizationOp::prepare_cache(size_t batch) {
  const size_t groups = plan_groups(problem_, batch).groups;
  const size_t values = checked_mul(batch, problem_.count(), "the cache of training");
  grow_keeping(memory_, training_.buffers.normalized,
               checked_add(values, kCacheOffset, "the cache of training"));
  grow_keeping(memory_, training_.buffers.inverse, groups);
}

float* NormalizationOp::input_of_training(size_t batch) {
  prepare_cache(batch);
  return training_.buffers.normalized.data() + kCacheOffset;
}

bool NormalizationOp::fold(float* scale, float* shift) {
  if (problem_.moving_mean.data == nullptr || problem_.moving_variance.data == nullptr)
    return false;
  ScratchPool<Scratch>::Borrowed s = scratch_.take();
  prepare(*s, 1, false);
  load_moving(s->mean.data(), s->variance.data(), 1);
  const float* gamma = working_form(problem_.gamma, own_gamma_, s->gamma);
  const float* beta = working_form(problem_.beta, own_beta_, s->beta);
  const size_t step = by_element(problem_) ? problem_.plane() : 1;
  for (size_t c = 0; c < problem_.channels; ++c) {
    const double factor =
        double{gamma[c * step]} * inverse_deviation(s->variance[c], problem_.epsilon);
    scale[c] = static_cast<float>(factor);
    shift[c] = static_cast<float>(double{beta[c * step]} - s->mean[c] * factor);
  }
  return true;
}

void NormalizationOp::reserve(size_t batch, size_t callers) {
  if (batch == 0) return;
  prepare_cache(batch);
  scratch_.reserve(callers, [&](Scratch& s) {
    prepare(s, batch, false);
    prepare(s, batch, true);
  });
}

size_t NormalizationOp::groups(size_t batch) const {
  return plan_groups(problem_, batch).groups;
}

void NormalizationOp::statistics(size_t batch, const View& x, Moments* moments) {
  ScratchPool<Scratch>::Borrowed s = scratch_.take();
  prepare(*s, batch, false);
  const ForwardPass pass = {{.problem = problem_,
                             .kernels = *kernels_,
                             .convert = *convert_,
                             .threads = threads_,
                             .batch = batch},
                            Operands<1>({Operand{x, Operand::kRead}}),
                            Operands<2>({Operand{x, Operand::kRead}, Operand{x, Operand::kRead}}),
                            nullptr,
                            false,
                            nullptr,
                            nullptr,
                            s->moments.data(),
                            nullptr};
  by_column(problem_) ? statistics_by_column(pass, moments) : statistics_by_group(pass, moments);
}

// Puts statistics that are known before the pass into the working memory; false if there are none.
bool NormalizationOp::load_statistics(Scratch& s, size_t batch, bool training,
                                      const Moments* given) {
  if (given == nullptr) return !training && load_moving(s.mean.data(), s.variance.data(), batch);
  for (size_t group = 0; group < groups(batch); ++group) {
    s.mean[group] = given[group].mean;
    s.variance[group] = given[group].squares / given[group].count;
  }
  return true;
}

void NormalizationOp::apply(size_t batch, const View& x, const View& y, bool training,
                            const Moments* moments) {
  ScratchPool<Scratch>::Borrowed s = scratch_.take();
  prepare(*s, batch, false);
  if (training) prepare_cache(batch);
  const bool known = load_statistics(*s, batch, training, moments);
  const ForwardPass pass = {
      {.problem = problem_,
       .kernels = *kernels_,
       .convert = *convert_,
       .threads = threads_,
       .batch = batch,
       .gamma = working_form(problem_.gamma, own_gamma_, s->gamma),
       .beta = working_form(problem_.beta, own_beta_, s->beta),
       .inverse = training ? training_.buffers.inverse.data() : s->inverse.data()},
      Operands<1>({Operand{x, Operand::kRead}}),
      Operands<2>({Operand{x, Operand::kRead}, Operand{y, Operand::kWrite}}),
      training ? training_.buffers.normalized.data() + kCacheOffset : nullptr,
      known,
      s->mean.data(),
      s->variance.data(),
      s->moments.data(),
      s->column_coefficients.data()};
  if (known) {
    for (size_t group = 0; group < plan_groups(problem_, batch).groups; ++group)
      pass.inverse[group] = inverse_deviation(pass.variance[group], problem_.epsilon);
  }
  by_column(problem_) ? forward_by_column(pass) : forward_by_group(pass);
  if (!training) return;
  update_moving(s->mean.data(), s->variance.data(), batch);
  training_.remember(batch);
}

NormalizationOp::Sums NormalizationOp::backward_to_sums(const Gradients& g) {
  ScratchPool<Scratch>::Borrowed s = scratch_.take();
  prepare(*s, training_.batch(), true);
  const Operand dy = {g.dy, Operand::kRead};
  const Operand y = {g.y.data == nullptr ? g.dy : g.y, Operand::kRead};
  const Operand dx = {g.dx, g.dx_accumulate ? Operand::kUpdate : Operand::kWrite};
  const BackwardPass pass = {{.problem = problem_,
                              .kernels = *kernels_,
                              .convert = *convert_,
                              .threads = threads_,
                              .batch = training_.batch(),
                              .gamma = working_form(problem_.gamma, own_gamma_, s->gamma),
                              .beta = nullptr,
                              .inverse = training_.buffers.inverse.data()},
                             Operands<2>({dy, y}),
                             Operands<3>({dy, y, dx}),
                             g.dx.data != nullptr,
                             g.dbeta.data != nullptr || g.dgamma.data != nullptr,
                             g.dx_accumulate,
                             training_.buffers.normalized.data() + kCacheOffset,
                             s->sums.data(),
                             s->affine_sums.data(),
                             s->block_sums.data(),
                             s->column_coefficients.data(),
                             s->mean.data(),
                             s->variance.data()};
  if (by_column(problem_)) {
    backward_by_column(pass);
  } else if (!by_element(problem_)) {
    backward_by_group(pass);
  } else if (problem_.count() <= kSmallSample) {
    backward_by_sample(pass);
  } else {
    backward_by_large_sample(pass);
  }
  return s;
}

void NormalizationOp::store_sums(const Gradients& g, const Sums& s) const {
  const bool by_channel = by_column(problem_) || !by_element(problem_);
  const size_t count = by_channel ? problem_.channels : problem_.count();
  double* sums = s->affine_sums.data();
  if (g.dbeta.data != nullptr) store(g.dbeta, g.dbeta_accumulate, problem_.beta, sums);
  if (g.dgamma.data != nullptr) {
    store(g.dgamma, g.dgamma_accumulate, problem_.gamma, sums + count);
  }
}

// Sums the elements that share a parameter value in place from the front, so that no unread sum is
// overwritten.
void NormalizationOp::store(const View& to, bool accumulate, const AffineParameter& like,
                            double* sums) const {
  const bool by_channel = by_column(problem_) || !by_element(problem_);
  if (!by_channel && like.view.count != problem_.count()) {
    const double* from = sums;
    for (size_t c = 0; c < problem_.channels; ++c) {
      for (size_t h = 0; h < problem_.height; ++h) {
        for (size_t w = 0; w < problem_.width; ++w) {
          const bool first = (like.extent[0] != 1 || w == 0) && (like.extent[1] != 1 || h == 0) &&
                             (like.extent[2] != 1 || c == 0);
          double& sum = sums[parameter_index(like, w, h, c)];
          sum = (first ? 0 : sum) + *from++;
        }
      }
    }
  }
  for_values<true>(*convert_, to, [&](size_t first, float* values, size_t n) {
    for (size_t i = 0; i < n; ++i) {
      values[i] = (accumulate ? values[i] : 0) + static_cast<float>(sums[first + i]);
    }
  });
}

// ---- Moving statistics ----

// Loads the moving statistics of every group; returns false if those of the batch are to be used.
bool NormalizationOp::load_moving(double* mean, double* variance, size_t batch) {
  const View &means = problem_.moving_mean, &variances = problem_.moving_variance;
  if (means.data == nullptr || variances.data == nullptr) return false;
  const std::lock_guard lock(moving_mutex_);
  const size_t channels = problem_.channels, groups = plan_groups(problem_, batch).groups;
  const auto load = [&](const View& view, double* to) {
    for_values<false>(*convert_, view, [&](size_t first, const float* values, size_t n) {
      for (size_t i = 0; i < n; ++i) to[first + i] = double{values[i]};
    });
    for (size_t group = channels; group < groups; ++group) to[group] = to[group - channels];
  };
  load(means, mean);
  load(variances, variance);
  return true;
}

// moving = momentum moving + (1 - momentum) current. For instance normalization `current` is the
// mean over the samples.
void NormalizationOp::update_moving(const double* mean, const double* variance, size_t batch) {
  const size_t channels = problem_.channels, groups = plan_groups(problem_, batch).groups;
  const double momentum = double{problem_.momentum},
               samples = static_cast<double>(groups / channels);
  const auto update = [&](const View& view, const double* current) {
    if (view.data == nullptr) return;
    for_values<true>(*convert_, view, [&](size_t first, float* values, size_t n) {
      for (size_t i = 0; i < n; ++i) {
        double sum = 0;
        for (size_t group = first + i; group < groups; group += channels) sum += current[group];
        const double old = momentum == 0 ? 0 : momentum * double{values[i]};
        values[i] = static_cast<float>(old + (1 - momentum) * (sum / samples));
      }
    });
  };
  if (problem_.moving_mean.data == nullptr && problem_.moving_variance.data == nullptr) return;
  const std::lock_guard lock(moving_mutex_);
  update(problem_.moving_mean, mean);
  update(problem_.moving_variance, variance);
}

}  // namespace bnns::impl
