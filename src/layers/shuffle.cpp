// BNNSShuffle: blocks of r x r pixels become channels, or the other way round. With images of
// C channels whose pixels are (h r + i, w r + j), and images of C r^2 channels with pixels (h, w):
//   pixel shuffle    wide(n, c, h r + i, w r + j) = deep(n, c r^2 + i r + j, h, w)
//   depth to space   wide(n, c, h r + i, w r + j) = deep(n, (i r + j) C + c, h, w)
// Pixel unshuffle and space to depth move the same elements back. r follows from the sizes.
#include "layers/shuffle.h"

#include "core/call.h"
#include "core/filter.h"
#include "layers/stored_values.h"
#include "ops/movement/move.h"

namespace bnns::impl {
namespace {

struct ShuffleInfo {
  bool to_wide;             // the input is the deep one
  bool channel_is_fastest;  // of the coordinates (i, j, c) of a deep channel
};

const ShuffleInfo& find_shuffle(BNNSShuffleType type) {
  static constexpr ShuffleInfo kShuffles[] = {{.to_wide = true, .channel_is_fastest = false},
                                              {.to_wide = false, .channel_is_fastest = false},
                                              {.to_wide = true, .channel_is_fastest = true},
                                              {.to_wide = false, .channel_is_fastest = true}};
  const auto index = static_cast<uint32_t>(type);
  require(index < std::size(kShuffles), "type is ", index, "; that is no BNNSShuffleType");
  return kShuffles[index];
}

Descriptor read_images(const BNNSNDArrayDescriptor& given, const char* field, Use use) {
  const Descriptor result = read_stored_values(given, field, use);
  require(given.layout == BNNSDataLayout4DFirstMajor, field, ".layout is ", result.layout->name,
          "; it must be 4DFirstMajor, which is (image, channel, row, column)");
  const Text data(field, ".data");
  require_data(given.data, result.view.type, data.c_str());
  return result;
}

enum : size_t { kN, kC, kH, kW };

// r; the layout's size[] is in the order of the coordinates.
size_t read_factor(const Descriptor& deep, const Descriptor& wide, const Descriptor& in,
                   const Descriptor& out) {
  const size_t r = wide.size[kH] / deep.size[kH];
  bool fits = r > 0 && wide.size[kN] == deep.size[kN];
  for (const size_t axis : {kH, kW})
    fits = fits && wide.size[axis] % deep.size[axis] == 0 && wide.size[axis] / deep.size[axis] == r;
  // C r^2 cannot overflow where C r fits, because each factor was found in a size.
  fits = fits && deep.size[kC] % r == 0 && deep.size[kC] / r % r == 0 &&
         deep.size[kC] / r / r == wide.size[kC];
  if (!fits) {
    fail("output is ", describe(out), ", input is ", describe(in),
         "; rows and columns of one must be r times those of the other, which has r^2 times as "
         "many channels");
  }
  return r;
}

}  // namespace

void shuffle(BNNSShuffleType type, const BNNSNDArrayDescriptor* input,
             const BNNSNDArrayDescriptor* output, const BNNSFilterParameters* filter_parameters) {
  require(input != nullptr, "input is NULL");
  require(output != nullptr, "output is NULL");
  const FilterOptions options(filter_parameters);
  const ShuffleInfo& info = find_shuffle(type);
  const Descriptor in = read_images(*input, "input", Use::kInput);
  const Descriptor out = read_images(*output, "output", Use::kOutput);
  require_equal_types(out, "output", in, "input");
  const Descriptor& deep = info.to_wide ? in : out;
  const Descriptor& wide = info.to_wide ? out : in;
  const size_t r = read_factor(deep, wide, in, out);
  require_apart(range_of(out.view), "output.data", range_of(in.view), "input.data");

  Move move;
  const auto push = [&](size_t extent, size_t deep_stride, size_t wide_stride) {
    move.push({.extent = extent,
               .from = info.to_wide ? deep_stride : wide_stride,
               .to = info.to_wide ? wide_stride : deep_stride});
  };
  const auto strides = [](const Descriptor& d, size_t axis) { return d.logical_stride(axis); };
  const size_t channel = strides(deep, kC), channels = wide.size[kC];
  const size_t of_j = info.channel_is_fastest ? channels : 1;  // in channels of the deep images
  push(wide.size[kN], strides(deep, kN), strides(wide, kN));
  push(channels, info.channel_is_fastest ? channel : channel * r * r, strides(wide, kC));
  push(r, channel * of_j * r, strides(wide, kH));
  push(r, channel * of_j, strides(wide, kW));
  push(deep.size[kH], strides(deep, kH), strides(wide, kH) * r);
  push(deep.size[kW], strides(deep, kW), strides(wide, kW) * r);
  run_move(*move_kernels(), options.threads, in.type->bytes(), move, in.view.data, out.view.data);
}

}  // namespace bnns::impl
