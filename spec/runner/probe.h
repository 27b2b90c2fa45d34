// Which functions of the interface are implemented.
#ifndef OPENBNNS_SPEC_PROBE_H
#define OPENBNNS_SPEC_PROBE_H

#include <functional>
#include <vector>

namespace spec {

struct FunctionState {
  const char* name;
  bool implemented;
};

std::vector<FunctionState> probe_functions();

}  // namespace spec
#endif
