// The matrix product by itself: fully connected layers with as many inputs, outputs and samples.
// fwd is A B^T, bwd_data A B, bwd_weights A^T B.
#pragma once

#include <vector>

#include "harness/harness.h"

namespace bench {

struct FullyConnected;
struct Workload;

// The family gemm.
void append_gemm(std::vector<Workload>& list, bool quick);

// dnnl_sgemm on what the user has, bias included: rows of C start as the bias.
void add_onednn_gemm(const FullyConnected& p, Rows& rows);

}  // namespace bench
