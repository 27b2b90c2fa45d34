// One small workload per path of every layer.
#pragma once

#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "support/arithmetic_workload.h"
#include "support/embedding_workload.h"
#include "support/dropout_workload.h"
#include "support/attention_workload.h"
#include "support/fused_workload.h"
#include "support/gram_workload.h"
#include "support/image_workload.h"
#include "support/loss_workload.h"
#include "support/matmul_workload.h"
#include "support/resize_workload.h"
#include "support/movement_workload.h"
#include "support/sparse_workload.h"
#include "support/reduction_workload.h"
#include "support/unary_workload.h"

namespace test {

inline constexpr void (*kWorkloadFamilies[])(Workloads&) = {
    add_arithmetic_workloads, add_attention_workloads,     add_convolution_workloads,
    add_dropout_workloads,    add_embedding_workloads,     add_fused_workloads,
    add_gram_workloads,       add_loss_workloads,          add_matmul_workloads,
    add_movement_workloads,   add_normalization_workloads, add_pooling_workloads,
    add_reduction_workloads,  add_resize_workloads,        add_sparse_workloads,
    add_unary_workloads,
};

inline Workloads small_workloads() {
  Workloads all;
  for (const auto add : kWorkloadFamilies) add(all);
  return all;
}

// small_workloads()[index]; makes the workloads of its family only.
inline std::unique_ptr<Workload> small_workload(size_t index) {
  static const std::vector<size_t> sizes = [] {
    std::vector<size_t> result;
    for (const auto add : kWorkloadFamilies) {
      Workloads family;
      add(family);
      result.push_back(family.size());
    }
    return result;
  }();
  size_t k = 0;
  for (; index >= sizes[k]; ++k) index -= sizes[k];
  Workloads family;
  kWorkloadFamilies[k](family);
  return std::move(family[index]);
}

// Name of small_workloads()[index] as a test may be called.
inline std::string small_workload_identifier(size_t index) {
  static const Workloads all = small_workloads();
  std::string name = all[index]->name();
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

}  // namespace test
