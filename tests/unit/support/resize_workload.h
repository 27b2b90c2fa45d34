// Resize filters as workloads.
#pragma once

#include "support/one_input_workload.h"

namespace test {

// Factors of 2, others, halves, and one that is worth several threads.
inline void add_resize_workloads(Workloads& all) {
  const auto add = [&](const char* name, BNNSInterpolationMethod method, size_t from, size_t to,
                       BNNSDataType type = BNNSDataTypeFloat32) {
    all.push_back(std::make_unique<OneInputWorkload>(
        name, array(BNNSDataLayoutImageCHW, {from, from, 4}, nullptr, type),
        array(BNNSDataLayoutImageCHW, {to, to, 4}, nullptr, type),
        [method](const auto& in, const auto& out, const auto& options) {
          const BNNSLayerParametersResize p = {.method = method, .i_desc = in, .o_desc = out};
          return BNNSFilterCreateLayerResize(&p, &options);
        }));
  };
  add("resize, linear, twice", BNNSInterpolationMethodLinear, 9, 18);
  add("resize, linear", BNNSInterpolationMethodLinear, 9, 13);
  add("resize, nearest", BNNSInterpolationMethodNearest, 12, 7);
  add("resize, halves", BNNSInterpolationMethodLinear, 9, 18, BNNSDataTypeFloat16);
  add("resize, large", BNNSInterpolationMethodLinear, 50, 100);
}

}  // namespace test
