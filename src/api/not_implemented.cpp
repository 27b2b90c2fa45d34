// The functions of the C API that no layer provides yet. Each one fails, writes nothing and says so
// in the last error, so a program links today and learns at run time what is missing.
// Who adds a layer removes its functions from this file.

#include <cstdint>

#include "api/boundary.h"
#include "openbnns/bnns.h"

namespace boundary = bnns::impl::boundary;
