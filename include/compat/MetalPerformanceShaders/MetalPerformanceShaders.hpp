// The loss kernels under the names that sources written for metal-cpp use: MTL::, MPS::. Found by
// relative path: include/compat in the source tree, include/openbnns/compat when installed.
#ifndef OPENBNNS_COMPAT_METAL_PERFORMANCE_SHADERS_HPP
#define OPENBNNS_COMPAT_METAL_PERFORMANCE_SHADERS_HPP

#if __has_include("../../openbnns/mps.hpp")
#include "../../openbnns/mps.hpp"
#else
#include "../../mps.hpp"
#endif

namespace MTL = bnns::MTL;
namespace MPS = bnns::MPS;

#endif
