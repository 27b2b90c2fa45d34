// Attention: what the spec cannot see, that is dropout, rows without keys, huge scores, memory.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "support/call_builder.h"

namespace bnns::test {
namespace {

using Floats = std::vector<float>;

// One head whose projections are the identity, so that the output is drop(P) value.
struct Plain {
  static constexpr size_t kQueries = 40, kSize = 48;  // keys, columns of everything

  Floats identity = Floats(kSize * kSize), q = noise(kQueries), k = noise(kSize), v = identity;
  size_t batch = 1;
  BNNSLayerParametersMultiheadAttention layer = {};
  BNNSFilterParameters options = {};

  static Floats noise(size_t rows) {
    Floats x(rows * kSize);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(std::sin(1.7 * i + rows));
    return x;
  }
  Plain() {
    for (size_t i = 0; i < kSize; ++i) identity[i * kSize + i] = 1;
    v = identity;
    for (auto* role : {&layer.query, &layer.key, &layer.value, &layer.output}) {
      const size_t rows = role == &layer.query || role == &layer.output ? kQueries : kSize;
      role->target_desc = matrix_of(kSize, rows);
      role->weights = array(BNNSDataLayoutMHA_DHK, {kSize, kSize, 1}, identity.data());
    }
    layer.output.weights = matrix_of(kSize, kSize, identity.data());
  }
  Filter make() const { return Filter(BNNSFilterCreateLayerMultiheadAttention(&layer, &options)); }

  int forward(const Filter& f, Floats& out, std::vector<char>* cache = nullptr,
              const BNNSNDArrayDescriptor* mask = nullptr,
              const BNNSNDArrayDescriptor* add = nullptr) const {
    out.assign(kQueries * kSize, -99);
    size_t size = 0;
    if (cache != nullptr) {
      EXPECT_EQ(call(f, out, &size, nullptr, mask, add), 0);
      EXPECT_EQ(out[0], -99);
      cache->assign(size, 'x');
    }
    return call(f, out, cache == nullptr ? nullptr : &size,
                cache == nullptr ? nullptr : cache->data(), mask, add);
  }
  int call(const Filter& f, Floats& out, size_t* size, void* cache,
           const BNNSNDArrayDescriptor* mask, const BNNSNDArrayDescriptor* add) const {
    return BNNSApplyMultiheadAttention(f.get(), 1, q.data(), 0, k.data(), 0, mask, 0, v.data(), 0,
                                       out.data(), 0, add, size, cache, nullptr, nullptr);
  }
  struct Gradients {
    Floats q = Floats(kQueries * kSize, -99), k = Floats(kSize * kSize, -99), v = k;
  };
  int backward(const Filter& f, Floats& dy, Gradients& g, std::vector<char>* cache = nullptr,
               const BNNSNDArrayDescriptor* mask = nullptr,
               const BNNSNDArrayDescriptor* add = nullptr) const {
    BNNSMHAProjectionParameters d[4] = {};
    d[0].target_desc = matrix_of(kSize, kQueries, g.q.data());
    d[1].target_desc = matrix_of(kSize, kSize, g.k.data());
    d[2].target_desc = matrix_of(kSize, kSize, g.v.data());
    d[3].target_desc = matrix_of(kSize, kQueries, dy.data());
    return BNNSApplyMultiheadAttentionBackward(
        f.get(), 1, q.data(), 0, &d[0], k.data(), 0, mask, 0, &d[1], v.data(), 0, &d[2], add,
        nullptr, nullptr, nullptr, 0, &d[3], cache == nullptr ? 0 : cache->size(),
        cache == nullptr ? nullptr : cache->data(), nullptr, nullptr);
  }
};

TEST(Attention, DropoutFollowsTheSeed) {
  Plain p;
  p.layer.dropout = 0.3f;
  p.layer.seed = 7;
  Floats first, second, other, none;
  const Filter a = p.make(), b = p.make();
  EXPECT_EQ(p.forward(a, first), 0);
  EXPECT_EQ(p.forward(b, other), 0);
  EXPECT_EQ(first, other);  // equal seeds, equal numbers
  EXPECT_EQ(p.forward(a, second), 0);
  EXPECT_NE(first, second);  // every call has numbers of its own
  p.layer.seed = 0;
  const Filter c = p.make(), d = p.make();
  EXPECT_EQ(p.forward(c, first), 0);
  EXPECT_EQ(p.forward(d, other), 0);
  EXPECT_NE(first, other);
  p.layer.dropout = 0;
  EXPECT_EQ(p.forward(p.make(), none), 0);
  size_t dropped = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i] == 0)
      ++dropped;
    else
      EXPECT_NEAR(first[i] * 0.7f, none[i], 1e-6);
  }
  // Three standard deviations of a binomial distribution.
  const double n = static_cast<double>(first.size());
  EXPECT_NEAR(static_cast<double>(dropped), 0.3 * n, 3 * std::sqrt(0.21 * n));
}

// The output is drop(P) itself, which tells what was dropped; the gradients follow from it.
TEST(Attention, GradientsOfDropout) {
  Plain p;
  p.layer.dropout = 0.25f;
  p.layer.seed = 5;
  const Filter f = p.make();
  std::vector<char> cache;
  Floats dropped, plain;
  ASSERT_EQ(p.forward(f, dropped, &cache), 0);
  p.layer.dropout = 0;
  ASSERT_EQ(p.forward(p.make(), plain), 0);
  Floats dy = Plain::noise(Plain::kQueries);
  Plain::Gradients g;
  std::vector<char> moved(cache.size() + 64);  // a cache does not depend on its place
  std::copy(cache.begin(), cache.end(), moved.begin());
  ASSERT_EQ(p.backward(f, dy, g, &moved), 0) << OpenBNNSGetLastError();
  constexpr size_t n = Plain::kSize;
  std::vector<double> dq(Plain::kQueries * n), dk(n * n), dv(n * n);
  for (size_t t = 0; t < Plain::kQueries; ++t) {
    double dot = 0;
    for (size_t j = 0; j < n; ++j) dot += double{dropped[t * n + j]} * dy[t * n + j];
    for (size_t j = 0; j < n; ++j) {
      const double kept = dropped[t * n + j] != 0 ? 1 / 0.75 : 0;
      const double dr = plain[t * n + j] * (kept * dy[t * n + j] - dot) / std::sqrt(double{n});
      for (size_t c = 0; c < n; ++c) {
        dq[t * n + c] += dr * p.k[j * n + c];
        dk[j * n + c] += dr * p.q[t * n + c];
        dv[j * n + c] += double{dropped[t * n + j]} * dy[t * n + c];
      }
    }
  }
  for (size_t i = 0; i < dq.size(); ++i) ASSERT_NEAR(g.q[i], dq[i], 1e-6) << i;
  for (size_t i = 0; i < dk.size(); ++i) ASSERT_NEAR(g.k[i], dk[i], 1e-6) << i;
  for (size_t i = 0; i < dv.size(); ++i) ASSERT_NEAR(g.v[i], dv[i], 1e-6) << i;
}

// Queries without keys: by a key mask, which hides NaN, too; by a matrix with minus infinity.
TEST(Attention, RowsWithoutKeys) {
  Plain p;
  Floats bias(Plain::kSize, 0.5f), out;
  p.layer.output.bias = vector_of(Plain::kSize, bias.data());
  p.k[5] = std::numeric_limits<float>::quiet_NaN();
  std::vector<uint8_t> hidden(Plain::kSize, 1);
  const auto mask = vector_of(Plain::kSize, hidden.data(), BNNSDataTypeBoolean);
  const Filter f = p.make();
  std::vector<char> cache;
  ASSERT_EQ(p.forward(f, out, &cache, &mask), 0);
  EXPECT_EQ(out, Floats(out.size(), 0.5f));
  Floats dy = Plain::noise(Plain::kQueries);
  p.k[5] = 0;  // a gradient that is multiplied with NaN could not be 0
  for (const bool cached : {false, true}) {
    ASSERT_EQ(p.forward(f, out, &cache, &mask), 0);
    Plain::Gradients g;
    ASSERT_EQ(p.backward(f, dy, g, cached ? &cache : nullptr, &mask), 0);
    EXPECT_EQ(g.q, Floats(g.q.size()));
    EXPECT_EQ(g.k, Floats(g.k.size()));
    EXPECT_EQ(g.v, Floats(g.v.size()));
  }
  // Half of the rows.
  Floats matrix(Plain::kQueries * Plain::kSize), plain;
  ASSERT_EQ(p.forward(f, plain), 0);
  std::fill(matrix.begin(), matrix.begin() + 20 * Plain::kSize,
            -std::numeric_limits<float>::infinity());
  const auto add = matrix_of(Plain::kSize, Plain::kQueries, matrix.data());
  ASSERT_EQ(p.forward(f, out, nullptr, nullptr, &add), 0);
  for (size_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out[i], i < 20 * Plain::kSize ? 0.5f : plain[i]) << i;
}

TEST(Attention, HugeScoresAreFinite) {
  Plain p;
  for (float& x : p.q) x *= 1e18f;
  for (float& x : p.k) x *= 1e17f;
  Floats out, dy = Plain::noise(Plain::kQueries);
  Plain::Gradients g;
  ASSERT_EQ(p.forward(p.make(), out), 0);
  ASSERT_EQ(p.backward(p.make(), dy, g), 0);
  for (size_t t = 0; t < Plain::kQueries; ++t) {
    float sum = 0;
    for (size_t j = 0; j < Plain::kSize; ++j) sum += out[t * Plain::kSize + j];
    EXPECT_NEAR(sum, 1, 1e-6);
  }
  for (const float x : g.q) EXPECT_TRUE(std::isfinite(x));
}

// Products beyond the range of float take part as its largest and smallest values.
TEST(Attention, ScoresBeyondTheRangeOfFloatAreFinite) {
  Plain p;
  // Positive columns, so that no sum of a product is infinity minus infinity.
  for (float& x : p.q) x = std::abs(x) * 1e19f;
  for (size_t i = 0; i < p.k.size(); ++i)
    p.k[i] = std::abs(p.k[i]) * (i / Plain::kSize % 2 == 0 ? 1e20f : -1e20f);
  Floats out, dy = Plain::noise(Plain::kQueries);
  Plain::Gradients g;
  ASSERT_EQ(p.forward(p.make(), out), 0);
  ASSERT_EQ(p.backward(p.make(), dy, g), 0);
  for (size_t t = 0; t < Plain::kQueries; ++t) {
    for (size_t j = 0; j < Plain::kSize; ++j)  // the even keys share the probability
      EXPECT_NEAR(out[t * Plain::kSize + j], j % 2 == 0 ? 2.0f / Plain::kSize : 0, 1e-6);
  }
  for (const float x : g.v) EXPECT_TRUE(std::isfinite(x));
  // All scores too small: still keys, and not hidden ones.
  for (float& x : p.k) x = -std::abs(x);
  ASSERT_EQ(p.forward(p.make(), out), 0);
  EXPECT_NEAR(out[0], 1.0f / Plain::kSize, 1e-6);
}

// Sums of products that are infinity minus infinity in float: the largest score takes all.
TEST(Attention, ScoresOfBothSignsBeyondTheRangeOfFloatAreFinite) {
  constexpr size_t kSize = Plain::kSize;
  Plain p;
  Floats out, dy = Plain::noise(Plain::kQueries);
  for (const float scale : {1e19f, 1e25f, 1e37f}) {
    // In units of the square of `scale` the scores of key 5 are 24 before they are divided by the
    // root of the depth, those of all others -1/2.
    for (size_t i = 0; i < p.q.size(); ++i) p.q[i] = i % 2 == 0 ? scale : -scale;
    for (size_t i = 0; i < p.k.size(); ++i) {
      p.k[i] = i % 4 < 2 ? -scale : scale;
      if (i / kSize == 5 && i % 4 == 0) p.k[i] = scale;
      if (i / kSize != 5 && i % kSize == kSize - 1) p.k[i] *= 1.5f;
    }
    const Filter f = p.make();
    std::vector<char> cache;
    ASSERT_EQ(p.forward(f, out, &cache), 0);
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i % kSize == 5 ? 1 : 0) << i;
    for (const bool cached : {false, true}) {
      Plain::Gradients g;
      ASSERT_EQ(p.backward(f, dy, g, cached ? &cache : nullptr), 0);
      for (const float x : g.q) ASSERT_EQ(x, 0);
      for (const float x : g.v) ASSERT_TRUE(std::isfinite(x));
    }
  }
}

// Minus infinity in the matrix hides a key as a mask does, whatever its score is; sums that leave
// the range downwards hide nothing.
TEST(Attention, TheMatrixHidesScoresThatAreNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr size_t kSize = Plain::kSize, kRows = Plain::kQueries;
  Plain p;
  for (float& x : p.q) x = std::abs(x) * 1e19f + 1e19f;
  for (float& x : p.k) x = std::abs(x);
  for (size_t c = 0; c < kSize; ++c) {
    p.k[4 * kSize + c] = 1e20f;  // scores of infinity
    p.k[kSize + c] = std::numeric_limits<float>::quiet_NaN();
    p.k[(kSize - 1) * kSize + c] = -kInfinity;  // in the rest behind whole vectors, if there is one
  }
  p.k[3 * kSize] = kInfinity;
  Floats matrix(kRows * kSize), out, wide, dy = Plain::noise(kRows);
  std::vector<uint8_t> hidden(matrix.size());
  for (size_t t = 0; t < kRows; ++t) {
    for (const size_t j : {size_t{1}, size_t{3}, size_t{4}, kSize - 1}) hidden[t * kSize + j] = 1;
    if (t % 5 == 0) std::fill_n(hidden.begin() + t * kSize, kSize, 1);
  }
  for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = hidden[i] != 0 ? -kInfinity : 0;
  const auto add = matrix_of(kSize, kRows, matrix.data());
  auto mask = matrix_of(kSize, kRows, hidden.data());
  mask.data_type = BNNSDataTypeBoolean;
  const Filter f = p.make();
  std::vector<char> cache;
  ASSERT_EQ(p.forward(f, wide, nullptr, nullptr, &mask), 0);
  ASSERT_EQ(p.forward(f, out, &cache, nullptr, &add), 0);
  EXPECT_EQ(out, wide);
  for (const float x : out) ASSERT_TRUE(std::isfinite(x));
  for (const bool cached : {false, true}) {
    Plain::Gradients g;
    ASSERT_EQ(p.backward(f, dy, g, cached ? &cache : nullptr, nullptr, &add), 0);
    for (const float x : g.v) ASSERT_TRUE(std::isfinite(x));
    for (size_t t = 0; t < kRows; t += 5) EXPECT_EQ(g.q[t * kSize], 0);
  }
  // All scores and all elements of the matrix are near the end of the range.
  for (float& x : p.k) x = -1e18f;
  matrix.assign(matrix.size(), -3e38f);
  ASSERT_EQ(p.forward(f, out, nullptr, nullptr, &add), 0);
  EXPECT_NEAR(out[0], 1.0f / kSize, 1e-6);
}

// Where no key is seen, neither values nor keys that are not finite reach output and gradient.
TEST(Attention, RowsWithoutKeysIgnoreWhatIsNotFinite) {
  Plain p;
  Floats out, dy = Plain::noise(Plain::kQueries);
  std::vector<uint8_t> hidden(Plain::kSize, 1);
  const auto mask = vector_of(Plain::kSize, hidden.data(), BNNSDataTypeBoolean);
  p.v[7] = std::numeric_limits<float>::quiet_NaN();
  p.k[9] = std::numeric_limits<float>::infinity();
  const Filter f = p.make();
  std::vector<char> cache;
  ASSERT_EQ(p.forward(f, out, &cache, &mask), 0);
  EXPECT_EQ(out, Floats(out.size()));
  for (const bool cached : {false, true}) {
    Plain::Gradients g;
    ASSERT_EQ(p.backward(f, dy, g, cached ? &cache : nullptr, &mask), 0);
    EXPECT_EQ(g.q, Floats(g.q.size()));
    EXPECT_EQ(g.k, Floats(g.k.size()));
  }
}

// Scores that are NaN flow through.
TEST(Attention, NaNFlowsThrough) {
  Plain p;
  p.q[3] = std::numeric_limits<float>::quiet_NaN();
  Floats out;
  ASSERT_EQ(p.forward(p.make(), out), 0);
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_FALSE(std::isnan(out[Plain::kSize]));
}

TEST(Attention, BitsDoNotDependOnThreads) {
  Plain p;
  p.layer.dropout = 0.1f;
  p.layer.seed = 3;
  Floats right, dy = Plain::noise(Plain::kQueries);
  Plain::Gradients expected;
  for (const size_t threads : {1, 2, 3, 8}) {
    p.options.n_threads = threads;
    const Filter f = p.make();
    Floats out;
    Plain::Gradients g;
    std::vector<char> cache;
    ASSERT_EQ(p.forward(f, out, &cache), 0);
    ASSERT_EQ(p.backward(f, dy, g, &cache), 0);
    if (threads == 1) {
      right = out;
      expected = g;
    }
    EXPECT_EQ(out, right);
    EXPECT_EQ(g.q, expected.q);
    EXPECT_EQ(g.k, expected.k);
    EXPECT_EQ(g.v, expected.v);
  }
}

int allocations = 0;
int counting_alloc(void** block, size_t alignment, size_t size) {
  ++allocations;
  return posix_memalign(block, alignment, size);
}

// With a workspace the calls allocate nothing and stay inside of it, however it is aligned; without
// one they allocate once.
TEST(Attention, Workspace) {
  Plain p;
  p.options.alloc_memory = counting_alloc;
  p.options.free_memory = std::free;
  p.options.n_threads = 2;
  const Filter f = p.make();
  Floats right, out(Plain::kQueries * Plain::kSize);
  ASSERT_EQ(p.forward(p.make(), right), 0);
  size_t cache = 0, size = 0;
  ASSERT_EQ(BNNSApplyMultiheadAttention(f.get(), 1, nullptr, 0, nullptr, 0, nullptr, 0, nullptr, 0,
                                        nullptr, 0, nullptr, &cache, nullptr, &size, nullptr),
            0);
  EXPECT_GT(cache, 0u);
  EXPECT_GT(size, 0u);
  ASSERT_EQ(BNNSApplyMultiheadAttention(f.get(), 1, nullptr, 0, nullptr, 0, nullptr, 0, nullptr, 0,
                                        nullptr, 0, nullptr, nullptr, nullptr, &size, nullptr),
            0);
  allocations = 0;
  for (size_t shift = 0; shift < 70; shift += 3) {
    std::vector<char> workspace(size + 200, 'x');
    ASSERT_EQ(BNNSApplyMultiheadAttention(f.get(), 1, p.q.data(), 0, p.k.data(), 0, nullptr, 0,
                                          p.v.data(), 0, out.data(), 0, nullptr, nullptr, nullptr,
                                          &size, workspace.data() + shift),
              0)
        << OpenBNNSGetLastError();
    EXPECT_EQ(out, right);
    for (size_t i = 0; i < workspace.size(); ++i) {
      const bool inside = i >= shift && i < shift + size;
      ASSERT_TRUE(inside || workspace[i] == 'x');
    }
  }
  EXPECT_EQ(allocations, 0);
  ASSERT_EQ(p.forward(f, out), 0);
  EXPECT_GT(allocations, 0);
  allocations = 0;
  ASSERT_EQ(p.forward(f, out), 0);
  EXPECT_EQ(allocations, 0);
}

// A batch of none is no work, and its sizes are sizes all the same.
TEST(Attention, EmptyBatch) {
  Plain p;
  const Filter f = p.make();
  size_t cache = 0, size = 0;
  ASSERT_EQ(BNNSApplyMultiheadAttention(f.get(), 0, nullptr, 0, nullptr, 0, nullptr, 0, nullptr, 0,
                                        nullptr, 0, nullptr, &cache, nullptr, &size, nullptr),
            0);
  EXPECT_GT(cache, 0u);
  EXPECT_GT(size, 0u);
  EXPECT_EQ(BNNSApplyMultiheadAttention(f.get(), 0, nullptr, 0, nullptr, 0, nullptr, 0, nullptr, 0,
                                        nullptr, 0, nullptr, nullptr, nullptr, nullptr, nullptr),
            0);
  // A size that no address space holds is refused.
  cache = 1;
  EXPECT_NE(BNNSApplyMultiheadAttention(f.get(), SIZE_MAX / 3, nullptr, 0, nullptr, 0, nullptr, 0,
                                        nullptr, 0, nullptr, 0, nullptr, &cache, nullptr, nullptr,
                                        nullptr),
            0);
  EXPECT_EQ(cache, 1u);
}

}  // namespace
}  // namespace bnns::test
