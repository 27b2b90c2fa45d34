// Ratios are peer / ours: above 1 ours is faster. The best peer is the entry of another library
// with the smallest ratio, whatever way it is called; "ours-..." entries are further ways of
// calling OpenBNNS.
#include "harness/report.h"

#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>

namespace bench {
namespace {

bool is_ours(const Timing& t) {
  return t.who.starts_with("ours");
}

const Timing* ours(const Measured& row) {
  for (const Timing& t : row.timings) {
    if (t.who == "ours") return &t;
  }
  return nullptr;
}

// A row without "ours" has no ratio.
double slowness(const Timing& t) {
  return t.ratio != 0 ? t.ratio : t.median;
}

const Timing* best_peer(const Measured& row) {
  const Timing* best = nullptr;
  for (const Timing& t : row.timings) {
    if (!is_ours(t) && (best == nullptr || slowness(t) < slowness(*best))) best = &t;
  }
  return best;
}

bool mostly_disturbed(const Timing& t) {
  return 2 * t.disturbed > t.samples;
}

std::string duration(double seconds) {
  struct Unit {
    double limit, factor;
    const char* format;
  };
  static constexpr Unit kUnits[] = {
      {1e-6, 1e9, "%.1f ns"}, {1e-3, 1e6, "%.2f us"}, {1, 1e3, "%.3f ms"}, {INFINITY, 1, "%.3f s"}};
  char text[40] = "";
  for (const Unit& unit : kUnits) {
    if (seconds < unit.limit) {
      std::snprintf(text, sizeof text, unit.format, seconds * unit.factor);
      break;
    }
  }
  return text;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + '"';
}

std::string list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& t : texts) out += (out.size() > 1 ? ", " : "") + quoted(t);
  return out + "]";
}

struct Close {
  void operator()(std::FILE* f) const { std::fclose(f); }
};

void write_result(std::FILE* f, const Measured& row, const Timing& t, bool last) {
  std::fprintf(f,
               "      {\"who\": %s, \"median_ns\": %.3f, \"spread_ns\": %.3f, \"p25_ns\": %.3f, "
               "\"p75_ns\": %.3f, \"min_ns\": %.3f, \"roofline_percent\": %.2f, \"gflops\": %.3f, "
               "\"gbs\": %.3f, \"samples\": %d, \"disturbed\": %d, \"note\": %s",
               quoted(t.who).c_str(), t.median * 1e9, t.spread * 1e9, t.p25 * 1e9, t.p75 * 1e9,
               t.min * 1e9, 100 * t.roofline, row.flops / t.median * 1e-9,
               row.bytes / t.median * 1e-9, t.samples, t.disturbed, quoted(t.note).c_str());
  const Timing* us = ours(row);
  if (us != nullptr && !is_ours(t)) std::fprintf(f, ", \"ratio\": %.4f", t.ratio);
  std::fprintf(f, "}%s\n", last ? "" : ",");
}

using File = std::unique_ptr<std::FILE, Close>;

File create(const std::string& name) {
  File file(std::fopen(name.c_str(), "w"));
  if (file == nullptr) throw std::runtime_error("cannot write " + name);
  return file;
}

void write_row(std::FILE* f, const Measured& row, const Options& options, bool last) {
  std::fprintf(f,
               "    {\"family\": %s, \"workload\": %s, \"op\": %s, \"threads\": %d, "
               "\"flops\": %.0f, \"bytes\": %.0f, \"limit_ns\": %.3f, \"limited_by\": \"%s\", "
               "\"peak_gflops\": %.2f",
               quoted(row.family).c_str(), quoted(row.workload).c_str(), quoted(row.op).c_str(),
               options.threads, row.flops, row.bytes, row.limit * 1e9,
               row.compute_bound ? "compute" : "memory", row.peak_gflops);
  const Timing *us = ours(row), *best = best_peer(row);
  if (us != nullptr && best != nullptr) {
    std::fprintf(f, ", \"best_peer\": %s, \"best_peer_ratio\": %.4f", quoted(best->who).c_str(),
                 best->ratio);
  }
  std::fprintf(f, ", \"results\": [\n");
  for (const Timing& t : row.timings) write_result(f, row, t, &t == &row.timings.back());
  std::fprintf(f, "    ]}%s\n", last ? "" : ",");
}

}  // namespace

void print_context(const Context& c) {
  std::printf("%s, %d-bit vectors, %d thread%s, median of %d rounds\n", cpu_name().c_str(),
              vector_bits(), c.options->threads, c.options->threads == 1 ? "" : "s",
              c.options->reps);
  for (const std::string& p : c.peers) std::printf("  %s\n", p.c_str());
  for (const std::string& s : c.settings) std::printf("  %s\n", s.c_str());
  if (c.bandwidth != nullptr) {
    std::printf("  GB/s (read, triad) by working set:");
    for (const Bandwidth::Point& p : c.bandwidth->points()) {
      std::printf(" %.0fK %.0f/%.0f", p.bytes / 1024, p.read, p.triad);
    }
    std::printf("\n");
  }
}

void print_row(const Measured& row) {
  std::printf("\n%s / %s / %s   limit %s (%s, peak %.0f GFLOP/s)\n", row.family.c_str(),
              row.workload.c_str(), row.op.c_str(), duration(row.limit).c_str(),
              row.compute_bound ? "compute" : "memory", row.peak_gflops);
  const Timing* us = ours(row);
  for (const Timing& t : row.timings) {
    std::printf("  %-20s %12s  +-%4.1f %%  %5.1f %% of roofline", t.who.c_str(),
                duration(t.median).c_str(), 100 * t.spread / t.median, 100 * t.roofline);
    if (us != nullptr && &t != us) std::printf("  %6.2f x ours", t.ratio);
    if (t.disturbed > 0) std::printf("  (%d of %d disturbed)", t.disturbed, t.samples);
    if (!t.note.empty()) std::printf("  [%s]", t.note.c_str());
    std::printf("\n");
  }
  std::fflush(stdout);
}

void print_summary(const std::vector<Measured>& rows) {
  std::printf("\n%-40s %12s %12s  %-20s %s\n", "row", "ours", "best peer", "which",
              "best peer / ours");
  double log_sum = 0;
  int count = 0;
  for (const Measured& row : rows) {
    const Timing *us = ours(row), *best = best_peer(row);
    const std::string name = row.family + "/" + row.workload + "/" + row.op;
    std::printf("%-40s %12s %12s  %-20s", name.c_str(),
                us != nullptr ? duration(us->median).c_str() : "-",
                best != nullptr ? duration(best->median).c_str() : "-",
                best != nullptr ? best->who.c_str() : "-");
    if (us != nullptr && best != nullptr) {
      std::printf(" %6.2f%s", best->ratio,
                  mostly_disturbed(*us) || mostly_disturbed(*best) ? "  disturbed" : "");
      log_sum += std::log(best->ratio);
      ++count;
    }
    std::printf("\n");
  }
  if (count > 0) std::printf("geometric mean of %d rows: %.2f\n", count, std::exp(log_sum / count));
}

void write_json(const std::string& file, const Context& c, const std::vector<Measured>& rows) {
  const File out = create(file);
  std::FILE* f = out.get();
  std::fprintf(f, "{\n  \"cpu\": %s, \"vector_bits\": %d, \"threads\": %d, \"reps\": %d,\n",
               quoted(cpu_name()).c_str(), vector_bits(), c.options->threads, c.options->reps);
  std::fprintf(f, "  \"peers\": %s,\n  \"settings\": %s,\n  \"bandwidth\": [",
               list(c.peers).c_str(), list(c.settings).c_str());
  for (const Bandwidth::Point& p : c.bandwidth->points()) {
    std::fprintf(f, "%s{\"bytes\": %.0f, \"read_gbs\": %.2f, \"triad_gbs\": %.2f}",
                 &p == &c.bandwidth->points().front() ? "" : ", ", p.bytes, p.read, p.triad);
  }
  std::fprintf(f, "],\n  \"rows\": [\n");
  for (const Measured& row : rows) write_row(f, row, *c.options, &row == &rows.back());
  std::fprintf(f, "  ]\n}\n");
}

void write_markdown(const std::string& file, const Context& c, const std::vector<Measured>& rows) {
  const File out = create(file);
  std::FILE* f = out.get();
  std::fprintf(f, "    %s\n\n%s, %d-bit vectors, %d thread%s, median of %d rounds.\n\n",
               c.options->command.c_str(), cpu_name().c_str(), vector_bits(), c.options->threads,
               c.options->threads == 1 ? "" : "s", c.options->reps);
  for (const std::string& p : c.peers) std::fprintf(f, "* %s\n", p.c_str());
  for (const std::string& s : c.settings) std::fprintf(f, "* %s\n", s.c_str());
  std::fprintf(f,
               "\n| workload | pass | ours | %% of roofline | best peer | time | %% of roofline | "
               "best peer / ours |\n|---|---|---:|---:|---|---:|---:|---:|\n");
  for (const Measured& row : rows) {
    const Timing *us = ours(row), *best = best_peer(row);
    if (us == nullptr) continue;
    std::fprintf(f, "| %s %s | %s | %s | %.0f | ", row.family.c_str(), row.workload.c_str(),
                 row.op.c_str(), duration(us->median).c_str(), 100 * us->roofline);
    if (best == nullptr) {
      std::fprintf(f, "- | - | - | - |\n");
    } else {
      std::fprintf(f, "%s | %s | %.0f | %.2f%s |\n", best->who.c_str(),
                   duration(best->median).c_str(), 100 * best->roofline, best->ratio,
                   mostly_disturbed(*us) || mostly_disturbed(*best) ? " (disturbed)" : "");
    }
  }
}

}  // namespace bench
