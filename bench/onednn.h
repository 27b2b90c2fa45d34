// What the oneDNN peers share: engine, stream, and primitive descriptors of 2.x and 3.x.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace bench {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

inline dnnl::engine& engine() {
  static dnnl::engine e(dnnl::engine::kind::cpu, 0);
  return e;
}

inline dnnl::stream& stream() {
  static dnnl::stream s(engine());
  return s;
}

// 3.x has no operation descriptors: their arguments go straight to the primitive descriptor.
template <class P, class... Args>
auto describe(const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return typename P::primitive_desc(engine(), args...);
#else
  return typename P::primitive_desc(typename P::desc(args...), engine());
#endif
}

template <class P, class Forward, class... Args>
auto describe_backward(const Forward& forward, const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return typename P::primitive_desc(engine(), args..., forward);
#else
  return typename P::primitive_desc(typename P::desc(args...), engine(), forward);
#endif
}

}  // namespace bench
