// Dropout filters as workloads. They drop nothing: what is dropped differs from call to call, and
// these tests compare calls.
#pragma once

#include "support/one_input_workload.h"

namespace test {

inline void add_dropout_workloads(Workloads& all) {
  const auto add = [&](const char* name, const BNNSNDArrayDescriptor& like, BNNSDataType in_type,
                       uint8_t control) {
    BNNSNDArrayDescriptor in = like;
    in.data_type = in_type;
    all.push_back(std::make_unique<OneInputWorkload>(
        name, in, like,
        [control](const auto& from, const auto& to, const auto& options) {
          const BNNSLayerParametersDropout p = {
              .i_desc = from, .o_desc = to, .rate = 0, .seed = 17, .control = control};
          return BNNSFilterCreateLayerDropout(&p, &options);
        },
        true));
  };
  add("dropout", vector(1000), BNNSDataTypeFloat32, 0);
  add("dropout of channels, halves", array(BNNSDataLayoutImageCHW, {7, 5, 6}), BNNSDataTypeFloat16,
      3);
}

}  // namespace test
