// The fully connected filter with packed sparse weights: y = act(b + W x), for inference only. The
// filter always has a copy of its own of the weights, also with BNNSFlagsUseClientPtr: it is
// checked when it is made, and what the client does with the packed form afterwards changes
// nothing.
#include "core/call.h"
#include "core/filter.h"
#include "layers/fully_connected.h"
#include "layers/sparse.h"
#include "ops/random/random.h"
#include "ops/sparse/sparse.h"

namespace bnns::impl {
namespace {

constexpr const char* kPack = "w_desc.layout is FullyConnectedSparse, but w_desc.data";

FullyConnectedParameters read_sparse(const BNNSLayerParametersFullyConnected* given) {
  FullyConnectedParameters p = read_fully_connected(given, true);
  const Descriptor& w = p.weights;
  require_data(w.view.data, w.view.type, "w_desc.data");
  if (p.integer()) {
    fail_unsupported("activation.function is ", p.activation->name,
                     "; sparse weights are multiplied as floats");
  }
  const SparseShape s = read_pack_header(w.view.data, kPack);
  require(s.type == w.view.type, "w_desc.data_type is ", w.type->name, ", the packed weights are ",
          type_name(s.type), "; they must be equal");
  const bool sizes = (w.size[0] == s.columns && w.size[1] == s.rows) ||
                     (w.size[0] == s.rows && w.size[1] == s.columns);
  require(sizes, "w_desc is ", describe(w), ", the packed weights have ", s.rows, " rows and ",
          s.columns, " columns; the sizes must be these");
  require(s.rows == p.out.view.count, "w_desc has ", s.rows, " rows, o_desc has ", p.out.view.count,
          " elements; they must be equal");
  require(s.columns == p.in.view.count, "w_desc has ", s.columns, " columns, i_desc has ",
          p.in.view.count, " elements; they must be equal");
  return p;
}

class SparseFullyConnectedFilter final : public Filter {
 public:
  SparseFullyConnectedFilter(const FilterOptions& options, const FullyConnectedParameters& p,
                             const BNNSActivation& activation)
      : Filter("a fully connected filter with sparse weights", options),
        p_(p),
        op_(options.memory, options.threads,
            {.in_size = p.in.view.count,
             .out_size = p.out.view.count,
             .in = p.in.view,
             .out = p.out.view,
             .activation = fused_activation(p, activation)},
            unpacked(options, p), p.weights.view.scaling),
        streams_(op_.activation().is_random()) {
    if (!p.has_bias) return;
    if (options.use_client_pointer) {
      op_.use_bias(p.bias.view);
      client_bias_ = range_of(p.bias.view);
    } else {
      op_.own_bias(p.bias.view);
    }
  }

  void apply(const ForwardArgs& args) override {
    if (args.batch == 0) return;
    const Batch in = read_batch(p_.in, args.batch, args.in, args.in_stride, kIn);
    const Batch out = read_batch(p_.out, args.batch, args.out, args.out_stride, kOut);
    const Range written = range_of(p_.out, out);
    require_apart(written, "out", range_of(p_.in, in), "in");
    require_apart(written, "out", client_bias_, "bias.data");
    const uint64_t stream = op_.activation().is_random() ? streams_.next(args.batch) : 0;
    op_.forward(in, out, stream);
  }

  void apply_backward(const BackwardArgs&) override {
    fail("filter is ", kind(), "; it has no gradients: packed weights are for inference only");
  }

  void reserve(size_t batch, size_t callers) override {
    Filter::reserve(batch, callers);
    op_.reserve(batch, callers);
  }

  Text plan() const override {
    return Text(p_.in.view.count, " to ", p_.out.view.count, ", ", p_.activation->name, ", ",
                op_.nonzeros(), " ", p_.weights.type->name, " weights");
  }

 private:
  // The header may have changed since it was read, so that the sizes are compared once more.
  static SparsePack unpacked(const FilterOptions& options, const FullyConnectedParameters& p) {
    SparsePack pack(options.memory, p.weights.view.data, kPack);
    const SparseShape& s = pack.shape();
    require(
        s.rows == p.out.view.count && s.columns == p.in.view.count && s.type == p.weights.view.type,
        "w_desc.data changed during the call");
    return pack;
  }

  FullyConnectedParameters p_;
  SparseFullyConnectedOp op_;
  RandomStreams streams_;
  Range client_bias_ = {};
};

}  // namespace

BNNSFilter make_sparse_fully_connected_filter(const BNNSLayerParametersFullyConnected* parameters,
                                              const BNNSFilterParameters* filter_parameters) {
  const FullyConnectedParameters p = read_sparse(parameters);
  return make_filter<SparseFullyConnectedFilter>(FilterOptions(filter_parameters), p,
                                                 parameters->activation);
}

}  // namespace bnns::impl
