// Sizes of descriptors, tensors and layouts.
#include <cstdint>

#include "api/boundary.h"
#include "core/checked.h"
#include "core/descriptor.h"
#include "layers/sparse.h"

using namespace bnns::impl;

namespace {

size_t data_size(const BNNSNDArrayDescriptor* array) {
  require(array != nullptr, "array is NULL");
  require(array->data != nullptr, "array->data is NULL; only data has a size");
  const Descriptor descriptor = read_descriptor(*array, "array", Use::kInput);
  require(descriptor.type->bytes() > 0, "array->data_type is ", descriptor.type->name,
          "; the size of types below a byte is not defined");
  if (descriptor.layout->opaque) return packed_size(array->data, "array->data");
  return descriptor.view.span * descriptor.type->bytes();
}

size_t allocation_size(const BNNSTensor* tensor) {
  require(tensor != nullptr, "tensor is NULL");
  const TypeInfo* type = find_type(tensor->data_type);
  require(type != nullptr, "tensor->data_type is ", static_cast<uint32_t>(tensor->data_type),
          "; that is no BNNSDataType");
  require(tensor->rank <= kMaxRank, "tensor->rank is ", static_cast<unsigned>(tensor->rank),
          "; it must be at most ", kMaxRank);
  size_t values = 1;
  bool empty = false;
  for (size_t k = 0; k < tensor->rank; ++k) {
    const ssize_t shape = tensor->shape[k], stride = tensor->stride[k];
    require(shape >= 0, "tensor->shape[", k, "] is ", shape, "; it is not known yet");
    require(stride >= 0, "tensor->stride[", k, "] is ", stride, "; it is not known yet");
    empty |= shape == 0;
    if (shape == 0) continue;
    const size_t reach = checked_mul(static_cast<size_t>(shape - 1), static_cast<size_t>(stride),
                                     "the span of tensor");
    values = checked_add(values, reach, "the span of tensor");
  }
  if (empty) return 0;
  return div_up(checked_mul(values, type->bits, "the size of tensor in bits"), 8);
}

}  // namespace

extern "C" {

size_t BNNSNDArrayGetDataSize(const BNNSNDArrayDescriptor* array) {
  return boundary::value("BNNSNDArrayGetDataSize", size_t{0}, [&] { return data_size(array); });
}

size_t BNNSTensorGetAllocationSize(const BNNSTensor* tensor) {
  return boundary::value("BNNSTensorGetAllocationSize", SIZE_MAX,
                         [&] { return allocation_size(tensor); });
}

size_t BNNSDataLayoutGetRank(BNNSDataLayout layout) {
  return boundary::value("BNNSDataLayoutGetRank", SIZE_MAX, [&] {
    const LayoutInfo* info = find_layout(layout);
    require(info != nullptr, "layout is ", static_cast<uint32_t>(layout),
            "; that is no BNNSDataLayout");
    return size_t{info->rank};
  });
}

}  // extern "C"
