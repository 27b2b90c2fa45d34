#include "core/types.h"

#include <array>

namespace bnns::impl {
namespace {

constexpr TypeInfo kTypes[] = {
    {BNNSDataTypeFloat32, "Float32", TypeClass::kFloat, 32},
    {BNNSDataTypeFloat16, "Float16", TypeClass::kFloat, 16},
    {BNNSDataTypeBFloat16, "BFloat16", TypeClass::kFloat, 16},
    {BNNSDataTypeInt1, "Int1", TypeClass::kSigned, 1},
    {BNNSDataTypeInt2, "Int2", TypeClass::kSigned, 2},
    {BNNSDataTypeInt4, "Int4", TypeClass::kSigned, 4},
    {BNNSDataTypeInt8, "Int8", TypeClass::kSigned, 8},
    {BNNSDataTypeInt16, "Int16", TypeClass::kSigned, 16},
    {BNNSDataTypeInt32, "Int32", TypeClass::kSigned, 32},
    {BNNSDataTypeInt64, "Int64", TypeClass::kSigned, 64},
    {BNNSDataTypeUInt1, "UInt1", TypeClass::kUnsigned, 1},
    {BNNSDataTypeUInt2, "UInt2", TypeClass::kUnsigned, 2},
    {BNNSDataTypeUInt3, "UInt3", TypeClass::kUnsigned, 3},
    {BNNSDataTypeUInt4, "UInt4", TypeClass::kUnsigned, 4},
    {BNNSDataTypeUInt6, "UInt6", TypeClass::kUnsigned, 6},
    {BNNSDataTypeUInt8, "UInt8", TypeClass::kUnsigned, 8},
    {BNNSDataTypeUInt16, "UInt16", TypeClass::kUnsigned, 16},
    {BNNSDataTypeUInt32, "UInt32", TypeClass::kUnsigned, 32},
    {BNNSDataTypeUInt64, "UInt64", TypeClass::kUnsigned, 64},
    {BNNSDataTypeIndexed1, "Indexed1", TypeClass::kIndexed, 1},
    {BNNSDataTypeIndexed2, "Indexed2", TypeClass::kIndexed, 2},
    {BNNSDataTypeIndexed4, "Indexed4", TypeClass::kIndexed, 4},
    {BNNSDataTypeIndexed8, "Indexed8", TypeClass::kIndexed, 8},
    {BNNSDataTypeBoolean, "Boolean", TypeClass::kBoolean, 8},
};

using Axes = std::array<uint8_t, 8>;

constexpr LayoutInfo row(BNNSDataLayout layout, const char* name, uint8_t rank,
                         Axes pair = {0, 1, 2, 3, 4, 5, 6, 7},
                         Axes tuple = {0, 1, 2, 3, 4, 5, 6, 7}) {
  LayoutInfo info{.layout = layout, .name = name, .rank = rank, .pair = {}, .tuple = {}};
  for (size_t k = 0; k < 8; ++k) {
    info.pair[k] = pair[k];
    info.tuple[k] = tuple[k];
  }
  return info;
}

// A layout whose size[] is in logical order and whose stride[] is in the reverse order.
constexpr LayoutInfo first_major(BNNSDataLayout layout, const char* name, uint8_t rank) {
  Axes pair{};
  for (uint8_t k = 0; k < rank; ++k) pair[k] = static_cast<uint8_t>(rank - 1 - k);
  return row(layout, name, rank, pair);
}

constexpr LayoutInfo with(LayoutInfo info, bool LayoutInfo::*flag) {
  info.*flag = true;
  return info;
}

constexpr LayoutInfo kLayouts[] = {
    row(BNNSDataLayoutVector, "Vector", 1),
    row(BNNSDataLayout1DLastMajor, "1DLastMajor", 1),
    row(BNNSDataLayout1DFirstMajor, "1DFirstMajor", 1),
    row(BNNSDataLayoutRowMajorMatrix, "RowMajorMatrix", 2, {0, 1}, {1, 0}),
    row(BNNSDataLayoutColumnMajorMatrix, "ColumnMajorMatrix", 2),
    row(BNNSDataLayout2DLastMajor, "2DLastMajor", 2),
    first_major(BNNSDataLayout2DFirstMajor, "2DFirstMajor", 2),
    with(row(BNNSDataLayoutFullyConnectedSparse, "FullyConnectedSparse", 2), &LayoutInfo::opaque),
    row(BNNSDataLayoutImageCHW, "ImageCHW", 3),
    row(BNNSDataLayoutSNE, "SNE", 3),
    row(BNNSDataLayoutNSE, "NSE", 3),
    // Coordinates (k, d, h); stride[0] belongs to d, stride[1] to h, stride[2] to k.
    row(BNNSDataLayoutMHA_DHK, "MHA_DHK", 3, {1, 2, 0}),
    row(BNNSDataLayout3DLastMajor, "3DLastMajor", 3),
    first_major(BNNSDataLayout3DFirstMajor, "3DFirstMajor", 3),
    row(BNNSDataLayoutConvolutionWeightsOIHW, "ConvolutionWeightsOIHW", 4),
    with(row(BNNSDataLayoutConvolutionWeightsOIHrWr, "ConvolutionWeightsOIHrWr", 4),
         &LayoutInfo::rotated),
    // size[2] counts output channels, size[3] input channels.
    with(row(BNNSDataLayoutConvolutionWeightsIOHrWr, "ConvolutionWeightsIOHrWr", 4, {0, 1, 2, 3},
             {0, 1, 3, 2}),
         &LayoutInfo::rotated),
    with(row(BNNSDataLayoutConvolutionWeightsOIHW_Pack32, "ConvolutionWeightsOIHW_Pack32", 4),
         &LayoutInfo::packed32),
    row(BNNSDataLayout4DLastMajor, "4DLastMajor", 4),
    first_major(BNNSDataLayout4DFirstMajor, "4DFirstMajor", 4),
    row(BNNSDataLayout5DLastMajor, "5DLastMajor", 5),
    first_major(BNNSDataLayout5DFirstMajor, "5DFirstMajor", 5),
    row(BNNSDataLayout6DLastMajor, "6DLastMajor", 6),
    first_major(BNNSDataLayout6DFirstMajor, "6DFirstMajor", 6),
    row(BNNSDataLayout7DLastMajor, "7DLastMajor", 7),
    first_major(BNNSDataLayout7DFirstMajor, "7DFirstMajor", 7),
    row(BNNSDataLayout8DLastMajor, "8DLastMajor", 8),
    first_major(BNNSDataLayout8DFirstMajor, "8DFirstMajor", 8),
};

}  // namespace

const TypeInfo* find_type(BNNSDataType type) {
  for (const TypeInfo& info : kTypes) {
    if (info.type == type) return &info;
  }
  return nullptr;
}

const char* type_name(BNNSDataType type) {
  const TypeInfo* info = find_type(type);
  return info == nullptr ? "an unknown data type" : info->name;
}

const LayoutInfo* find_layout(BNNSDataLayout layout) {
  for (const LayoutInfo& info : kLayouts) {
    if (info.layout == layout) return &info;
  }
  return nullptr;
}

}  // namespace bnns::impl
