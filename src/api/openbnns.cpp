// The functions that OpenBNNS adds to the API: see openbnns/openbnns.h.
#include "openbnns/openbnns.h"

#include "api/boundary.h"
#include "core/filter.h"
#include "layers/activation.h"
#include "core/log.h"
#include "core/target.h"

using namespace bnns::impl;

extern "C" {

const char* OpenBNNSGetVersion(void) {
  return OPENBNNS_VERSION;
}

const char* OpenBNNSGetLastError(void) {
  return last_error();
}

void OpenBNNSSetLogCallback(OpenBNNSLogCallback callback, void* user) {
  set_log_callback(callback, user);
}

int OpenBNNSSetDefaultThreads(size_t n_threads) {
  return boundary::status("OpenBNNSSetDefaultThreads", [&] { set_default_threads(n_threads); });
}

size_t OpenBNNSGetDefaultThreads(void) {
  return default_threads();
}

int OpenBNNSSetTarget(const char* name) {
  return boundary::status("OpenBNNSSetTarget", [&] { set_target(name); });
}

const char* OpenBNNSGetTarget(void) {
  return target_name();
}

const char* const* OpenBNNSGetSupportedTargets(void) {
  return supported_targets();
}

int OpenBNNSCheckFusedActivation(const BNNSActivation* activation) {
  return boundary::status("OpenBNNSCheckFusedActivation", [&] {
    require(activation != nullptr, "activation is NULL");
    const ActivationInfo& info = read_activation(*activation);
    if (info.function == BNNSActivationFunctionIdentity) return;
    require_slope_from_output(FusedActivation(info, coefficients_of(*activation)));
  });
}

size_t OpenBNNSFilterGetMemorySize(BNNSFilter filter) {
  return boundary::value("OpenBNNSFilterGetMemorySize", size_t{0},
                         [&] { return find_filter(filter).memory_size(); });
}

int OpenBNNSFilterReserve(BNNSFilter filter, size_t batch_size, size_t callers) {
  return boundary::status("OpenBNNSFilterReserve", [&] {
    require(callers >= 1 && callers <= 32, "callers is ", callers, "; it must be from 1 to 32");
    find_filter(filter).reserve(batch_size, callers);
  });
}

}  // extern "C"
