// The size queries: bytes of a tensor = (1 + sum of (extent - 1) * stride) * bytes of an element.
#ifndef OPENBNNS_SPEC_SIZES_H
#define OPENBNNS_SPEC_SIZES_H

#include "runner/case.h"
#include "layers/copy.h"
#include "runner/placement.h"
#include "runner/published.h"

namespace spec {

inline std::string check_ranks() {
  for (const LayoutInfo& row : kLayouts) {
    const size_t rank = static_cast<uint32_t>(row.layout) >> 16;
    if (BNNSDataLayoutGetRank(row.layout) != rank) return std::string(row.name) + ": wrong rank";
  }
  for (uint32_t unknown : {0u, 0x10001u, 0x98000u, 0xFFFFFFFFu})
    if (BNNSDataLayoutGetRank(static_cast<BNNSDataLayout>(unknown)) != SIZE_MAX)
      return "an unknown layout has a rank";
  return "";
}

inline std::string check_data_sizes() {
  for (size_t rank = 1; rank <= 8; ++rank) {
    for (const Shape& shape : shapes_of_rank(rank, Index{3, 4, 2, 33, 2, 1, 3, 2})) {
      for (const TypeInfo& type : kTypes) {
        for (Strides strides : {Strides::kDense, Strides::kPadded, Strides::kStrided}) {
          if (is_pack32(shape.layout)) continue;
          Shape s = shape;
          s.size.resize(rank);
          Placement p;
          p.place(s, {.type = type.type, .table = std::vector<float>(256)}, 1,
                  {.strides = strides});
          const BNNSNDArrayDescriptor d = p.descriptor();
          if (BNNSNDArrayGetDataSize(&d) != p.span_bytes())
            return tag(s) + " " + type.name + ": " + std::to_string(BNNSNDArrayGetDataSize(&d)) +
                   " bytes, expected " + std::to_string(p.span_bytes());
        }
      }
    }
  }
  BNNSNDArrayDescriptor d = describe({BNNSDataLayoutVector, {8}}, nullptr);
  if (BNNSNDArrayGetDataSize(&d) != 0) return "a tensor without data has a size";
  for (BNNSDataType type :
       {BNNSDataTypeInt1, BNNSDataTypeInt2, BNNSDataTypeInt4, BNNSDataTypeUInt1, BNNSDataTypeUInt2,
        BNNSDataTypeUInt3, BNNSDataTypeUInt4, BNNSDataTypeUInt6, BNNSDataTypeIndexed1,
        BNNSDataTypeIndexed2, BNNSDataTypeIndexed4}) {
    d = describe({BNNSDataLayoutVector, {8}}, &d, type);
    if (BNNSNDArrayGetDataSize(&d) != 0) return "a type below one byte has a size";
  }
  return "";
}

inline std::string check_allocation_sizes() {
  BNNSTensor t = {};
  t.data_type = BNNSDataTypeFloat16;
  t.rank = 3;
  const ssize_t shape[] = {4, 3, 5}, stride[] = {40, 7, 1};
  std::copy(shape, shape + 3, t.shape);
  std::copy(stride, stride + 3, t.stride);
  if (BNNSTensorGetAllocationSize(&t) != (1 + 3 * 40 + 2 * 7 + 4) * 2) return "wrong size";
  t.stride[0] = 0;
  if (BNNSTensorGetAllocationSize(&t) != (1 + 2 * 7 + 4) * 2) return "stride 0 is not literal";
  t.stride[0] = 40;
  t.shape[1] = -1;
  if (BNNSTensorGetAllocationSize(&t) != SIZE_MAX) return "an unknown extent has a size";
  t.shape[1] = 3;
  t.stride[0] = PTRDIFF_MAX;
  if (BNNSTensorGetAllocationSize(&t) != SIZE_MAX) return "an overflow has a size";
  return "";
}

inline void add_sizes(Suite& suite) {
  suite.checks.insert(suite.checks.end(), {{"sizes/rank", check_ranks},
                                           {"sizes/data", check_data_sizes},
                                           {"sizes/allocation", check_allocation_sizes}});
}

}  // namespace spec
#endif
