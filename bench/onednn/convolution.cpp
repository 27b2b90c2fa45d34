// Convolution with oneDNN 2.x and 3.x: "onednn-plain" on the user's layouts, "onednn-reorder" on
// those oneDNN prefers, with every reorder from and to the user's layout counted.
#include "onednn/convolution.h"

namespace bench {

void add_onednn_convolution(const Convolution& p, Rows& rows) {
  for (const bool prefer : {false, true}) {
    const ConvolutionPrimitives c(p, prefer);
    const char* who = prefer ? "onednn-reorder" : "onednn-plain";
    Sequence f = c.start(), d = c.start(), w = c.start(), all = c.start();
    c.add_forward(f);
    if (p.shape.fused != Fused::kNone) {
      c.add_slope(all);
      c.add_data(all);
      c.add_weights(all);
      rows.add("fwd", entry(who, std::move(f), c.fused.impl_info_str()));
      rows.add("bwd", entry(who, std::move(all), ""));
      continue;
    }
    c.add_data(d);
    c.add_weights(w);
    c.add_forward(all);
    c.add_data(all);
    c.add_weights(all);
    rows.add("fwd", entry(who, std::move(f), c.forward.impl_info_str()));
    rows.add("bwd_data", entry(who, std::move(d), c.to_data.impl_info_str()));
    rows.add("bwd_weights", entry(who, std::move(w), c.to_weights.impl_info_str()));
    rows.add("fwd+bwd", entry(who, std::move(all), ""));
  }
}

}  // namespace bench
