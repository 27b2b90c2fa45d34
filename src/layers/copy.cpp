// BNNSCopy pairs elements of equal logical coordinates (a matrix is row, column in every layout),
// converting type and layout. BNNSTranspose swaps two entries of size[] and moves stored values.
#include "layers/copy.h"

#include <algorithm>

#include "core/call.h"
#include "core/filter.h"
#include "ops/copy.h"

namespace bnns::impl {
namespace {

constexpr size_t kPack = 32;

// Views of both tensors whose axes are in the same order.
struct Pair {
  View from, to;
};

View strip(const View& view) {
  View empty = view;
  empty.rank = 0;
  empty.count = 1;
  return empty;
}

void push(View& view, size_t extent, size_t stride) {
  view.extent[view.rank] = extent;
  view.stride[view.rank] = stride;
  view.count *= extent;
  ++view.rank;
}

char* shifted(const View& view, size_t offset) {
  return static_cast<char*>(view.data) + offset * type_bytes(view.type);
}

// The stride of logical coordinate i. In packed weights it is that inside a block of kPack output
// channels.
size_t stride_of(const Descriptor& d, size_t i) {
  if (!d.layout->packed32) return d.logical_stride(i);
  size_t stride = kPack;
  for (size_t k = 0; k < i; ++k) stride *= d.size[k];
  return i == 3 ? 1 : stride;
}

// The offset of the element at kernel position (x, y), input channel 0 and output channel
// `channel`.
size_t offset_of(const Descriptor& d, size_t x, size_t y, size_t channel) {
  if (d.layout->rotated) {
    x = d.size[0] - 1 - x;
    y = d.size[1] - 1 - y;
  }
  if (d.layout->packed32) {
    const size_t block = kPack * d.size[0] * d.size[1] * d.size[2];
    return channel / kPack * block + x * kPack + y * kPack * d.size[0];
  }
  return x * stride_of(d, 0) + y * stride_of(d, 1) + channel * stride_of(d, 3);
}

// Copies convolution weights if one of the tensors is rotated or packed: for each kernel position
// and block of kPack output channels separately.
void copy_weights(const ConvertKernels& kernels, size_t threads, const Descriptor& from,
                  const Descriptor& to) {
  const size_t width = from.logical_extent(0), height = from.logical_extent(1);
  const size_t inputs = from.logical_extent(2), outputs = from.logical_extent(3);
  for (size_t channel = 0; channel < outputs; channel += kPack) {
    for (size_t y = 0; y < height; ++y) {
      for (size_t x = 0; x < width; ++x) {
        Pair pair = {strip(from.view), strip(to.view)};
        pair.from.data = shifted(from.view, offset_of(from, x, y, channel));
        pair.to.data = shifted(to.view, offset_of(to, x, y, channel));
        for (size_t i : {size_t{3}, size_t{2}}) {
          const size_t extent = i == 3 ? std::min(kPack, outputs - channel) : inputs;
          push(pair.from, extent, stride_of(from, i));
          push(pair.to, extent, stride_of(to, i));
        }
        run_copy(kernels, threads, collapsed(pair.from), collapsed(pair.to));
      }
    }
  }
}

void check_pair(const Descriptor& dest, const Descriptor& src) {
  require(!dest.layout->opaque, "dest.layout is ", dest.layout->name, "; it cannot be copied");
  require(!src.layout->opaque, "src.layout is ", src.layout->name, "; it cannot be copied");
  require(can_write(*dest.type), "dest.data_type is ", dest.type->name, "; it cannot be written");
  require_data(dest.view.data, dest.view.type, "dest.data");
  require_data(src.view.data, src.view.type, "src.data");
  require_apart(range_of(dest.view), "dest.data", range_of(src.view), "src.data");
}

void require_sub_byte_plain(const Descriptor& src) {
  const bool special = src.layout->rotated || src.layout->packed32;
  require(!special || src.type->bytes() > 0, "src.data_type is ", src.type->name,
          "; values below a byte are read from plain layouts only");
}

}  // namespace

void copy_array(const BNNSNDArrayDescriptor* dest_given, const BNNSNDArrayDescriptor* src_given,
                const BNNSFilterParameters* filter_parameters) {
  require(dest_given != nullptr, "dest is NULL");
  require(src_given != nullptr, "src is NULL");
  const FilterOptions options(filter_parameters);
  const Descriptor dest = read_descriptor(*dest_given, "dest", Use::kOutput);
  const Descriptor src = read_descriptor(*src_given, "src", Use::kInput);
  check_pair(dest, src);
  require_sub_byte_plain(src);
  bool equal = dest.rank() == src.rank();
  for (size_t i = 0; equal && i < src.rank(); ++i)
    equal = dest.logical_extent(i) == src.logical_extent(i);
  if (!equal) {
    fail("dest is ", describe(dest), ", src is ", describe(src),
         "; they must have the same logical shape");
  }
  const ConvertKernels& kernels = *convert_kernels();
  if (src.layout->rotated != dest.layout->rotated || src.layout->packed32 || dest.layout->packed32)
    return copy_weights(kernels, options.threads, src, dest);
  Pair pair = {strip(src.view), strip(dest.view)};
  for (size_t k = 0; k < dest.rank(); ++k) {
    const auto* tuple = dest.layout->tuple;
    const auto i =
        static_cast<size_t>(std::find(tuple, tuple + dest.rank(), dest.layout->pair[k]) - tuple);
    push(pair.from, src.logical_extent(i), src.logical_stride(i));
    push(pair.to, dest.logical_extent(i), dest.logical_stride(i));
  }
  run_copy(kernels, options.threads, collapsed(pair.from), collapsed(pair.to));
}

void transpose_array(const BNNSNDArrayDescriptor* dest_given,
                     const BNNSNDArrayDescriptor* src_given, size_t axis0, size_t axis1,
                     const BNNSFilterParameters* filter_parameters) {
  require(dest_given != nullptr, "dest is NULL");
  require(src_given != nullptr, "src is NULL");
  const FilterOptions options(filter_parameters);
  const Descriptor dest = read_descriptor(*dest_given, "dest", Use::kOutput);
  const Descriptor src = read_descriptor(*src_given, "src", Use::kInput);
  check_pair(dest, src);
  require_plain_layout(dest, "dest");
  require_plain_layout(src, "src");
  require(dest.type == src.type, "dest.data_type is ", dest.type->name, ", src.data_type is ",
          src.type->name, "; they must be equal");
  require(axis0 < src.rank(), "axis0 is ", axis0, "; src has ", src.rank(), " axes");
  require(axis1 < src.rank(), "axis1 is ", axis1, "; src has ", src.rank(), " axes");
  const auto swapped = [&](size_t axis) {
    return axis == axis0 ? axis1 : axis == axis1 ? axis0 : axis;
  };
  bool fits = dest.rank() == src.rank();
  for (size_t k = 0; fits && k < src.rank(); ++k) fits = dest.size[k] == src.size[swapped(k)];
  if (!fits) {
    fail("dest is ", describe(dest), ", src is ", describe(src), "; with axes ", axis0, " and ",
         axis1, " swapped they must have the same sizes");
  }
  const auto stride_of_size = [](const Descriptor& d, size_t axis) {
    const auto* pair = d.layout->pair;
    return d.view.stride[std::find(pair, pair + d.rank(), axis) - pair];
  };
  Pair pair = {strip(src.view), strip(dest.view)};
  pair.from.scaling = pair.to.scaling;  // stored values are copied without conversion
  for (size_t k = 0; k < dest.rank(); ++k) {
    const size_t axis = dest.layout->pair[k];
    push(pair.to, dest.size[axis], stride_of_size(dest, axis));
    push(pair.from, dest.size[axis], stride_of_size(src, swapped(axis)));
  }
  run_copy(*convert_kernels(), options.threads, collapsed(pair.from), collapsed(pair.to));
}

}  // namespace bnns::impl
