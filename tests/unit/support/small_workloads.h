// One small workload per path of every layer.
#pragma once

#include <cctype>
#include <string>
#include <utility>

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

inline Workloads small_workloads() {
  Workloads all;
  add_unary_workloads(all);
  add_sparse_workloads(all);
  add_convolution_workloads(all);
  add_pooling_workloads(all);
  add_normalization_workloads(all);
  add_loss_workloads(all);
  add_dropout_workloads(all);
  add_gram_workloads(all);
  add_arithmetic_workloads(all);
  add_attention_workloads(all);
  add_matmul_workloads(all);
  add_embedding_workloads(all);
  add_movement_workloads(all);
  add_reduction_workloads(all);
  add_fused_workloads(all);
  add_resize_workloads(all);
  return all;
}

inline std::unique_ptr<Workload> small_workload(size_t index) {
  return std::move(small_workloads()[index]);
}

// Name of small_workloads()[index] as a test may be called.
inline std::string small_workload_identifier(size_t index) {
  static const Workloads all = small_workloads();
  std::string name = all[index]->name();
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

}  // namespace test
