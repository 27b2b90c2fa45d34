#include "mps/error.h"

#include "core/private.h"

namespace bnns::impl::mps {

void throw_error(ErrorCode code, const std::string& text) {
  OpenBNNSPrivateRecordFailure(text.c_str(), code == ErrorCode::Unsupported);
  throw MPS::Error(code, text);
}

}  // namespace bnns::impl::mps
