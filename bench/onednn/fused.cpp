// Convolution, batch normalization and a rectifier with oneDNN 2.x and 3.x: "onednn-plain" on the
// user's layouts, "onednn-reorder" on those the convolution prefers, also for the normalization.
#include "workloads/fused.h"
#include "onednn/convolution.h"
#include "onednn/normalization.h"

namespace bench {
namespace {

using Flags = dnnl::normalization_flags;
using Forward = dnnl::batch_normalization_forward;
using Backward = dnnl::batch_normalization_backward;

Sequence sequence(const FusedConvolution& p, bool prefer, bool backward) {
  const ConvolutionPrimitives c(p.convolution, prefer);
  const Desc data = c.forward.dst_desc();
  const Flags flags = Flags::use_scale | Flags::use_shift | Flags::fuse_norm_relu;
  const auto f = describe_training<Forward>(data, FusedConvolution::kEpsilon, flags);
  const auto b = describe_gradient<Backward>(f, data, FusedConvolution::kEpsilon, flags);
  Sequence s = c.start();
  s.user("right_delta", c.dst, p.convolution.out_delta.data());
  const memory gamma = s.user("gamma", c.bias, p.gamma.data()),
               beta = s.user("beta", c.bias, p.beta.data()),
               dgamma = s.user("gamma_delta", c.bias, nullptr),
               dbeta = s.user("beta_delta", c.bias, nullptr);
  const memory z(data, engine()), y = s.out("out", data), mean(c.bias, engine()),
                                  variance(c.bias, engine()),
                                  workspace(f.workspace_desc(), engine());
  s.add(ConvolutionPrimitives::Forward(c.forward),
        {{DNNL_ARG_SRC, s.in("in", c.forward.src_desc())},
         {DNNL_ARG_WEIGHTS, s.in("weights", c.forward.weights_desc())},
         {DNNL_ARG_BIAS, s.in("bias", c.bias)},
         {DNNL_ARG_DST, z}});
  s.add(Forward(f), {{DNNL_ARG_SRC, z},
                     {DNNL_ARG_SCALE, gamma},
                     {DNNL_ARG_SHIFT, beta},
                     {DNNL_ARG_DST, y},
                     {DNNL_ARG_MEAN, mean},
                     {DNNL_ARG_VARIANCE, variance},
                     {DNNL_ARG_WORKSPACE, workspace}});
  s.back("out", y);
  if (!backward) return s;
  const memory dy = s.in("right_delta", data), dz = s.replace("out_delta", data);
  Arguments arguments = {
      {DNNL_ARG_SRC, z},       {DNNL_ARG_DIFF_DST, dy},       {DNNL_ARG_SCALE, gamma},
      {DNNL_ARG_MEAN, mean},   {DNNL_ARG_VARIANCE, variance}, {DNNL_ARG_WORKSPACE, workspace},
      {DNNL_ARG_DIFF_SRC, dz}, {DNNL_ARG_DIFF_SCALE, dgamma}, {DNNL_ARG_DIFF_SHIFT, dbeta}};
  // 2.x fails without this argument, 3.x with it.
  if (DNNL_VERSION_MAJOR < 3) arguments[DNNL_ARG_SHIFT] = beta;
  s.add(Backward(b), arguments);
  s.back("gamma_delta", dgamma);
  s.back("beta_delta", dbeta);
  c.add_data(s);
  c.add_weights(s);
  return s;
}

}  // namespace

void add_onednn_fused(const FusedConvolution& p, Rows& rows) {
  for (const bool prefer : {false, true}) {
    const char* who = prefer ? "onednn-reorder" : "onednn-plain";
    rows.add("fwd", entry(who, sequence(p, prefer, false), ""));
    rows.add("fwd+bwd", entry(who, sequence(p, prefer, true), ""));
  }
}

}  // namespace bench
