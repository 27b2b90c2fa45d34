// The step of an optimizer.
#include "layers/optimizer.h"

#include "api/boundary.h"

using namespace bnns::impl;

extern "C" {

int BNNSOptimizerStep(BNNSOptimizerFunction function, const void* OptimizerAlgFields,
                      size_t number_of_parameters, BNNSNDArrayDescriptor** parameters,
                      const BNNSNDArrayDescriptor** gradients, BNNSNDArrayDescriptor** accumulators,
                      const BNNSFilterParameters* filter_params) {
  return boundary::status("BNNSOptimizerStep", [&] {
    step_optimizer(function, OptimizerAlgFields,
                   {.count = number_of_parameters,
                    .parameters = parameters,
                    .gradients = gradients,
                    .accumulators = accumulators},
                   filter_params);
  });
}

}  // extern "C"
