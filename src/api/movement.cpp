// The backward call of permute filters, and the functions that only move elements.
#include "api/boundary.h"
#include "layers/band_part.h"
#include "layers/permute.h"
#include "layers/shuffle.h"
#include "layers/tile.h"

using namespace bnns::impl;

extern "C" {

int BNNSPermuteFilterApplyBackwardBatch(BNNSFilter filter, size_t batch_size,
                                        BNNSNDArrayDescriptor* in_delta, size_t in_delta_stride,
                                        const BNNSNDArrayDescriptor* out_delta,
                                        size_t out_delta_stride) {
  return boundary::status("BNNSPermuteFilterApplyBackwardBatch", [&] {
    find_filter_as<PermuteCalls>(filter).apply_permute_backward(
        {.batch = batch_size,
         .in_delta = in_delta,
         .in_delta_stride = in_delta_stride,
         .out_delta = out_delta,
         .out_delta_stride = out_delta_stride});
  });
}

int BNNSTile(const BNNSNDArrayDescriptor* input, BNNSNDArrayDescriptor* output,
             const BNNSFilterParameters* filter_params) {
  return boundary::status("BNNSTile", [&] { tile(input, output, filter_params); });
}

int BNNSTileBackward(BNNSNDArrayDescriptor* in_delta, const BNNSNDArrayDescriptor* out_delta,
                     const BNNSFilterParameters* filter_params) {
  return boundary::status("BNNSTileBackward",
                          [&] { tile_backward(in_delta, out_delta, filter_params); });
}

int BNNSShuffle(BNNSShuffleType type, const BNNSNDArrayDescriptor* input,
                BNNSNDArrayDescriptor* output, const BNNSFilterParameters* filter_params) {
  return boundary::status("BNNSShuffle", [&] { shuffle(type, input, output, filter_params); });
}

int BNNSBandPart(int num_lower, int num_upper, const BNNSNDArrayDescriptor* input,
                 BNNSNDArrayDescriptor* output, const BNNSFilterParameters* filter_params) {
  return boundary::status("BNNSBandPart",
                          [&] { band_part(num_lower, num_upper, input, output, filter_params); });
}

}  // extern "C"
