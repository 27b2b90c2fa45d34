// openbnns_bench: OpenBNNS beside other CPU libraries, in one run.
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "harness/environment.h"
#include "harness/machine.h"
#include "harness/report.h"
#include "workloads/workloads.h"

namespace bench {
namespace {

constexpr const char* kUsage =
    "usage: openbnns_bench [--threads N] [--reps N] [--only LIST] [--json FILE]\n"
    "                      [--markdown FILE] [--quick] [--check-only]\n"
    "  --threads N    threads of everybody (1)\n"
    "  --reps N       rounds, each one sample of everybody (11)\n"
    "  --only LIST    comma-separated families (latency, fc, gemm, fused, activation, loss,\n"
    "                 movement, mps, normalization, optimizer, pooling) or parts of\n"
    "                 family/workload/operation, e.g. fc/b32, /fwd\n"
    "  --json FILE    also write the results to FILE\n"
    "  --markdown FILE  also write the summary to FILE, as a Markdown table\n"
    "  --quick        small workloads, 3 rounds\n"
    "  --check-only   compare the results, time nothing; fails if one differs\n";

int number(const std::string& option, const char* text) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end != '\0' || value < 1 || value > 1024) {
    throw std::invalid_argument(option + " needs a number from 1 to 1024");
  }
  return int(value);
}

std::string for_shell(const std::string& word) {
  return word.find_first_of(" <>&;|*?$") == word.npos ? word : "'" + word + "'";
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 0; i < argc; ++i) o.command += (i == 0 ? "" : " ") + for_shell(argv[i]);
  bool reps_given = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const auto value = [&] {
      if (++i == argc) throw std::invalid_argument(option + " needs a value");
      return argv[i];
    };
    if (option == "--threads") {
      o.threads = number(option, value());
    } else if (option == "--reps") {
      o.reps = number(option, value());
      reps_given = true;
    } else if (option == "--only") {
      std::istringstream list(value());
      for (std::string item; std::getline(list, item, ',');) o.only.push_back(item);
    } else if (option == "--json") {
      o.json = value();
    } else if (option == "--markdown") {
      o.markdown = value();
    } else if (option == "--quick") {
      o.quick = true;
    } else if (option == "--check-only") {
      o.check_only = true;
    } else {
      throw std::invalid_argument("unknown option " + option);
    }
  }
  if (o.quick && !reps_given) o.reps = 3;
  return o;
}

bool wanted(const Options& options, const Workload& w, const std::string& op) {
  const std::string name = w.family + "/" + w.name + "/" + op;
  for (const std::string& item : options.only) {
    const bool is_family = item.find('/') == item.npos;
    if (is_family ? item == w.family : name.find(item) != name.npos) return true;
  }
  return options.only.empty();
}

Rows make_rows(const Options& options, const Workload& w, const Problem& problem) {
  Rows rows;
  for (const std::string& op : w.ops) {
    if (!wanted(options, w, op)) continue;
    Row row = problem.row(op);
    row.family = w.family;
    row.workload = w.name;
    rows.list.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::unique_ptr<Peer>> make_peers(int threads) {
  std::vector<std::unique_ptr<Peer>> peers;
  peers.push_back(make_ours(threads));
#ifdef OPENBNNS_BENCH_ONEDNN
  peers.push_back(make_onednn(threads));
#endif
#ifdef OPENBNNS_BENCH_TORCH
  peers.push_back(make_torch(threads));
#endif
  return peers;
}

struct Outcome {
  std::vector<Measured> rows;
  int compared = 0, wrong = 0;
};

void run(const Workload& w, const Options& options, const Bandwidth* bandwidth,
         std::vector<std::unique_ptr<Peer>>& peers, Outcome& outcome) {
  bool any = false;
  for (const std::string& op : w.ops) any = any || wanted(options, w, op);
  if (!any) return;
  const std::unique_ptr<Problem> problem = w.make();
  Rows rows = make_rows(options, w, *problem);
  for (const auto& peer : peers) {
    try {
      problem->offer(*peer, rows);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "FAILED %s/%s %s: %s\n", w.family.c_str(), w.name.c_str(),
                   peer->describe().c_str(), e.what());
      ++outcome.wrong;
    }
  }
  for (Row& row : rows.list) {
    outcome.compared += int(row.entries.size());
    outcome.wrong += drop_wrong_entries(row);
    if (options.check_only || row.entries.empty()) continue;
    outcome.rows.push_back(measure(row, options, *bandwidth));
    print_row(outcome.rows.back());
  }
}

int run_all(const Options& options) {
  auto peers = make_peers(options.threads);
  std::optional<Bandwidth> bandwidth;
  if (!options.check_only) bandwidth.emplace(options.threads);
  Context context{.options = &options,
                  .bandwidth = bandwidth ? &*bandwidth : nullptr,
                  .peers = {},
                  .settings = environment_settings()};
  for (const auto& peer : peers) context.peers.push_back(peer->describe());
  print_context(context);

  Outcome outcome;
  for (const Workload& w : workloads(options.quick))
    run(w, options, context.bandwidth, peers, outcome);
  if (!options.check_only) print_summary(outcome.rows);
  if (!options.check_only && !options.json.empty()) write_json(options.json, context, outcome.rows);
  if (!options.check_only && !options.markdown.empty())
    write_markdown(options.markdown, context, outcome.rows);
  std::printf("%d results compared, %d wrong\n", outcome.compared, outcome.wrong);
  return outcome.wrong == 0 && outcome.compared > 0 ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Options options;
  try {
    options = bench::parse(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n%s", e.what(), bench::kUsage);
    return 2;
  }
  try {
    bench::prepare_environment(argv, options.threads);
    return bench::run_all(options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "openbnns_bench: %s\n", e.what());
    return 1;
  }
}
