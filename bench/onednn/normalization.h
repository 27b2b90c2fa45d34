// Primitive descriptors of normalizations for oneDNN 2.x and 3.x.
#pragma once

#include "onednn/onednn.h"

namespace bench {

// 3.x takes separate layouts for sources and destinations, 2.x one layout for both.
template <class P, class... Rest>
auto describe_training(const Desc& data, const Rest&... rest) {
#if DNNL_VERSION_MAJOR >= 3
  return describe<P>(dnnl::prop_kind::forward_training, data, data, rest...);
#else
  return describe<P>(dnnl::prop_kind::forward_training, data, rest...);
#endif
}

template <class P, class Forward, class... Rest>
auto describe_gradient(const Forward& forward, const Desc& data, const Rest&... rest) {
#if DNNL_VERSION_MAJOR >= 3
  return describe_backward<P>(forward, dnnl::prop_kind::backward, data, data, data, rest...);
#else
  return describe_backward<P>(forward, dnnl::prop_kind::backward, data, data, rest...);
#endif
}

}  // namespace bench
