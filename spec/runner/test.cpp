// `test`: compares the library with the reference, for every case, set of types, variation of
// memory, target and number of threads.
#include <openbnns/openbnns.h>

#include "runner/options.h"
#include "runner/trial.h"

namespace spec {
namespace {

// A quick run takes one in this many trials, so that a sanitizer build stays below half a minute.
constexpr uint64_t kQuickTrials = 40;

void run_case(const Case& c, const Options& options, Report& report) {
  if (c.speed) return;
  for (const TypeSet& types : c.types) {
    for (const Variation& variation : variations_of(c, types)) {
      const std::string name = c.name() + variation.suffix + "/" + types.name;
      if (!options.selects(name) || !options.samples(name, kQuickTrials)) continue;
      Trial(c, types, variation, options, report).run();
    }
  }
}

void run_check(const Check& check, const Options& options, Report& report) {
  for (const char* const* target = OpenBNNSGetSupportedTargets(); *target; ++target) {
    const std::string name = check.name + "/" + *target;
    if (!options.selects(name)) continue;
    set_current_name(name);
    OpenBNNSSetTarget(*target);
    const std::string problem = check.run();
    if (problem.empty())
      report.pass();
    else
      report.fail(name, problem);
  }
}

}  // namespace

int run_test(const Options& options) {
  Report report;
  const Suite suite = all_layers();
  size_t index = 0;
  for (const Case& c : suite.cases)
    if (c.name().find(options.filter) != std::string::npos && options.has_part(index++))
      run_case(c, options, report);
  for (const Check& check : suite.checks)
    if (check.name.find(options.filter) != std::string::npos && options.has_part(index++))
      run_check(check, options, report);
  OpenBNNSSetTarget(nullptr);
  if (options.digest) report.print_digests();
  return report.finish();
}

int run_list(const Options& options) {
  const Suite suite = all_layers();
  for (const Case& c : suite.cases)
    if (c.name().find(options.filter) != std::string::npos) std::printf("%s\n", c.name().c_str());
  for (const Check& check : suite.checks)
    if (check.name.find(options.filter) != std::string::npos)
      std::printf("%s\n", check.name.c_str());
  return 0;
}

}  // namespace spec
