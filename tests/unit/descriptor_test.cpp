// Descriptors: the tables of types and layouts, default and explicit strides, the address of every
// element of every layout against the formulas of the interface, and each rule with its message.
#include "core/descriptor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "layouts.h"

namespace bnns::impl {
namespace {

using test::all_layouts;
using test::Layout;
using test::Sizes;

constexpr size_t kHuge = SIZE_MAX;

BNNSNDArrayDescriptor describe_array(const Layout& layout, const Sizes& size,
                                     const Sizes& stride = {}) {
  BNNSNDArrayDescriptor d = {};
  d.layout = layout.value;
  d.data_type = BNNSDataTypeFloat32;
  // Only the first entries may be read.
  for (size_t k = 0; k < kMaxRank; ++k) {
    d.size[k] = k < layout.rank ? size[k] : kHuge;
    d.stride[k] = k < layout.rank ? stride[k] : kHuge - k;
  }
  return d;
}

// The text of the refusal; empty if there was none.
template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.text.c_str();
  }
  return "";
}

std::string refusal_of(const BNNSNDArrayDescriptor& d, Use use = Use::kInput) {
  return refusal([&] { read_descriptor(d, "x", use); });
}

// ---- Types ----

struct TypeRow {
  BNNSDataType type;
  const char* name;
};
constexpr TypeRow kTypeRows[] = {
    {BNNSDataTypeFloat16, "Float16"},   {BNNSDataTypeFloat32, "Float32"},
    {BNNSDataTypeBFloat16, "BFloat16"}, {BNNSDataTypeInt1, "Int1"},
    {BNNSDataTypeInt2, "Int2"},         {BNNSDataTypeInt4, "Int4"},
    {BNNSDataTypeInt8, "Int8"},         {BNNSDataTypeInt16, "Int16"},
    {BNNSDataTypeInt32, "Int32"},       {BNNSDataTypeInt64, "Int64"},
    {BNNSDataTypeUInt1, "UInt1"},       {BNNSDataTypeUInt2, "UInt2"},
    {BNNSDataTypeUInt3, "UInt3"},       {BNNSDataTypeUInt4, "UInt4"},
    {BNNSDataTypeUInt6, "UInt6"},       {BNNSDataTypeUInt8, "UInt8"},
    {BNNSDataTypeUInt16, "UInt16"},     {BNNSDataTypeUInt32, "UInt32"},
    {BNNSDataTypeUInt64, "UInt64"},     {BNNSDataTypeIndexed1, "Indexed1"},
    {BNNSDataTypeIndexed2, "Indexed2"}, {BNNSDataTypeIndexed4, "Indexed4"},
    {BNNSDataTypeIndexed8, "Indexed8"}, {BNNSDataTypeBoolean, "Boolean"},
};

TypeClass class_of(BNNSDataType type) {
  const auto value = static_cast<uint32_t>(type);
  if (value & BNNSDataTypeFloatBit) return TypeClass::kFloat;
  if (value & BNNSDataTypeIntBit) return TypeClass::kSigned;
  if (value & BNNSDataTypeUIntBit) return TypeClass::kUnsigned;
  return value & BNNSDataTypeIndexedBit ? TypeClass::kIndexed : TypeClass::kBoolean;
}

TEST(Types, EveryRowAgreesWithItsEncoding) {
  for (const TypeRow& row : kTypeRows) {
    const TypeInfo* info = find_type(row.type);
    ASSERT_NE(info, nullptr) << row.name;
    const uint32_t bits = static_cast<uint32_t>(row.type) & 0x7FFF;
    EXPECT_EQ(info->type, row.type);
    EXPECT_STREQ(info->name, row.name);
    EXPECT_STREQ(type_name(row.type), row.name);
    EXPECT_EQ(info->bits, bits);
    EXPECT_EQ(info->bytes(), bits / 8);
    EXPECT_EQ(type_bytes(row.type), bits / 8);
    EXPECT_EQ(info->kind, class_of(row.type)) << row.name;
    EXPECT_EQ(info->is_integer(), std::string(row.name).find("Int") != std::string::npos);
  }
}

TEST(Types, NothingElseIsOne) {
  std::set<uint32_t> known;
  for (const TypeRow& row : kTypeRows) known.insert(row.type);
  for (uint32_t high = 0; high < 64; ++high) {
    for (uint32_t low = 0; low < 0x10000; ++low) {
      const uint32_t value = high << 16 | low;
      if (known.count(value) == 0) {
        ASSERT_EQ(find_type(static_cast<BNNSDataType>(value)), nullptr) << value;
      }
    }
  }
  EXPECT_EQ(find_type(static_cast<BNNSDataType>(UINT32_MAX)), nullptr);
  EXPECT_EQ(find_type(static_cast<BNNSDataType>(INT32_MAX)), nullptr);
}

// ---- Layouts ----

TEST(Layouts, EveryRowAgreesWithItsEncoding) {
  for (const Layout& layout : all_layouts()) {
    const LayoutInfo* info = find_layout(layout.value);
    ASSERT_NE(info, nullptr) << layout.name;
    EXPECT_STREQ(info->name, layout.name);
    EXPECT_EQ(info->rank, static_cast<uint32_t>(layout.value) >> 16 & 0xF) << layout.name;
    EXPECT_EQ(info->rank, layout.rank);
  }
}

TEST(Layouts, NothingElseIsOne) {
  std::set<uint32_t> known;
  for (const Layout& layout : all_layouts()) known.insert(layout.value);
  EXPECT_EQ(known.size(), 28u);
  for (uint32_t value = 0; value < 0xA0000; ++value) {
    if (known.count(value) == 0) {
      ASSERT_EQ(find_layout(static_cast<BNNSDataLayout>(value)), nullptr) << value;
    }
  }
  EXPECT_EQ(find_layout(static_cast<BNNSDataLayout>(UINT32_MAX)), nullptr);
}

// Every element of the array: what the view says against the formula of the interface.
void expect_addresses(const Layout& layout, const Sizes& size, const Sizes& stride) {
  const Descriptor d = read_descriptor(describe_array(layout, size, stride), "x", Use::kInput);
  const Sizes resolved = test::resolve_strides(layout, size, stride);
  for (size_t k = 0; k < layout.rank; ++k) {
    EXPECT_EQ(d.view.stride[k], resolved[k]) << layout.name << " stride[" << k << "]";
    EXPECT_EQ(d.view.extent[k], size[layout.paired_size(k)]) << layout.name;
  }
  size_t last = 0, count = 0;
  test::for_each_element(layout, size, [&](const Sizes& element) {
    size_t address = 0;
    for (size_t i = 0; i < layout.rank; ++i) {
      const bool backwards = d.layout->rotated && i < 2;
      const size_t at = backwards ? d.logical_extent(i) - 1 - element[i] : element[i];
      address += at * d.logical_stride(i);
    }
    const size_t right = layout.address(element, size, resolved);
    ASSERT_EQ(address, right) << layout.name;
    last = std::max(last, right);
    ++count;
  });
  EXPECT_EQ(d.view.count, count) << layout.name;
  EXPECT_EQ(d.view.span, last + 1) << layout.name;
}

bool is_plain(const Layout& layout) {
  return layout.value != BNNSDataLayoutConvolutionWeightsOIHW_Pack32 &&
         layout.value != BNNSDataLayoutFullyConnectedSparse;
}

TEST(Layouts, AddressesWithDefaultStrides) {
  for (const Layout& layout : all_layouts()) {
    if (!is_plain(layout)) continue;
    expect_addresses(layout, {2, 3, 4, 5, 2, 3, 2, 2}, {});
    expect_addresses(layout, {5, 1, 2, 1, 3, 1, 1, 4}, {});
    expect_addresses(layout, {1, 1, 1, 1, 1, 1, 1, 1}, {});
  }
}

TEST(Layouts, AddressesWithExplicitStrides) {
  const Sizes size = {2, 3, 4, 3, 2, 2, 3, 2};
  for (const Layout& layout : all_layouts()) {
    if (!is_plain(layout)) continue;
    Sizes padded = {};
    size_t next = 2;
    for (size_t k = 0; k < layout.rank; ++k) {
      padded[k] = next;
      next = next * size[layout.paired_size(k)] + 3 * k + 1;
    }
    expect_addresses(layout, size, padded);
    // Each choice of zeros among the explicit ones; a default must not fall below a given one.
    for (uint32_t zeros = 1; zeros < 1u << layout.rank; ++zeros) {
      Sizes mixed = padded;
      for (size_t k = 0; k < layout.rank; ++k) mixed[k] = zeros >> k & 1 ? 0 : padded[k];
      expect_addresses(layout, size, mixed);
    }
  }
}

TEST(Layouts, MultiheadWeightsHaveTheirOwnDefaults) {
  const Layout& layout = test::find(BNNSDataLayoutMHA_DHK);
  const Descriptor d = read_descriptor(describe_array(layout, {7, 5, 3}), "x", Use::kInput);
  EXPECT_EQ(d.view.stride[0], 1u);
  EXPECT_EQ(d.view.stride[1], 5u);
  EXPECT_EQ(d.view.stride[2], 15u);
}

TEST(Layouts, MatricesNameRowsAndColumns) {
  const Layout& rows = test::find(BNNSDataLayoutRowMajorMatrix);
  const Descriptor r = read_descriptor(describe_array(rows, {4, 3}), "x", Use::kInput);
  EXPECT_EQ(r.logical_extent(0), 3u) << "rows";
  EXPECT_EQ(r.logical_stride(0), 4u);
  EXPECT_EQ(r.logical_extent(1), 4u) << "columns";
  EXPECT_EQ(r.logical_stride(1), 1u);
  const Layout& columns = test::find(BNNSDataLayoutColumnMajorMatrix);
  const Descriptor c = read_descriptor(describe_array(columns, {4, 3}), "x", Use::kInput);
  EXPECT_EQ(c.logical_extent(0), 4u);
  EXPECT_EQ(c.logical_stride(0), 1u);
  EXPECT_EQ(c.logical_stride(1), 4u);
}

TEST(Layouts, PackedWeightsFillTheirLastBlock) {
  const Layout& layout = test::find(BNNSDataLayoutConvolutionWeightsOIHW_Pack32);
  for (size_t channels : {1, 31, 32, 33, 64, 65}) {
    const Sizes size = {3, 2, 5, channels};
    const Descriptor d = read_descriptor(describe_array(layout, size), "x", Use::kInput);
    size_t last = 0;
    test::for_each_element(layout, size, [&](const Sizes& element) {
      last = std::max(last, layout.address(element, size, {}));
    });
    EXPECT_EQ(d.view.span, 3 * 2 * 5 * ((channels + 31) / 32) * 32);
    EXPECT_LT(last, d.view.span);
    EXPECT_EQ(d.view.count, 3 * 2 * 5 * channels);
  }
  BNNSNDArrayDescriptor d = describe_array(layout, {3, 2, 5, 8});
  d.stride[0] = 1;
  EXPECT_EQ(refusal_of(d), "");
  d.stride[0] = 2;
  EXPECT_EQ(refusal_of(d),
            "x.stride[0] is 2; packed weights are contiguous, it must be 0 or 1");
}

// ---- Rules ----

BNNSNDArrayDescriptor image(const Sizes& size, const Sizes& stride = {}) {
  return describe_array(test::find(BNNSDataLayoutImageCHW), size, stride);
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
      EXPECT_EQ(refusal_of(describe_array(layout, size)),
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
  size_t checked = 0;
  for (size_t s0 : {1, 2, 3}) {
    for (size_t s1 = s0; s1 < 9; ++s1) {
      for (size_t s2 = s1; s2 < 20; ++s2) {
        for (const Sizes& size : {Sizes{2, 2, 2}, Sizes{3, 2, 2}, Sizes{1, 3, 2}, Sizes{3, 1, 2},
                                  Sizes{2, 3, 1}, Sizes{1, 1, 3}}) {
          const Sizes stride = {s0, s1, s2};
          const bool accepted = refusal_of(image(size, stride), Use::kOutput).empty();
          const auto where = testing::Message()
                             << "size {" << size[0] << ", " << size[1] << ", " << size[2]
                             << "}, stride {" << s0 << ", " << s1 << ", " << s2 << "}";
          if (really_overlaps(size, stride)) {
            ASSERT_FALSE(accepted) << where << ": elements overlap";
          }
          if (nests(size, stride)) {
            ASSERT_TRUE(accepted) << where << ": no two elements overlap";
          }
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, 1000u);
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
    return refusal([&] { read_delta(d, "in_delta", frozen, "i_desc", use); });
  };
  BNNSNDArrayDescriptor d = image({2, 3, 4});
  d.data = data;
  EXPECT_EQ(read(d), "");
  d.flags = static_cast<BNNSNDArrayFlags>(2);
  EXPECT_EQ(read(d), "in_delta.flags is 2; that is no BNNSNDArrayFlags");
  EXPECT_EQ(read(d, Use::kInput), "") << "flags are read where something is written";
  d = image({3, 2, 4});
  d.data = data;
  EXPECT_EQ(read(d), "in_delta is ImageCHW {3, 2, 4}, but i_desc is ImageCHW {2, 3, 4}; they must "
                     "have the same elements");
  d = describe_array(test::find(BNNSDataLayoutVector), {24});
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
        refusal([&] { read_delta(d, "in_delta", frozen, "i_desc", Use::kOutput); });
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
}

TEST(Calls, RangesThatOverlap) {
  const View sample = read_descriptor(image({2, 3, 4}), "x", Use::kInput).view;
  float data[100] = {};
  const auto at = [&](size_t first, size_t batch) {
    return range_of(sample, data + first, batch, 0);
  };
  EXPECT_FALSE(overlap(at(0, 1), at(24, 1)));
  EXPECT_TRUE(overlap(at(0, 1), at(23, 1)));
  EXPECT_TRUE(overlap(at(24, 1), at(0, 2)));
  EXPECT_FALSE(overlap(at(48, 1), at(0, 2)));
  EXPECT_TRUE(overlap(at(0, 4), at(30, 1)));
}

}  // namespace
}  // namespace bnns::impl
