#include "workloads/gemm.h"

#include <memory>
#include <string>

#include "workloads/workloads.h"

namespace bench {

void append_gemm(std::vector<Workload>& list, bool quick) {
  for (const size_t n : {64, 128, 256, 512, 1024, 2048}) {
    if (quick && n > 128) break;
    // The right values of the largest take seconds for each operation.
    std::vector<std::string> ops{"fwd"};
    if (n < 2048) ops.insert(ops.end(), {"bwd_data", "bwd_weights"});
    list.push_back({.family = "gemm", .name = "n" + std::to_string(n), .ops = ops, .make = [n] {
                      return std::make_unique<FullyConnected>(n, n, n);
                    }});
  }
}

}  // namespace bench
