// What the oneDNN peers share: engine, stream, and primitive descriptors of 2.x and 3.x.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "workloads/workloads.h"

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

// A fused activation: a post-op of the forward pass, and its slope from the output.
inline dnnl::primitive_attr attributes(Fused f) {
  dnnl::primitive_attr attr;
  if (f == Fused::kNone) return attr;
  dnnl::post_ops ops;
  const auto algorithm =
      f == Fused::kRelu ? dnnl::algorithm::eltwise_relu : dnnl::algorithm::eltwise_tanh;
#if DNNL_VERSION_MAJOR >= 3
  ops.append_eltwise(algorithm, 0, 0);
#else
  ops.append_eltwise(1, algorithm, 0, 0);
#endif
  attr.set_post_ops(ops);
  return attr;
}

inline dnnl::eltwise_backward::primitive_desc describe_slope(Fused f, const Desc& d) {
  const auto algorithm = f == Fused::kRelu ? dnnl::algorithm::eltwise_relu_use_dst_for_bwd
                                           : dnnl::algorithm::eltwise_tanh_use_dst_for_bwd;
  const auto kind = dnnl::prop_kind::forward_training;
#if DNNL_VERSION_MAJOR >= 3
  const auto hint = describe<dnnl::eltwise_forward>(kind, algorithm, d, d, 0.0f, 0.0f);
  return describe_backward<dnnl::eltwise_backward>(hint, algorithm, d, d, d, 0.0f, 0.0f);
#else
  const auto hint = describe<dnnl::eltwise_forward>(kind, algorithm, d, 0.0f, 0.0f);
  return describe_backward<dnnl::eltwise_backward>(hint, algorithm, d, d, 0.0f, 0.0f);
#endif
}

// Like describe(), with attributes.
template <class P, class... Args>
auto describe_with(const dnnl::primitive_attr& attr, const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return typename P::primitive_desc(engine(), args..., attr);
#else
  return typename P::primitive_desc(typename P::desc(args...), attr, engine());
#endif
}

}  // namespace bench
