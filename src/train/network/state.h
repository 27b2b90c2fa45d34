// What a Network holds.
#ifndef OPENBNNS_TRAIN_NETWORK_STATE_H
#define OPENBNNS_TRAIN_NETWORK_STATE_H

#include <memory>
#include <vector>

#include "openbnns/train/network.hpp"
#include "train/layers/kind.h"
#include "train/network/parameters.h"

namespace bnns::train::impl {

struct NetworkState {
  explicit NetworkState(NetworkDescription network_description);
  NetworkState(const NetworkState& other);

  // Follows a change of the description; parameters that exist are dropped.
  void resolve_again();
  // Made with seed 0 when they are first asked for.
  ParameterSet& parameters();

  NetworkDescription description;
  std::vector<ResolvedLayer> layers;  // none yet: the description has no layers
  std::unique_ptr<ParameterSet> made;
  ModelInfo info;
  Preprocessing preprocessing;
};

}  // namespace bnns::train::impl

#endif
