#include "train/training/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "openbnns/openbnns.h"
#include "openbnns/train/error.hpp"
#include "train/training/ranks.h"

namespace bnns::train::impl {
namespace {

// From the target in use on: a user who asked for a lower one shall have it.
std::vector<std::string> usable_targets() {
  std::vector<std::string> names;
  bool reached = false;
  for (const char* const* name = OpenBNNSGetSupportedTargets(); *name; ++name) {
    reached = reached || std::strcmp(*name, OpenBNNSGetTarget()) == 0;
    if (reached) names.push_back(*name);
  }
  return names;
}

// Decided by rank 0; empty: there is nothing wrong.
void require_verdict(Communicator& ranks, std::string verdict) {
  broadcast_text(ranks, verdict);
  if (!verdict.empty()) throw Error(Error::Kind::ranks, verdict);
}

std::string shown(const nlohmann::json& json, const std::string& name) {
  const auto found = json.find(name);
  return found == json.end() ? "nothing" : found->dump().substr(0, 80);
}

std::string difference(const std::vector<nlohmann::json>& values) {
  for (std::size_t rank = 1; rank < values.size(); ++rank) {
    for (const auto& [name, value] : values[0].items()) {
      const auto other = values[rank].find(name);
      if (other != values[rank].end() && *other == value) continue;
      return fmt::format("ranks do not train the same: {} is {} on rank 0 and {} on rank {}", name,
                         shown(values[0], name), shown(values[rank], name), rank);
    }
  }
  return "";
}

}  // namespace

void agree_on_target(Communicator& ranks) {
  const std::vector<std::string> own = usable_targets();
  const std::vector<std::string> all = gather_texts(ranks, fmt::format("{}", fmt::join(own, " ")));
  std::string chosen, verdict;
  if (ranks.rank() == 0) {
    for (const std::string& name : own) {
      const auto has_it = [&](const std::string& names) {
        return (' ' + names + ' ').find(' ' + name + ' ') != std::string::npos;
      };
      if (!std::ranges::all_of(all, has_it)) continue;
      chosen = name;
      break;
    }
    if (chosen.empty()) {
      verdict = "the ranks have no SIMD target in common:";
      for (std::size_t rank = 0; rank < all.size(); ++rank) {
        verdict += fmt::format(" rank {} has {};", rank, all[rank]);
      }
      verdict.pop_back();
    }
  }
  require_verdict(ranks, verdict);
  broadcast_text(ranks, chosen);
  if (chosen != OpenBNNSGetTarget() && OpenBNNSSetTarget(chosen.c_str()) != 0) {
    throw Error(Error::Kind::usage, OpenBNNSGetLastError());
  }
}

void require_agreement(Communicator& ranks, const nlohmann::json& values) {
  std::vector<nlohmann::json> all;
  for (const std::string& text : gather_texts(ranks, values.dump())) {
    all.push_back(nlohmann::json::parse(text));
  }
  require_verdict(ranks, all.empty() ? "" : difference(all));
}

}  // namespace bnns::train::impl
