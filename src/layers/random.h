#pragma once

#include <cstddef>
#include <cstdint>

#include "openbnns/bnns.h"

namespace bnns::impl {

// If `seed` is NULL, the system provides a random one.
BNNSRandomGenerator make_random_generator(BNNSRandomGeneratorMethod method, const uint64_t* seed,
                                          const BNNSFilterParameters* filter_parameters);
void destroy_random_generator(BNNSRandomGenerator generator);

size_t random_state_size(BNNSRandomGenerator generator);
void get_random_state(BNNSRandomGenerator generator, size_t state_size, void* state);
void set_random_state(BNNSRandomGenerator generator, size_t state_size, const void* state);

void fill_uniform_float(BNNSRandomGenerator generator, const BNNSNDArrayDescriptor* desc, float a,
                        float b);
void fill_uniform_int(BNNSRandomGenerator generator, const BNNSNDArrayDescriptor* desc, int64_t a,
                      int64_t b);
void fill_normal_float(BNNSRandomGenerator generator, const BNNSNDArrayDescriptor* desc, float mean,
                       float stddev);
void fill_categorical_float(BNNSRandomGenerator generator, const BNNSNDArrayDescriptor* desc,
                            const BNNSNDArrayDescriptor* probabilities, bool log_probabilities);

}  // namespace bnns::impl
