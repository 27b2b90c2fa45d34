// `threads`: the bits of every result must not depend on the number of threads, NaN included. The
// inputs are sprinkled with NaN of both signs and several payloads and with infinities. Where two
// NaN meet in a sum or product, x86 keeps the payload of the first operand, and compilers choose
// which one is first; so code that is compiled twice, once for a group per thread and once for a
// group that threads share, may leave different bits.
#include <openbnns/openbnns.h>

#include "runner/execution.h"

#include "runner/options.h"

namespace spec {
namespace {

// A quick run takes one in this many cases.
constexpr uint64_t kQuickCases = 8;

// Cases with fewer values are not worth a second thread, those with more take too long.
constexpr size_t kLeastValues = 2000, kMostValues = 700000;

// One value in `one_of` is replaced.
struct Sprinkle {
  const char* name;
  uint64_t one_of;
};
constexpr Sprinkle kSprinkles[] = {{"some", 61}, {"rare", 997}};

using Bits = std::vector<std::vector<std::byte>>;

// What all calls of one case leave in memory. The status of each call is part of it.
Bits run(const Case& c, const TypeSet& types, const Sprinkle& sprinkle, size_t threads) {
  Execution execution(c, types, threads);
  execution.sprinkle_special(sprinkle.one_of);
  Bits bits;
  const auto keep = [&](bool ok) {
    bits.push_back({std::byte{ok}});
    execution.read_bytes(bits);
  };
  if (!execution.create()) return bits;
  keep(execution.forward());
  if (types.backward != Need::kNone)
    for (const Backward& way : c.backward) keep(execution.backward(way));
  return bits;
}

// Names the first tensor that differs and the first byte of it.
std::string difference(const Bits& one, const Bits& several) {
  for (size_t i = 0; i < std::min(one.size(), several.size()); ++i) {
    const auto [a, b] =
        std::mismatch(one[i].begin(), one[i].end(), several[i].begin(), several[i].end());
    if (a == one[i].end() && b == several[i].end()) continue;
    return "tensor " + std::to_string(i) + " differs from that of one thread at byte " +
           std::to_string(a - one[i].begin());
  }
  return one.size() == several.size() ? "" : "other calls succeeded than with one thread";
}

void run_case(const Case& c, const TypeSet& types, const Options& options, Report& report) {
  const char* const* const targets = OpenBNNSGetSupportedTargets();
  for (const char* const* target = targets; *target; ++target) {
    for (const Sprinkle& sprinkle : kSprinkles) {
      // Other types differ in how values are read and written, for which one sprinkle and the best
      // target are enough.
      const bool first = &sprinkle == &kSprinkles[0] && target == targets;
      if (&types != &c.types[0] && !first) continue;
      const std::string name = c.name() + "/" + types.name + "/" + *target + "/" + sprinkle.name;
      if (!options.selects(name)) continue;
      set_current_name(name);
      OpenBNNSSetTarget(*target);
      const Bits one = run(c, types, sprinkle, 1);
      for (size_t threads = 2; threads <= 3; ++threads) {
        const std::string problem = difference(one, run(c, types, sprinkle, threads));
        if (problem.empty())
          report.pass();
        else
          report.fail(name + "/t" + std::to_string(threads), problem);
      }
    }
  }
}

bool is_worth_threads(const Case& c) {
  size_t values = 0;
  for (const Operand& o : c.operands) values += o.shape.count() * o.samples(c.batch);
  return values >= kLeastValues && values <= kMostValues;
}

}  // namespace

int run_threads(const Options& options) {
  Report report;
  size_t index = 0;
  for (const Case& c : all_layers().cases) {
    if (!is_worth_threads(c) || c.name().find(options.filter) == std::string::npos ||
        !options.has_part(index++))
      continue;
    for (const TypeSet& types : c.types) {
      const std::string name = c.name() + "/" + types.name;
      if (options.selects(name) && options.samples(name, kQuickCases))
        run_case(c, types, options, report);
    }
  }
  OpenBNNSSetTarget(nullptr);
  return report.finish();
}

}  // namespace spec
