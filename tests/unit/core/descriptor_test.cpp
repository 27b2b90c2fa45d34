// The tables of data types and layouts, default and explicit strides, and the address of every
// element of every layout against the formulas of the interface.
#include "core/descriptor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "support/descriptor_builder.h"
#include "support/layouts.h"

namespace bnns::impl {
namespace {

using test::all_layouts;
using test::Layout;
using test::refusal_of;
using test::Sizes;
using test::strided_array;

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
  for (uint32_t high = 0; high < 128; ++high) {  // every class, alone or with others; bit 15
    for (uint32_t width = 0; width < 0x200; ++width) {
      const uint32_t value = high << 15 | width;
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
  const Descriptor d = read_descriptor(strided_array(layout, size, stride), "x", Use::kInput);
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
  const Descriptor d = read_descriptor(strided_array(layout, {7, 5, 3}), "x", Use::kInput);
  EXPECT_EQ(d.view.stride[0], 1u);
  EXPECT_EQ(d.view.stride[1], 5u);
  EXPECT_EQ(d.view.stride[2], 15u);
}

TEST(Layouts, MatricesNameRowsAndColumns) {
  const Layout& rows = test::find(BNNSDataLayoutRowMajorMatrix);
  const Descriptor r = read_descriptor(strided_array(rows, {4, 3}), "x", Use::kInput);
  EXPECT_EQ(r.logical_extent(0), 3u) << "rows";
  EXPECT_EQ(r.logical_stride(0), 4u);
  EXPECT_EQ(r.logical_extent(1), 4u) << "columns";
  EXPECT_EQ(r.logical_stride(1), 1u);
  const Layout& columns = test::find(BNNSDataLayoutColumnMajorMatrix);
  const Descriptor c = read_descriptor(strided_array(columns, {4, 3}), "x", Use::kInput);
  EXPECT_EQ(c.logical_extent(0), 4u);
  EXPECT_EQ(c.logical_stride(0), 1u);
  EXPECT_EQ(c.logical_stride(1), 4u);
}

TEST(Layouts, PackedWeightsFillTheirLastBlock) {
  const Layout& layout = test::find(BNNSDataLayoutConvolutionWeightsOIHW_Pack32);
  for (size_t channels : {1, 31, 32, 33, 64, 65}) {
    const Sizes size = {3, 2, 5, channels};
    const Descriptor d = read_descriptor(strided_array(layout, size), "x", Use::kInput);
    size_t last = 0;
    test::for_each_element(layout, size, [&](const Sizes& element) {
      last = std::max(last, layout.address(element, size, {}));
    });
    EXPECT_EQ(d.view.span, 3 * 2 * 5 * ((channels + 31) / 32) * 32);
    EXPECT_LT(last, d.view.span);
    EXPECT_EQ(d.view.count, 3 * 2 * 5 * channels);
  }
  BNNSNDArrayDescriptor d = strided_array(layout, {3, 2, 5, 8});
  d.stride[0] = 1;
  EXPECT_EQ(refusal_of(d), "");
  d.stride[0] = 2;
  EXPECT_EQ(refusal_of(d), "x.stride[0] is 2; packed weights are contiguous, it must be 0 or 1");
}

}  // namespace
}  // namespace bnns::impl
