// The rules on descriptors, gradients and the pointers of a call, each with its message.
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "core/call.h"
#include "support/descriptor_builder.h"
#include "support/layouts.h"

namespace bnns::impl {
namespace {

using test::all_layouts;
using test::Layout;
using test::refusal;
using test::refusal_of;
using test::Sizes;
using test::strided_array;

BNNSNDArrayDescriptor image(const Sizes& size, const Sizes& stride = {}) {
  return strided_array(test::find(BNNSDataLayoutImageCHW), size, stride);
}

void expect_words(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words)
    EXPECT_NE(text.find(word), std::string::npos) << "\"" << text << "\" lacks " << word;
}

TEST(Rules, UnknownLayoutAndType) {
  BNNSNDArrayDescriptor d = image({2, 3, 4});
  d.layout = static_cast<BNNSDataLayout>(12345);
  EXPECT_EQ(refusal_of(d), "x.layout is 12345; that is no BNNSDataLayout");
  d = image({2, 3, 4});
  d.data_type = static_cast<BNNSDataType>(77);
  EXPECT_EQ(refusal_of(d), "x.data_type is 77; that is no BNNSDataType");
}

TEST(Rules, NoSizeMayBeZero) {
  for (const Layout& layout : all_layouts()) {
    for (size_t k = 0; k < layout.rank; ++k) {
      Sizes size = {2, 2, 2, 2, 2, 2, 2, 2};
      size[k] = 0;
      EXPECT_EQ(refusal_of(strided_array(layout, size)),
                "x.size[" + std::to_string(k) + "] is 0; it must be at least 1")
          << layout.name;
    }
  }
}

TEST(Rules, StridesMustNotDecrease) {
  EXPECT_EQ(refusal_of(image({2, 3, 4}, {1, 10, 9})),
            "x.stride[2] is 9, below stride[1], which is 10; strides must not decrease");
  EXPECT_EQ(refusal_of(image({2, 3, 4}, {5, 4, 30})),
            "x.stride[1] is 4, below stride[0], which is 5; strides must not decrease");
  EXPECT_EQ(refusal_of(image({1, 1, 1}, {7, 7, 7})), "");
}

TEST(Rules, OverflowIsFound) {
  constexpr size_t k2To32 = size_t{1} << 32;
  expect_words(refusal_of(image({k2To32, k2To32, 1})), {"x", "4294967296", "overflows 64 bits"});
  expect_words(refusal_of(image({SIZE_MAX, 2, 1})),
               {"x", "18446744073709551615", "overflows 64 bits"});
  expect_words(refusal_of(image({2, 2, 2}, {1, 2, SIZE_MAX})), {"x", "overflows 64 bits"});
  expect_words(refusal_of(image({2, 2, 2}, {1, SIZE_MAX / 2, SIZE_MAX / 2})), {"x", "overflows"});
  // The product fits, but not as an object in memory.
  expect_words(refusal_of(image({k2To32, k2To32 / 4, 1})), {"x", "overflows"});
  expect_words(refusal_of(image({k2To32, k2To32 / 8, 1})), {"x spans", "address space"});
  BNNSNDArrayDescriptor bytes = image({k2To32, k2To32 / 4, 1});
  bytes.data_type = BNNSDataTypeInt8;
  EXPECT_EQ(refusal_of(bytes), "") << "2^62 bytes are an object";
  bytes.size[1] *= 2;
  expect_words(refusal_of(bytes), {"x spans 9223372036854775808 bytes", "address space"});
}

// Whether two elements share an address, by brute force.
bool really_overlaps(const Sizes& size, const Sizes& stride) {
  const Layout& layout = test::find(BNNSDataLayoutImageCHW);
  std::set<size_t> seen;
  bool overlap = false;
  test::for_each_element(layout, size, [&](const Sizes& element) {
    overlap |= !seen.insert(layout.address(element, size, stride)).second;
  });
  return overlap;
}

// Each axis begins behind everything below it.
bool nests(const Sizes& size, const Sizes& stride) {
  size_t span = 1;
  for (size_t k = 0; k < 3; ++k) {
    if (size[k] > 1 && stride[k] < span) return false;
    span += (size[k] - 1) * stride[k];
  }
  return true;
}

TEST(Rules, ElementsOfAnOutputMustNotOverlap) {
  expect_words(refusal_of(image({3, 2, 2}, {1, 2, 100}), Use::kOutput),
               {"x.stride[1] is 2", "must not overlap"});
  EXPECT_EQ(refusal_of(image({3, 2, 2}, {1, 2, 100}), Use::kInput), "");
}

struct Strided {
  Sizes size, stride;
  std::string text() const {
    return Text("size {", size[0], ", ", size[1], ", ", size[2], "}, stride {", stride[0], ", ",
                stride[1], ", ", stride[2], "}")
        .c_str();
  }
};

// Small images with every combination of strides that do not decrease.
std::vector<Strided> many_strided() {
  std::vector<Strided> all;
  for (size_t s0 = 1; s0 < 4; ++s0) {
    for (size_t s1 = s0; s1 < 9; ++s1) {
      for (size_t s2 = s1; s2 < 20; ++s2) {
        for (const Sizes& size : {Sizes{2, 2, 2}, Sizes{3, 2, 2}, Sizes{1, 3, 2}, Sizes{3, 1, 2},
                                  Sizes{2, 3, 1}, Sizes{1, 1, 3}})
          all.push_back({size, {s0, s1, s2}});
      }
    }
  }
  return all;
}

TEST(Rules, EveryOverlappingOutputIsRefused) {
  size_t overlapping = 0;
  std::string wrong;
  for (const Strided& s : many_strided()) {
    if (!really_overlaps(s.size, s.stride)) continue;
    ++overlapping;
    if (wrong.empty() && refusal_of(image(s.size, s.stride), Use::kOutput).empty())
      wrong = s.text();
  }
  EXPECT_EQ(wrong, "") << "accepted, though elements share an address";
  EXPECT_GT(overlapping, 100u);
}

TEST(Rules, OutputsWhoseAxesNestAreAccepted) {
  size_t separate = 0;
  std::string wrong;
  for (const Strided& s : many_strided()) {
    if (!nests(s.size, s.stride)) continue;
    ++separate;
    if (wrong.empty() && !refusal_of(image(s.size, s.stride), Use::kOutput).empty())
      wrong = s.text();
  }
  EXPECT_EQ(wrong, "") << "refused, though no two elements share an address";
  EXPECT_GT(separate, 100u);
}

TEST(Rules, IndexedTypesNeedATable) {
  float table[16] = {};
  BNNSNDArrayDescriptor d = image({2, 2, 2});
  d.data_type = BNNSDataTypeIndexed4;
  d.table_data_type = BNNSDataTypeFloat32;
  EXPECT_EQ(refusal_of(d), "x.table_data is NULL; Indexed4 needs a table of 16 values");
  d.table_data = table;
  EXPECT_EQ(refusal_of(d), "");
  d.table_data_type = BNNSDataTypeInt8;
  EXPECT_EQ(refusal_of(d), "x.table_data_type is 131080; it must be a floating-point type");
  d.table_data_type = BNNSDataTypeFloat32;
  d.table_data = reinterpret_cast<char*>(table) + 2;
  expect_words(refusal_of(d), {"x.table_data is 0x", "aligned to 4 bytes"});
}

TEST(Rules, ScaleAndBiasOfIntegersAreFinite) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  BNNSNDArrayDescriptor d = image({2, 2, 2});
  d.data_scale = kNan;
  EXPECT_EQ(refusal_of(d), "") << "floating-point types have no scale";
  d.data_type = BNNSDataTypeInt8;
  EXPECT_EQ(refusal_of(d), "x.data_scale is nan; it must be finite");
  d.data_scale = 0;
  EXPECT_EQ(read_descriptor(d, "x", Use::kInput).view.scaling.scale, 1.0f) << "0 means 1";
  d.data_bias = -kInf;
  EXPECT_EQ(refusal_of(d), "x.data_bias is -inf; it must be finite");
}

// ---- Gradients and calls ----

TEST(Deltas, MustHaveTheElementsOfTheirTensor) {
  float data[24] = {};
  const Descriptor frozen = read_descriptor(image({2, 3, 4}), "i_desc", Use::kInput);
  const auto read = [&](const BNNSNDArrayDescriptor& d, Use use = Use::kOutput) {
    return refusal([&] {
      Call call(1);
      if (use == Use::kOutput) {
        call.writes_delta(d, 0, kInDelta, frozen, "i_desc");
      } else {
        call.reads_delta(&d, 0, kInDelta, frozen, "i_desc");
      }
    });
  };
  BNNSNDArrayDescriptor d = image({2, 3, 4});
  d.data = data;
  EXPECT_EQ(read(d), "");
  d.flags = static_cast<BNNSNDArrayFlags>(2);
  EXPECT_EQ(read(d), "in_delta.flags is 2; that is no BNNSNDArrayFlags");
  EXPECT_EQ(read(d, Use::kInput), "") << "flags are read where something is written";
  d = image({3, 2, 4});
  d.data = data;
  EXPECT_EQ(read(d),
            "in_delta is ImageCHW {3, 2, 4}, but i_desc is ImageCHW {2, 3, 4}; they must "
            "have the same elements");
  d = strided_array(test::find(BNNSDataLayoutVector), {24});
  d.data = data;
  EXPECT_EQ(read(d), "");
  d.data_type = BNNSDataTypeFloat16;
  EXPECT_EQ(read(d), "in_delta.data_type is Float16; gradients are Float32");
}

// An input may repeat elements through its strides; its gradient has nowhere to go then.
TEST(Deltas, MustNotOverlapEvenIfTheInputDoes) {
  float data[200] = {};
  for (const Sizes& stride : {Sizes{1, 2, 100}, Sizes{1, 1, 1}, Sizes{1, 3, 4}}) {
    BNNSNDArrayDescriptor d = image({3, 2, 2}, stride);
    const Descriptor frozen = read_descriptor(d, "i_desc", Use::kInput);
    d.data = data;
    const std::string text =
        refusal([&] { Call(1).writes_delta(d, 0, kInDelta, frozen, "i_desc"); });
    expect_words(text, {"in_delta.stride", "must not overlap"});
  }
}

TEST(Calls, DataMustBeThereAndAligned) {
  float data[2] = {};
  EXPECT_EQ(refusal([&] { require_data(data, BNNSDataTypeFloat32, "in"); }), "");
  EXPECT_EQ(refusal([&] { require_data(nullptr, BNNSDataTypeFloat32, "in"); }),
            "in is NULL; it must point to data");
  const char* bytes = reinterpret_cast<const char*>(data);
  for (size_t offset : {1, 2, 3})
    expect_words(refusal([&] { require_data(bytes + offset, BNNSDataTypeFloat32, "in"); }),
                 {"in is 0x", "aligned to 4 bytes"});
  EXPECT_EQ(refusal([&] { require_data(bytes + 2, BNNSDataTypeFloat16, "in"); }), "");
  EXPECT_EQ(refusal([&] { require_data(bytes + 1, BNNSDataTypeInt8, "in"); }), "");
  EXPECT_EQ(refusal([&] { require_data(bytes + 1, BNNSDataTypeInt4, "in"); }), "");
}

TEST(Calls, SamplesMustNotOverlap) {
  const View sample = read_descriptor(image({2, 3, 4}), "x", Use::kInput).view;
  const auto check = [&](const View& view, size_t batch, size_t stride) {
    return refusal([&] { require_batch(view, batch, stride, "in_stride"); });
  };
  EXPECT_EQ(check(sample, 5, 0), "");
  EXPECT_EQ(check(sample, 5, 24), "");
  EXPECT_EQ(check(sample, 5, 25), "");
  EXPECT_EQ(check(sample, 1, 3), "") << "one sample has no neighbour";
  EXPECT_EQ(check(sample, 5, 23),
            "in_stride is 23, but one sample spans 24 values; samples must not overlap");
  expect_words(check(sample, SIZE_MAX, 24),
               {"batch_size is 18446744073709551615", "address space"});
  expect_words(check(sample, 2, SIZE_MAX), {"in_stride", "address space"});
  // Interleaved: the whole batch lies between two neighbours.
  const View wide = read_descriptor(image({2, 3, 4}, {5, 10, 30}), "x", Use::kInput).view;
  EXPECT_EQ(check(wide, 5, 1), "");
  expect_words(check(wide, 6, 1), {"in_stride is 1", "must not overlap"});
  // Places 0, 7, 8, 15: another sample next to the first would fall on 8.
  const View uneven = read_descriptor(image({2, 2, 1}, {7, 8, 16}), "x", Use::kInput).view;
  expect_words(check(uneven, 2, 1), {"in_stride is 1", "must not overlap"});
}

// A batch stride of 0: the next sample begins behind the padding of the last row, where the next
// index of the outermost axis would be; what is touched ends with the last element.
TEST(Calls, PackedStep) {
  float data[1] = {};
  const auto step_and_bytes = [&](const BNNSNDArrayDescriptor& d) {
    const View sample = read_descriptor(d, "x", Use::kInput).view;
    const Batch batch = make_batch(sample, data, 3, 0);
    const Range range = range_of(batch);
    return std::pair(batch.step, static_cast<size_t>(range.end - range.begin) / sizeof(float));
  };
  EXPECT_EQ(step_and_bytes(image({2, 3, 4})), std::pair(size_t{24}, size_t{72}));
  EXPECT_EQ(step_and_bytes(image({2, 3, 4}, {1, 5, 20})), std::pair(size_t{80}, size_t{232}));
  EXPECT_EQ(step_and_bytes(image({2, 3, 1}, {1, 5, 20})), std::pair(size_t{20}, size_t{52}));
  EXPECT_EQ(step_and_bytes(image({2, 3, 1}, {1, 5, 5})), std::pair(size_t{15}, size_t{42}));
  EXPECT_EQ(step_and_bytes(image({1, 1, 1}, {7, 7, 7})), std::pair(size_t{7}, size_t{15}));
}

TEST(Calls, RangesThatOverlap) {
  const View sample = read_descriptor(image({2, 3, 4}), "x", Use::kInput).view;
  float data[100] = {};
  const auto at = [&](size_t first, size_t batch) {
    return range_of(make_batch(sample, data + first, batch, 0));
  };
  EXPECT_FALSE(overlap(at(0, 1), at(24, 1)));
  EXPECT_TRUE(overlap(at(0, 1), at(23, 1)));
  EXPECT_TRUE(overlap(at(24, 1), at(0, 2)));
  EXPECT_FALSE(overlap(at(48, 1), at(0, 2)));
  EXPECT_TRUE(overlap(at(0, 4), at(30, 1)));
}

}  // namespace
}  // namespace bnns::impl
