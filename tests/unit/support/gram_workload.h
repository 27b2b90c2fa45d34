// Gram filters as workloads.
#pragma once

#include "support/one_input_workload.h"

namespace test {

// Dense Float32, used where it lies; halves, which are copied; products that are packed.
inline void add_gram_workloads(Workloads& all) {
  const auto add = [&](const char* name, size_t width, size_t channels, BNNSDataType type) {
    all.push_back(std::make_unique<OneInputWorkload>(
        name, array(BNNSDataLayoutImageCHW, {width, width, channels}, nullptr, type),
        array(BNNSDataLayoutRowMajorMatrix, {channels, channels}, nullptr, type),
        [](const auto& in, const auto& out, const auto& options) {
          const BNNSLayerParametersGram p = {.alpha = 0.5f, .i_desc = in, .o_desc = out};
          return BNNSFilterCreateLayerGram(&p, &options);
        }));
  };
  add("gram", 5, 4, BNNSDataTypeFloat32);
  add("gram of halves", 5, 4, BNNSDataTypeFloat16);
  add("gram, packed", 7, 40, BNNSDataTypeFloat32);
}

}  // namespace test
