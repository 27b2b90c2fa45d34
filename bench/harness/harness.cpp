// Checking and sampling. A sample during which a thread of ours was preempted or had to wait for a
// core is taken again while the entry has tries left; then the fastest counts and is reported as
// disturbed. With several threads every sample starts when the process is idle: the workers of an
// OpenMP pool go on spinning for milliseconds after a call and would take a core from whoever is
// measured next.
#include "harness/harness.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>

#include "harness/machine.h"

namespace bench {
namespace {

constexpr int kTries = 6;               // for one sample
constexpr int kExtraTriesPerRep = 2;    // on average: a busy machine must not stretch a run forever
constexpr double kWaitingShare = 0.02;  // waiting time that still counts as undisturbed, as a share
constexpr double kSlowCall = 0.1;       // seconds; slower calls get three samples and no repetition

struct Sampled {
  Entry* entry;
  long calls = 1;  // per sample
  std::vector<double> seconds = {};
  int disturbed = 0;
  int extra_tries = 0;  // left
};

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

void wait_until_idle() {
  for (int i = 0; i < 200; ++i) {
    const double cpu = cpu_seconds(), wall = now();
    const timespec half_ms{.tv_sec = 0, .tv_nsec = 500'000};
    nanosleep(&half_ms, nullptr);
    if (cpu_seconds() - cpu < 0.2 * (now() - wall)) return;
  }
}

struct Interference {
  long preemptions = 0;
  double waited = 0;  // seconds that all threads together waited for a core
};

Interference interference() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  Interference sum{.preemptions = usage.ru_nivcsw};
  std::error_code missing;  // without these statistics only preemptions count
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", missing)) {
    std::ifstream file(task.path() / "schedstat");
    double running = 0, waiting = 0;
    if (file >> running >> waiting) sum.waited += 1e-9 * waiting;
  }
  return sum;
}

double seconds_per_call(const Entry& entry, long calls) {
  const double start = now();
  entry.run(calls);
  return (now() - start) / double(calls);
}

// The fastest of a few tries decides: one slow try must not lead to samples of a single call.
long calls_per_sample(const Entry& entry, double sample_seconds) {
  double fastest = seconds_per_call(entry, 1);
  for (int i = 0; i < 5; ++i) {
    for (long n = 1;; n *= 2) {
      const double each = seconds_per_call(entry, n);
      fastest = std::min(fastest, each);
      if (each * double(n) > 5e-4) break;
    }
    if (fastest > sample_seconds) break;
  }
  return std::max(1L, std::lround(sample_seconds / fastest));
}

void take_sample(Sampled& s, const Options& options) {
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    if (options.threads > 1) wait_until_idle();
    s.entry->run(std::max(2L, s.calls / 4));  // warms its own caches and threads
    const Interference before = interference();
    const double each = seconds_per_call(*s.entry, s.calls);
    const Interference after = interference();
    best = i == 0 ? each : std::min(best, each);
    if (after.preemptions == before.preemptions &&
        after.waited - before.waited < kWaitingShare * each * double(s.calls)) {
      s.seconds.push_back(each);
      return;
    }
    if (each > kSlowCall || --s.extra_tries < 0) break;
  }
  s.seconds.push_back(best);
  ++s.disturbed;
}

double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * double(sorted.size() - 1);
  const size_t low = size_t(at), high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - double(low)) * (sorted[high] - sorted[low]);
}

// The median of the ratios of each round: a slow second of the machine slows both entries of the
// round, but the medians of two entries may come from different seconds.
double ratio_to(const std::vector<Sampled>& all, const std::string& who, const Sampled& s) {
  const auto other =
      std::find_if(all.begin(), all.end(), [&](const Sampled& o) { return o.entry->who == who; });
  if (other == all.end()) return 0;
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(s.seconds.size(), other->seconds.size()); ++i)
    ratios.push_back(s.seconds[i] / other->seconds[i]);
  std::sort(ratios.begin(), ratios.end());
  return quantile(ratios, 0.5);
}

Timing summarize(const std::vector<Sampled>& all, Sampled s, double limit) {
  Timing t{.who = s.entry->who, .note = s.entry->note};
  t.ratio = ratio_to(all, "ours", s);
  std::sort(s.seconds.begin(), s.seconds.end());
  t.median = quantile(s.seconds, 0.5);
  t.p25 = quantile(s.seconds, 0.25);
  t.p75 = quantile(s.seconds, 0.75);
  t.min = s.seconds.front();
  t.spread = (t.p75 - t.p25) / 2;
  t.roofline = limit / t.median;
  t.samples = int(s.seconds.size());
  t.disturbed = s.disturbed;
  return t;
}

// Returns "" if the tensor is right, else a description of the first wrong element.
std::string difference(const Expected& expected, const std::vector<Result>& results) {
  for (const Result& r : results) {
    if (r.tensor != expected.tensor) continue;
    if (r.value.size() != expected.size) return expected.tensor + " has a wrong size";
    for (size_t i = 0; i < expected.value.size(); ++i) {
      const double found = double(r.value[expected.at[i]]);
      if (std::abs(found - expected.value[i]) <= expected.bound[i]) continue;  // false for NaN
      char text[200];
      std::snprintf(text, sizeof text, "%s[%zu] is %.9g, expected %.9g, bound %.2g",
                    expected.tensor.c_str(), expected.at[i], found, expected.value[i],
                    expected.bound[i]);
      return text;
    }
    return "";
  }
  return expected.tensor + " is missing";
}

std::string first_error(const Row& row, const Entry& entry) {
  try {
    const std::vector<Result> results = entry.results();
    for (const Expected& e : row.expected) {
      std::string text = difference(e, results);
      if (!text.empty()) return text;
    }
    return "";
  } catch (const std::exception& e) {
    const std::string text = e.what();
    return text.substr(0, text.find('\n'));
  }
}

}  // namespace

int drop_wrong_entries(Row& row) {
  return int(std::erase_if(row.entries, [&](const Entry& entry) {
    const std::string error = first_error(row, entry);
    if (error.empty()) return false;
    std::fprintf(stderr, "MISMATCH %s/%s/%s %s: %s\n", row.family.c_str(), row.workload.c_str(),
                 row.op.c_str(), entry.who.c_str(), error.c_str());
    return true;
  }));
}

Measured measure(Row& row, const Options& options, const Bandwidth& bandwidth) {
  std::vector<Sampled> all;
  for (Entry& e : row.entries) {
    if (options.threads > 1) wait_until_idle();
    all.push_back({.entry = &e,
                   .calls = calls_per_sample(e, options.sample_seconds),
                   .extra_tries = kExtraTriesPerRep * options.reps});
  }
  std::vector<double> peaks;
  for (int round = 0; round < options.reps; ++round) {
    if (options.threads > 1) wait_until_idle();
    peaks.push_back(fma_gflops(options.threads, 5e-4));
    for (size_t i = 0; i < all.size(); ++i) {
      Sampled& s = all[(i + size_t(round)) % all.size()];
      if (s.seconds.size() < 3 || s.seconds.back() < kSlowCall) take_sample(s, options);
    }
  }
  std::sort(peaks.begin(), peaks.end());

  Measured m{.family = row.family, .workload = row.workload, .op = row.op, .flops = row.flops};
  m.bytes = row.read_bytes + row.write_bytes;
  m.peak_gflops = quantile(peaks, 0.5);
  const double compute = row.flops / (m.peak_gflops * 1e9);
  const double write_share = m.bytes > 0 ? row.write_bytes / m.bytes : 0;
  const double memory = m.bytes / (bandwidth.at(row.working_set, write_share) * 1e9);
  m.limit = std::max(compute, memory);
  m.compute_bound = compute == m.limit;
  for (const Sampled& s : all) m.timings.push_back(summarize(all, s, m.limit));
  return m;
}

}  // namespace bench
