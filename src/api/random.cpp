// Random generators.
#include "layers/random.h"

#include "api/boundary.h"

using namespace bnns::impl;

extern "C" {

BNNSRandomGenerator BNNSCreateRandomGenerator(BNNSRandomGeneratorMethod method,
                                              const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSCreateRandomGenerator",
                          [&] { return make_random_generator(method, nullptr, filter_params); });
}

BNNSRandomGenerator BNNSCreateRandomGeneratorWithSeed(BNNSRandomGeneratorMethod method,
                                                      uint64_t seed,
                                                      const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSCreateRandomGeneratorWithSeed",
                          [&] { return make_random_generator(method, &seed, filter_params); });
}

void BNNSDestroyRandomGenerator(BNNSRandomGenerator generator) {
  boundary::status("BNNSDestroyRandomGenerator", [&] { destroy_random_generator(generator); });
}

size_t BNNSRandomGeneratorStateSize(BNNSRandomGenerator generator) {
  return boundary::value("BNNSRandomGeneratorStateSize", size_t{0},
                         [&] { return random_state_size(generator); });
}

int BNNSRandomGeneratorGetState(BNNSRandomGenerator generator, size_t state_size, void* state) {
  return boundary::status("BNNSRandomGeneratorGetState",
                          [&] { get_random_state(generator, state_size, state); });
}

int BNNSRandomGeneratorSetState(BNNSRandomGenerator generator, size_t state_size, void* state) {
  return boundary::status("BNNSRandomGeneratorSetState",
                          [&] { set_random_state(generator, state_size, state); });
}

int BNNSRandomFillUniformFloat(BNNSRandomGenerator generator, BNNSNDArrayDescriptor* desc, float a,
                               float b) {
  return boundary::status("BNNSRandomFillUniformFloat",
                          [&] { fill_uniform_float(generator, desc, a, b); });
}

int BNNSRandomFillUniformInt(BNNSRandomGenerator generator, BNNSNDArrayDescriptor* desc, int64_t a,
                             int64_t b) {
  return boundary::status("BNNSRandomFillUniformInt",
                          [&] { fill_uniform_int(generator, desc, a, b); });
}

int BNNSRandomFillNormalFloat(BNNSRandomGenerator generator, BNNSNDArrayDescriptor* desc,
                              float mean, float stddev) {
  return boundary::status("BNNSRandomFillNormalFloat",
                          [&] { fill_normal_float(generator, desc, mean, stddev); });
}

int BNNSRandomFillCategoricalFloat(BNNSRandomGenerator generator, const BNNSNDArrayDescriptor* desc,
                                   const BNNSNDArrayDescriptor* probabilities,
                                   bool log_probabilities) {
  return boundary::status("BNNSRandomFillCategoricalFloat", [&] {
    fill_categorical_float(generator, desc, probabilities, log_probabilities);
  });
}

}  // extern "C"
