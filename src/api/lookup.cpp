// Functions that move elements which indices choose.
#include "api/boundary.h"
#include "layers/gather.h"

using namespace bnns::impl;

extern "C" {

int BNNSGather(size_t axis, const BNNSNDArrayDescriptor* input,
               const BNNSNDArrayDescriptor* indices, BNNSNDArrayDescriptor* output,
               const BNNSFilterParameters* filter_params) {
  return boundary::status("BNNSGather",
                          [&] { gather(axis, input, indices, output, filter_params); });
}

int BNNSScatter(size_t axis, BNNSReduceFunction op, const BNNSNDArrayDescriptor* input,
                const BNNSNDArrayDescriptor* indices, BNNSNDArrayDescriptor* output,
                const BNNSFilterParameters* filter_params) {
  return boundary::status("BNNSScatter",
                          [&] { scatter(axis, op, input, indices, output, filter_params); });
}

int BNNSGatherND(const BNNSNDArrayDescriptor* input, const BNNSNDArrayDescriptor* indices,
                 BNNSNDArrayDescriptor* output, const BNNSFilterParameters* filter_params) {
  return boundary::status("BNNSGatherND",
                          [&] { gather_nd(input, indices, output, filter_params); });
}

int BNNSScatterND(BNNSReduceFunction op, const BNNSNDArrayDescriptor* input,
                  const BNNSNDArrayDescriptor* indices, BNNSNDArrayDescriptor* output,
                  const BNNSFilterParameters* filter_params) {
  return boundary::status("BNNSScatterND",
                          [&] { scatter_nd(op, input, indices, output, filter_params); });
}

}  // extern "C"
