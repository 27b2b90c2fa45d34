// `bench`: times the cases marked for speed, forward and backward, on the best target. Bytes count
// every operand of a call once; FLOP are the case's own count, doubled for a backward pass that
// computes two products.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <openbnns/openbnns.h>

#include "runner/case.h"
#include "runner/execution.h"
#include "runner/options.h"

namespace spec {
namespace {

struct Row {
  std::string name;
  double nanoseconds, bytes, flops;
};

// The median over several rounds, each long enough for the resolution of the clock.
template <class F>
double time_of(F call, bool quick) {
  using Clock = std::chrono::steady_clock;
  const auto measure = [&](size_t calls) {
    const auto start = Clock::now();
    for (size_t i = 0; i < calls; ++i) call();
    const std::chrono::duration<double, std::nano> time = Clock::now() - start;
    return time.count() / static_cast<double>(calls);
  };
  const double round = quick ? 1e5 : 4e6;
  const double first = std::min(measure(1), measure(1));
  const size_t calls = static_cast<size_t>(std::clamp(round / first, 1.0, 1e7));
  std::vector<double> times(quick ? 3 : 7);
  for (double& t : times) t = measure(calls);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void run_case(const Case& c, const TypeSet& types, size_t threads, const Options& options,
              std::vector<Row>& rows) {
  Execution execution(c, types, threads);
  if (!execution.create()) return;
  const std::string name = c.name() + "/" + types.name + "/t" + std::to_string(threads);
  const auto measure = [&](const std::string& mode, auto call, double flops) {
    if (call())
      rows.push_back({name + "/" + mode, time_of(call, options.quick), execution.bytes(), flops});
  };
  measure(
      "forward", [&] { return execution.forward(); }, c.flops);
  if (types.backward != Need::kRequired) return;
  for (const Backward& b : c.backward) {
    if (b.refused) continue;
    const double products = static_cast<double>(std::min<size_t>(b.deltas.size(), 2));
    measure(
        b.name, [&] { return execution.backward(b); }, c.flops * products);
  }
}

void print(const std::vector<Row>& rows, bool json) {
  if (json) {
    std::printf("{\"target\": \"%s\", \"results\": [\n", OpenBNNSGetTarget());
    for (size_t i = 0; i < rows.size(); ++i)
      std::printf("  {\"name\": \"%s\", \"ns\": %.6g, \"bytes\": %.0f, \"flops\": %.0f}%s\n",
                  rows[i].name.c_str(), rows[i].nanoseconds, rows[i].bytes, rows[i].flops,
                  i + 1 < rows.size() ? "," : "");
    std::printf("]}\n");
    return;
  }
  std::printf("target %s\n%-72s %12s %9s %9s\n", OpenBNNSGetTarget(), "case", "ns/call", "GB/s",
              "GFLOP/s");
  for (const Row& r : rows)
    std::printf("%-72s %12.0f %9.2f %9.2f\n", r.name.c_str(), r.nanoseconds,
                r.bytes / r.nanoseconds, r.flops / r.nanoseconds);
}

}  // namespace

int run_bench(const Options& options) {
  const Suite suite = all_layers();
  std::vector<Row> rows;
  for (const Case& c : suite.cases) {
    if (!c.speed || c.name().find(options.filter) == std::string::npos) continue;
    for (const TypeSet& types : c.types)
      for (size_t threads : {size_t{1}, size_t{0}})
        if (options.selects(c.name() + "/" + types.name) &&
            options.samples(c.name() + types.name, 8))
          run_case(c, types, threads, options, rows);
  }
  print(rows, options.json);
  return 0;
}

}  // namespace spec
