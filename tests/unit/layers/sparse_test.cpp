// The packed form of sparse weights: what it costs, that a filter takes a copy of it, and that no
// change of a byte is accepted. Packs that are wrong although their checks are right are made with
// the library's own writer.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "ops/sparse/pack.h"
#include "support/call_builder.h"
#include "support/hooks.h"

namespace bnns::test {
namespace {

using ::test::Hooks;
using Floats = std::vector<float>;
using Bytes = std::vector<char>;

struct Elements {
  std::vector<int32_t> pairs;  // column, row
  Floats values;
};

// One in `step` elements.
Elements elements(size_t columns, size_t rows, size_t step) {
  Elements e;
  for (size_t i = 0; i < columns * rows; i += step) {
    e.pairs.push_back(static_cast<int32_t>(i % columns));
    e.pairs.push_back(static_cast<int32_t>(i / columns));
    e.values.push_back(static_cast<float>(i % 7) - 3);
  }
  return e;
}

int sparsify(Elements& e, size_t columns, size_t rows, BNNSNDArrayDescriptor& out,
             const BNNSFilterParameters* options = nullptr) {
  const BNNSNDArrayDescriptor shape = matrix_of(columns, rows);
  const BNNSNDArrayDescriptor pairs =
      array(BNNSDataLayoutRowMajorMatrix, {2, e.values.size()}, e.pairs.data(), BNNSDataTypeInt32);
  const BNNSNDArrayDescriptor values = vector_of(e.values.size(), e.values.data());
  return BNNSNDArrayFullyConnectedSparsifySparseCOO(&shape, &pairs, &values, &out, nullptr, 0,
                                                    nullptr, 0, options);
}

Filter make_filter(const BNNSNDArrayDescriptor& w, size_t columns, size_t rows,
                   const BNNSFilterParameters* options = nullptr) {
  BNNSLayerParametersFullyConnected p = {};
  p.i_desc = vector_of(columns);
  p.o_desc = vector_of(rows);
  p.w_desc = w;
  return Filter(BNNSFilterCreateLayerFullyConnected(&p, options));
}

Floats apply(const Filter& filter, const Floats& x, size_t rows) {
  Floats y(rows, 99.0f);
  EXPECT_EQ(BNNSFilterApply(filter.get(), x.data(), y.data()), 0) << OpenBNNSGetLastError();
  return y;
}

struct Packed {
  BNNSNDArrayDescriptor desc = {};
  Bytes bytes;

  Packed(size_t columns, size_t rows, size_t step) {
    Elements e = elements(columns, rows, step);
    EXPECT_EQ(sparsify(e, columns, rows, desc), 0) << OpenBNNSGetLastError();
    const size_t size = BNNSNDArrayGetDataSize(&desc);
    bytes.assign(static_cast<char*>(desc.data), static_cast<char*>(desc.data) + size);
    std::free(desc.data);
    desc.data = bytes.data();
  }
};

TEST(Sparse, TheDescriptorAndTheSize) {
  const Packed w(64, 32, 20);
  EXPECT_EQ(w.desc.layout, BNNSDataLayoutFullyConnectedSparse);
  EXPECT_EQ(w.desc.data_type, BNNSDataTypeFloat32);
  EXPECT_EQ(w.desc.size[0], 64u);
  EXPECT_EQ(w.desc.size[1], 32u);
  EXPECT_EQ(w.bytes.size(), 32 + 64 * 32 / 8 + 103 * 4u);
  EXPECT_LT(w.bytes.size(), 64 * 32 * 4u);
  for (const size_t step : {4, 16}) EXPECT_LT(Packed(4, 4, step).bytes.size(), 64u);
}

TEST(Sparse, MemoryOfTheClient) {
  Elements e = elements(16, 16, 10);
  for (const size_t shift : {0, 4}) {  // aligned like the values and no better
    Bytes room(16 * 16 * 4 + 8, 77);
    BNNSNDArrayDescriptor out = {};
    out.data = room.data() + shift;
    ASSERT_EQ(sparsify(e, 16, 16, out), 0) << OpenBNNSGetLastError();
    EXPECT_EQ(out.data, room.data() + shift);
    const size_t size = BNNSNDArrayGetDataSize(&out);
    for (size_t i = 0; i < room.size(); ++i)
      EXPECT_TRUE((i >= shift && i < shift + size) || room[i] == 77) << i;
    EXPECT_TRUE(make_filter(out, 16, 16)) << OpenBNNSGetLastError();
  }
}

TEST(Sparse, HooksMakeThePackedForm) {
  Hooks::instance().reset();
  const BNNSFilterParameters options = {0, 1, Hooks::alloc, Hooks::release};
  Elements e = elements(16, 16, 10);
  BNNSNDArrayDescriptor out = {};
  ASSERT_EQ(sparsify(e, 16, 16, out, &options), 0) << OpenBNNSGetLastError();
  EXPECT_EQ(Hooks::instance().live(), 1u) << "the packed form, which belongs to the client";
  Hooks::release(out.data);
  const size_t allocations = Hooks::instance().allocations();
  for (size_t n = 1; n <= allocations; ++n) {
    Hooks::instance().reset();
    Hooks::instance().fail(n, n);
    out = {};
    EXPECT_EQ(sparsify(e, 16, 16, out, &options), -1);
    EXPECT_EQ(out.data, nullptr);
    EXPECT_EQ(Hooks::instance().live(), 0u);
  }
  EXPECT_EQ(Hooks::instance().mistakes(), 0u);
}

TEST(Sparse, AFilterKeepsACopy) {
  for (const uint32_t flags : {uint32_t{0}, uint32_t{BNNSFlagsUseClientPtr}}) {
    Packed w(20, 10, 3);
    const BNNSFilterParameters options = {flags, 1, nullptr, nullptr};
    const Filter filter = make_filter(w.desc, 20, 10, &options);
    ASSERT_TRUE(filter) << OpenBNNSGetLastError();
    const Floats x(20, 1.0f), before = apply(filter, x, 10);
    std::fill(w.bytes.begin(), w.bytes.end(), '\xFF');
    EXPECT_EQ(apply(filter, x, 10), before);
  }
}

TEST(Sparse, NoChangedByteIsAccepted) {
  Packed w(13, 9, 5);
  for (size_t i = 0; i < w.bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      w.bytes[i] = static_cast<char>(w.bytes[i] ^ 1 << bit);
      EXPECT_FALSE(make_filter(w.desc, 13, 9)) << "byte " << i << ", bit " << bit;
      w.bytes[i] = static_cast<char>(w.bytes[i] ^ 1 << bit);
    }
  EXPECT_TRUE(make_filter(w.desc, 13, 9));
}

// Right checks around a content that no sparsify function writes.
TEST(Sparse, NoWrongContentIsAccepted) {
  constexpr size_t kColumns = 10, kRows = 7, kPlaces = 70, kMost = 80;
  const impl::SparseShape right = {BNNSDataTypeFloat32, kRows, kColumns, 3};
  uint64_t places[2] = {0x15, 0};
  const Floats values(kMost, 1.0f);
  Bytes bytes(impl::packed_bytes({BNNSDataTypeFloat32, kRows, kColumns, kMost}));
  BNNSNDArrayDescriptor w = matrix_of(kColumns, kRows, bytes.data());
  w.layout = BNNSDataLayoutFullyConnectedSparse;
  const auto accepted = [&](const impl::SparseShape& shape) {
    impl::write_pack(shape, places, values.data(), bytes.data());
    return static_cast<bool>(make_filter(w, kColumns, kRows));
  };
  const auto with = [&](size_t impl::SparseShape::*field, size_t value) {
    impl::SparseShape shape = right;
    shape.*field = value;
    return shape;
  };
  using S = impl::SparseShape;
  EXPECT_TRUE(accepted(right));
  for (const size_t n : {0, 2, 4, 70}) EXPECT_FALSE(accepted(with(&S::nonzeros, n))) << n;
  EXPECT_FALSE(accepted(with(&S::nonzeros, kPlaces + 1))) << "more than there are places";
  EXPECT_FALSE(accepted(with(&S::rows, 6)));
  EXPECT_FALSE(accepted(with(&S::columns, 9)));
  places[1] = uint64_t{1} << 6;  // element 70
  EXPECT_FALSE(accepted(with(&S::nonzeros, 4))) << "behind the last";
  places[1] = uint64_t{1} << 5;
  EXPECT_TRUE(accepted(with(&S::nonzeros, 4))) << "the last";
  places[0] = places[1] = 0;
  EXPECT_TRUE(accepted(with(&S::nonzeros, 0))) << "no element at all";
}

// What is not stored is not multiplied: infinity and NaN do not meet a zero.
TEST(Sparse, AbsentElementsDoNotMeetNan) {
  Elements e = {{0, 0, 2, 1}, {2, 3}};
  BNNSNDArrayDescriptor out = {};
  ASSERT_EQ(sparsify(e, 3, 2, out), 0) << OpenBNNSGetLastError();
  const Filter filter = make_filter(out, 3, 2);
  std::free(out.data);
  EXPECT_EQ(apply(filter, {1, NAN, 10}, 2), (Floats{2, 30}));
  const Floats y = apply(filter, {INFINITY, NAN, 10}, 2);
  EXPECT_EQ(y, (Floats{INFINITY, 30}));
}

// Rows of very different lengths, an empty one among them, in batches for which kernels differ.
// What a column holds that no row has reaches nothing, and a sample's result does not depend on
// those beside it.
TEST(Sparse, ASampleHasOneResultInEveryBatch) {
  constexpr size_t kColumns = 600, kRows = 77, kAbsent = 5, kSamples = 35;
  Elements e;
  for (size_t r = 0; r < kRows; ++r)
    for (size_t c = 0; c < (r == 7 ? 0 : kColumns); c += 1 + r % 11 * 3)
      if (c != kAbsent) {
        e.pairs.push_back(static_cast<int32_t>(c));
        e.pairs.push_back(static_cast<int32_t>(r));
        e.values.push_back(std::sin(static_cast<float>(r * 31 + c)));
      }
  BNNSNDArrayDescriptor w = {};
  ASSERT_EQ(sparsify(e, kColumns, kRows, w), 0) << OpenBNNSGetLastError();
  Floats x(kSamples * kColumns);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = i % kColumns == kAbsent ? NAN : std::cos(static_cast<float>(i));
  for_targets([&](const char* target) {
    SCOPED_TRACE(target);
    const Filter filter = make_filter(w, kColumns, kRows);
    ASSERT_TRUE(filter) << OpenBNNSGetLastError();
    Floats single;
    for (size_t s = 0; s < kSamples; ++s) {
      const float* sample = x.data() + s * kColumns;
      const Floats y = apply(filter, Floats(sample, sample + kColumns), kRows);
      for (size_t r = 0; r < kRows; ++r) EXPECT_TRUE(std::isfinite(y[r])) << r;
      EXPECT_EQ(y[7], 0);
      single.insert(single.end(), y.begin(), y.end());
    }
    for (const size_t n : {2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 35}) {
      Floats y(n * kRows, 99.0f);
      ASSERT_EQ(BNNSFilterApplyBatch(filter.get(), n, x.data(), kColumns, y.data(), kRows), 0);
      EXPECT_EQ(y, Floats(single.begin(), single.begin() + static_cast<ptrdiff_t>(n * kRows))) << n;
    }
  });
  std::free(w.data);
}

TEST(Sparse, NoGradients) {
  const Packed w(20, 10, 3);
  const Filter filter = make_filter(w.desc, 20, 10);
  Floats dx(20), dy(10);
  BNNSNDArrayDescriptor in = vector_of(20, dx.data()), out = vector_of(10, dy.data());
  EXPECT_EQ(BNNSFilterApplyBackwardBatch(filter.get(), 1, dx.data(), 0, &in, 0, nullptr, 0, &out, 0,
                                         nullptr, nullptr),
            -1);
  EXPECT_NE(std::string(OpenBNNSGetLastError()).find("inference only"), std::string::npos);
}

}  // namespace
}  // namespace bnns::test
