// FMA chains and streaming loops, compiled by Highway once per instruction set; the best one the
// CPU supports is run. Each thread is pinned to its own core while it measures.
#include "harness/machine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "harness/machine.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 12 independent chains: more than latency (4 to 5 cycles) times FMAs per cycle (2) of current
// CPUs, and few enough for 16 registers. Returns the floating-point operations done.
double fma_chains(long steps, float* sink) {
  const hn::ScalableTag<float> d;
  const auto a = hn::Set(d, 1e-9f), b = hn::Set(d, 0.9f);
  // The chains start with different values: the compiler would merge equal ones.
  auto c0 = hn::Set(d, 0.0f), c1 = hn::Set(d, 0.1f), c2 = hn::Set(d, 0.2f);
  auto c3 = hn::Set(d, 0.3f), c4 = hn::Set(d, 0.4f), c5 = hn::Set(d, 0.5f);
  auto c6 = hn::Set(d, 0.6f), c7 = hn::Set(d, 0.7f), c8 = hn::Set(d, 0.8f);
  auto c9 = hn::Set(d, 0.9f), c10 = hn::Set(d, 1.0f), c11 = hn::Set(d, 1.1f);
  for (long i = 0; i < steps; ++i) {
    c0 = hn::MulAdd(c0, b, a);
    c1 = hn::MulAdd(c1, b, a);
    c2 = hn::MulAdd(c2, b, a);
    c3 = hn::MulAdd(c3, b, a);
    c4 = hn::MulAdd(c4, b, a);
    c5 = hn::MulAdd(c5, b, a);
    c6 = hn::MulAdd(c6, b, a);
    c7 = hn::MulAdd(c7, b, a);
    c8 = hn::MulAdd(c8, b, a);
    c9 = hn::MulAdd(c9, b, a);
    c10 = hn::MulAdd(c10, b, a);
    c11 = hn::MulAdd(c11, b, a);
  }
  const auto s = hn::Add(hn::Add(hn::Add(c0, c1), hn::Add(c2, c3)), hn::Add(c4, c5));
  const auto t = hn::Add(hn::Add(hn::Add(c6, c7), hn::Add(c8, c9)), hn::Add(c10, c11));
  *sink = hn::GetLane(hn::Add(s, t));
  return 2.0 * 12 * double(hn::Lanes(d)) * double(steps);
}

// Eight accumulators, so that the loads are the bottleneck and not the latency of the additions.
float read_all(const float* a, size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  for (size_t i = 0; i + 8 * lanes <= n; i += 8 * lanes) {
    s0 = hn::Add(s0, hn::Load(d, a + i));
    s1 = hn::Add(s1, hn::Load(d, a + i + lanes));
    s2 = hn::Add(s2, hn::Load(d, a + i + 2 * lanes));
    s3 = hn::Add(s3, hn::Load(d, a + i + 3 * lanes));
    s4 = hn::Add(s4, hn::Load(d, a + i + 4 * lanes));
    s5 = hn::Add(s5, hn::Load(d, a + i + 5 * lanes));
    s6 = hn::Add(s6, hn::Load(d, a + i + 6 * lanes));
    s7 = hn::Add(s7, hn::Load(d, a + i + 7 * lanes));
  }
  const auto low = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
  const auto high = hn::Add(hn::Add(s4, s5), hn::Add(s6, s7));
  return hn::GetLane(hn::Add(low, high));
}

void triad(const float* a, const float* b, float* c, size_t n) {
  const hn::ScalableTag<float> d;
  const auto scale = hn::Set(d, 0.5f);
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    hn::Store(hn::MulAdd(scale, hn::Load(d, b + i), hn::Load(d, a + i)), d, c + i);
  }
}

int lanes_bits() {
  return int(hn::Lanes(hn::ScalableTag<float>()) * 32);
}

}  // namespace HWY_NAMESPACE
}  // namespace bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>

#include "harness/harness.h"

namespace bench {
namespace {
HWY_EXPORT(fma_chains);
HWY_EXPORT(read_all);
HWY_EXPORT(triad);
HWY_EXPORT(lanes_bits);

// Runs f on `threads` pinned threads at once and returns the sum of their results. f is given a
// barrier: a function that returns when all threads have called it.
template <class F>
double sum_over_threads(int threads, F f) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  std::atomic<int> waiting{threads};
  std::vector<double> values(size_t(threads), 0.0);
  std::vector<std::thread> team;
  for (int i = 0; i < threads; ++i) {
    team.emplace_back([&, i] {
      cpu_set_t mine;
      CPU_ZERO(&mine);
      CPU_SET(cpus[size_t(i) % cpus.size()], &mine);
      sched_setaffinity(0, sizeof mine, &mine);
      values[size_t(i)] = f([&] {
        --waiting;
        while (waiting > 0) std::this_thread::yield();
      });
    });
  }
  double sum = 0;
  for (int i = 0; i < threads; ++i) {
    team[size_t(i)].join();
    sum += values[size_t(i)];
  }
  return sum;
}

double stream_gbs(int threads, size_t bytes, bool triad, double seconds) {
  const size_t arrays = triad ? 3 : 1;
  const size_t n =
      std::max<size_t>(bytes / sizeof(float) / arrays / size_t(threads) / 128 * 128, 128);
  return sum_over_threads(threads, [=](auto ready) {
    Buffer a(n), b(triad ? n : 0), c(triad ? n : 0);
    std::atomic<float> sink{0};
    ready();
    const double start = now();
    double elapsed = 0, passes = 0;
    const int bundle = int(std::clamp<size_t>((1 << 20) / (n * arrays * 4), 1, 64));
    do {
      for (int i = 0; i < bundle; ++i) {
        if (triad) {
          HWY_DYNAMIC_DISPATCH(triad)(a.data(), b.data(), c.data(), n);
        } else {
          sink.store(HWY_DYNAMIC_DISPATCH(read_all)(a.data(), n), std::memory_order_relaxed);
        }
      }
      passes += bundle;
      elapsed = now() - start;
    } while (elapsed < seconds);
    return passes * double(n * arrays * sizeof(float)) / elapsed * 1e-9;
  });
}

double median_of_three(int threads, size_t bytes, bool triad) {
  double v[3];
  for (double& x : v) x = stream_gbs(threads, bytes, triad, 8e-3);
  std::sort(v, v + 3);
  return v[1];
}

}  // namespace

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return "unknown";
}

int vector_bits() {
  return HWY_DYNAMIC_DISPATCH(lanes_bits)();
}

double fma_gflops(int threads, double seconds) {
  return sum_over_threads(threads, [=](auto ready) {
    float sink = 0;
    HWY_DYNAMIC_DISPATCH(fma_chains)(5000, &sink);  // powers up the wide vector units
    ready();
    const double start = now();
    double elapsed = 0, flops = 0;
    do {
      flops += HWY_DYNAMIC_DISPATCH(fma_chains)(5000, &sink);
      elapsed = now() - start;
    } while (elapsed < seconds);
    return flops / elapsed * 1e-9;
  });
}

Bandwidth::Bandwidth(int threads) {
  for (size_t kb : {16, 64, 256, 1024, 4096, 16384, 65536, 262144}) {
    const size_t bytes = kb << 10;
    points_.push_back({.bytes = double(bytes),
                       .read = median_of_three(threads, bytes, false),
                       .triad = median_of_three(threads, bytes, true)});
  }
}

double Bandwidth::at(double bytes, double write_share) const {
  const auto value = [&](const Point& p) { return write_share < 0.1 ? p.read : p.triad; };
  if (bytes <= points_.front().bytes) return value(points_.front());
  for (size_t i = 1; i < points_.size(); ++i) {
    const Point &low = points_[i - 1], &high = points_[i];
    if (bytes > high.bytes) continue;
    const double f = std::log(bytes / low.bytes) / std::log(high.bytes / low.bytes);
    return value(low) + f * (value(high) - value(low));
  }
  return value(points_.back());
}

}  // namespace bench
#endif  // HWY_ONCE
