// `support`: runs the cases and prints what the library supports as a Markdown table.
#include <cstdio>
#include <map>
#include <set>

#include <openbnns/openbnns.h>

#include "runner/case.h"
#include "runner/execution.h"
#include "runner/options.h"
#include "runner/probe.h"

namespace spec {
namespace {

// Cases above this size are skipped: they add nothing to the table.
constexpr size_t kLargest = 5000;

// A set of names in the order in which they were first added.
class Names {
 public:
  void add(const std::string& name) {
    if (seen_.insert(name).second) text_ += (text_.empty() ? "" : ", ") + name;
  }
  std::string text() const { return text_.empty() ? "-" : text_; }

 private:
  std::set<std::string> seen_;
  std::string text_;
};

struct Support {
  Names forward, backward;
};

struct Table {
  std::vector<std::string> order;
  std::map<std::string, Support> rows;
  Names layouts;  // of the first operand

  Support& operator[](const std::string& name) {
    if (!rows.contains(name)) order.push_back(name);
    return rows[name];
  }
};

void probe(const Case& c, Table& table) {
  Support& support = table[c.function];
  for (const TypeSet& types : c.types) {
    Execution execution(c, types, 1);
    if (!execution.create() || !execution.forward()) continue;
    const std::string& name = types.shown.empty() ? types.name : types.shown;
    support.forward.add(name);
    table.layouts.add(layout_name(c.operands[0].shape.layout));
    for (const Backward& way : c.backward)
      if (!way.refused && types.backward != Need::kNone && execution.backward(way))
        support.backward.add(name);
  }
}

void print_missing(const std::vector<FunctionState>& states) {
  size_t missing = 0;
  for (const FunctionState& s : states) missing += !s.implemented;
  if (missing == 0) {
    std::printf("All %zu functions of the interface are implemented.\n\n", states.size());
    return;
  }
  std::printf(
      "## Not implemented\n\n%zu of %zu functions are implemented; the others are exported and "
      "fail with \"not implemented\":\n\n",
      states.size() - missing, states.size());
  for (const FunctionState& s : states)
    if (!s.implemented) std::printf("* `%s`\n", s.name);
  std::printf("\n");
}

void print_functions(const std::vector<FunctionState>& states) {
  std::printf("## Functions\n\n| Function | Implemented |\n|---|---|\n");
  for (const FunctionState& s : states)
    std::printf("| `%s` | %s |\n", s.name, s.implemented ? "yes" : "no");
}

}  // namespace

int run_support(const Options& options) {
  const Suite suite = all_layers();
  std::vector<std::string> layers;
  std::map<std::string, Table> tables;
  for (const Case& c : suite.cases) {
    if (c.speed || c.operands[0].shape.count() > kLargest) continue;
    if (c.name().find(options.filter) == std::string::npos) continue;
    if (!tables.contains(c.layer)) layers.push_back(c.layer);
    set_current_name(c.name());
    probe(c, tables[c.layer]);
  }
  std::printf(
      "# What is supported\n\nWritten by `openbnns_spec support` (OpenBNNS %s): every entry was "
      "created and run.\n\n",
      OpenBNNSGetVersion());
  const std::vector<FunctionState> functions = probe_functions();
  print_missing(functions);
  for (const std::string& layer : layers) {
    Table& table = tables[layer];
    std::printf("## %s\n\nLayouts: %s.\n\n| Function | Forward | Backward |\n|---|---|---|\n",
                layer.c_str(), table.layouts.text().c_str());
    for (const std::string& function : table.order) {
      const Support& s = table.rows[function];
      std::printf("| %s | %s | %s |\n", function.c_str(), s.forward.text().c_str(),
                  s.backward.text().c_str());
    }
    std::printf("\n");
  }
  print_functions(functions);
  return 0;
}

}  // namespace spec
