// What ranks must have in common before they work together.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "openbnns/openbnns.h"
#include "openbnns/train/communicator.hpp"
#include "openbnns/train/error.hpp"
#include "train/training/named_values.h"
#include "train/training/ranks.h"

namespace bnns::train {
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
  impl::broadcast_text(ranks, verdict);
  if (!verdict.empty()) throw Error(Error::Kind::ranks, verdict);
}

std::string verdict_on(const std::vector<NamedValues>& all) {
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (const auto difference = impl::difference_of(all[0], all[rank])) {
      return fmt::format("the ranks differ: {} is {} on rank 0 and {} on rank {}", difference->name,
                         difference->first, difference->second, rank);
    }
  }
  return "";
}

}  // namespace

void agree_on_target(Communicator& ranks) {
  const std::vector<std::string> own = usable_targets();
  const std::vector<std::string> all =
      impl::gather_texts(ranks, fmt::format("{}", fmt::join(own, " ")));
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
  impl::broadcast_text(ranks, chosen);
  if (chosen != OpenBNNSGetTarget() && OpenBNNSSetTarget(chosen.c_str()) != 0) {
    throw Error(Error::Kind::usage, OpenBNNSGetLastError());
  }
}

void require_agreement(Communicator& ranks, const NamedValues& values) {
  using Json = nlohmann::json;
  const std::string own = Json(values).dump(-1, ' ', false, Json::error_handler_t::replace);
  std::vector<NamedValues> all;
  for (const std::string& text : impl::gather_texts(ranks, own)) {
    all.push_back(Json::parse(text).get<NamedValues>());
  }
  require_verdict(ranks, verdict_on(all));
}

}  // namespace bnns::train
