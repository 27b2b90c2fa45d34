// Permute and padding filters as workloads.
#pragma once

#include "support/one_input_workload.h"

namespace test {

inline void add_movement_workloads(Workloads& all) {
  const auto add = [&](const char* name, const BNNSNDArrayDescriptor& in,
                       const BNNSNDArrayDescriptor& out, OneInputWorkload::Create create) {
    all.push_back(std::make_unique<OneInputWorkload>(name, in, out, std::move(create)));
  };
  const auto permute = [&](const char* name, size_t width, size_t channels, BNNSDataType type) {
    add(name, array(BNNSDataLayoutImageCHW, {width, 5, channels}, nullptr, type),
        array(BNNSDataLayoutImageCHW, {channels, width, 5}, nullptr, type),
        [](const auto& in, const auto& out, const auto& options) {
          const BNNSLayerParametersPermute p = {
              .i_desc = in, .o_desc = out, .permutation = {2, 0, 1}};
          return BNNSFilterCreateLayerPermute(&p, &options);
        });
  };
  const auto padding = [&](const char* name, BNNSPaddingMode mode, BNNSDataType type) {
    add(name, array(BNNSDataLayoutImageCHW, {7, 5, 2}, nullptr, type),
        array(BNNSDataLayoutImageCHW, {10, 7, 2}, nullptr, type),
        [mode](const auto& in, const auto& out, const auto& options) {
          const BNNSLayerParametersPadding p = {.i_desc = in,
                                                .o_desc = out,
                                                .padding_size = {{1, 2}, {1, 1}},
                                                .padding_mode = mode,
                                                .padding_value = 0};
          return BNNSFilterCreateLayerPadding(&p, &options);
        });
  };
  permute("permute", 7, 6, BNNSDataTypeFloat32);
  permute("permute, several threads", 101, 67, BNNSDataTypeFloat32);
  permute("permute of bytes", 7, 6, BNNSDataTypeInt8);
  padding("padding, constant", BNNSPaddingModeConstant, BNNSDataTypeFloat32);
  padding("padding, reflect", BNNSPaddingModeReflect, BNNSDataTypeFloat32);
  padding("padding, symmetric, halves", BNNSPaddingModeSymmetric, BNNSDataTypeFloat16);
}

}  // namespace test
