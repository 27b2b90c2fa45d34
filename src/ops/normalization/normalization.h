// Batch, instance, layer and group normalization. The values that are normalized together form a
// group S (a channel group, as group normalization has it, is one way of making such a group). With
// the biased variance v of a group and r = 1 / sqrt(v + epsilon):
//   forward    k = (x - mean) r,  y = act(gamma k + beta)
//   backward   g = dy act'(y),  dbeta = sum g,  dgamma = sum g k,
//              dx = r (h - mean_S(h) - k mean_S(h k)),  h = gamma g
// Training caches k and r for the backward pass. Statistics are sums of deviations from the mean of
// the first values of each block of 2048; blocks are joined in double by the pairwise formula, in
// order, and the mean is subtracted as two floats, so that a mean of 1e4 with a variance of 1 costs
// no digits at any size. The work is parallel over groups, or over pieces of groups where there are
// few of them; the bits are the same.
#pragma once

#include <cstddef>
#include <mutex>

#include "core/scratch_pool.h"
#include "core/training_state.h"
#include "core/memory.h"
#include "ops/activation/fused.h"
#include "ops/convert/convert.h"
#include "ops/normalization/kernels.h"

namespace bnns::impl {

enum class NormalizationKind { kBatch, kInstance, kLayer, kGroup };

// gamma or beta. Its elements in memory order are (width, height, channel); each extent is 1
// (broadcast) or that of the sample.
struct AffineParameter {
  View view;  // data NULL: absent
  size_t extent[3] = {1, 1, 1};
};

struct NormalizationProblem {
  NormalizationKind kind = NormalizationKind::kBatch;
  size_t width = 1, height = 1, channels = 1;
  size_t row = 1;  // elements of one sample that belong to one group
  float epsilon = 0, momentum = 0;
  AffineParameter beta, gamma;
  View moving_mean, moving_variance;  // collapsed Float32; data NULL: absent
  FusedActivation activation;

  size_t plane() const { return width * height; }
  size_t count() const { return plane() * channels; }
};

class NormalizationOp {
 public:
  NormalizationOp(const Memory& memory, size_t threads, const NormalizationProblem& problem,
                  bool use_client_pointers);

  // x and y are views of the whole batch; y may be x. Training fills the cache and therefore allows
  // one caller at a time.
  void forward(size_t batch, const View& x, const View& y, bool training) {
    apply(batch, x, y, training, nullptr);
  }

  // The two steps of forward() where the statistics are those of the batch: the moments of all
  // groups, and the map with moments that may come from elsewhere, such as the layer that computed
  // x. NULL: those that forward() uses.
  size_t groups(size_t batch) const;
  void statistics(size_t batch, const View& x, Moments* moments);
  void apply(size_t batch, const View& x, const View& y, bool training, const Moments* moments);

  // Where x of a training pass may lie: in the cache itself, where apply() replaces it by k. Packed
  // floats.
  float* input_of_training(size_t batch);
  // With moving statistics gamma k + beta is scale x + shift by channel: sets these, and returns
  // true. False if there are none.
  bool fold(float* scale, float* shift);

  struct Gradients {
    View y;   // of the batch; data NULL for the identity
    View dy;  // of the batch
    View dx;  // of the batch; here and below, data NULL: not wanted
    View dbeta, dgamma;
    bool dx_accumulate, dbeta_accumulate, dgamma_accumulate;
  };
  // Uses the cache of the last training pass, and the batch size of that pass; one caller at a
  // time.
  void backward(const Gradients& gradients) { store_sums(gradients, backward_to_sums(gradients)); }

  // Working memory of one caller; it grows to the largest batch seen.
  struct Scratch {
    Array<double> mean, variance;  // by group
    Array<double> inverse;         // r by group, outside training
    Array<Moments> moments;        // by piece of a group, or by part and column
    Array<double> sums;            // of g and of g k; by piece, or by part and column
    Array<double> affine_sums;     // dbeta and dgamma
    Array<float> block_sums;       // dbeta and dgamma of kFlush samples each
    Array<float> gamma, beta, column_coefficients;
  };

  // The two steps of backward(). The first writes dx and sums dbeta and dgamma, the second stores
  // these. A filter that goes on with dx can fail between them and has not written the others.
  using Sums = ScratchPool<Scratch>::Borrowed;
  [[nodiscard]] Sums backward_to_sums(const Gradients& gradients);
  void store_sums(const Gradients& gradients, const Sums& sums) const;

  // Allocates memory for training on batches of this size, and working memory for `callers`
  // callers.
  void reserve(size_t batch, size_t callers);

  // What the last training pass left for backward().
  struct Kept {
    Array<float> normalized;
    Array<double> inverse;
  };
  TrainingState<Kept>& training() { return training_; }

 private:
  void prepare(Scratch& scratch, size_t batch, bool backward) const;
  bool load_statistics(Scratch& scratch, size_t batch, bool training, const Moments* given);
  void prepare_cache(size_t batch);
  bool fits(const AffineParameter& parameter) const;
  void expand(const AffineParameter& parameter, float* to) const;
  const float* working_form(const AffineParameter& parameter, const Array<float>& own,
                            const Array<float>& buffer) const;
  bool load_moving(double* mean, double* variance, size_t batch);
  void update_moving(const double* mean, const double* variance, size_t batch);
  void store(const View& to, bool accumulate, const AffineParameter& like, double* sums) const;

  Memory memory_;
  size_t threads_;
  NormalizationProblem problem_;
  const NormalizationKernels* kernels_ = normalization_kernels();
  const ConvertKernels* convert_ = convert_kernels();
  // By channel or element; empty where they are read from the client at each call.
  Array<float> own_gamma_, own_beta_;
  Array<float> own_mean_, own_variance_;
  std::mutex moving_mutex_;  // inference reads the moving statistics while training writes them
  TrainingState<Kept> training_;
  ScratchPool<Scratch> scratch_;
};

}  // namespace bnns::impl
