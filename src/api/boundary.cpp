#include "api/boundary.h"

#include "core/log.h"

namespace bnns::impl::boundary {

int record_current(const char* function) noexcept {
  try {
    throw;
  } catch (const Error& error) {
    record_failure(function, error);
    return error.status;
  } catch (const std::bad_alloc&) {
    record_failure(function, {.text = Text("out of memory"), .failure = Failure::kMemory});
  } catch (const std::exception& error) {
    record_failure(function, {.text = Text("internal error: ", error.what())});
  } catch (...) {
    record_failure(function, {.text = Text("internal error")});
  }
  return -1;
}

}  // namespace bnns::impl::boundary
