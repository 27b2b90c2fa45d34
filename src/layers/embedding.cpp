// The embedding filter. Items of the dictionary D are chosen by indices x at positions j:
//   y(item, j)  = f(D(item, x(j)))          f: 0 for the padding item; shortened to max_norm
//   dD(item, k) = sum of dy(item, j) over the positions j with x(j) = k, 0 for the padding item;
//                 with "scale by frequency" divided by the number of these positions
// Axes are entries of size[]: those of y are the axes of an item, then those of x. A dictionary
// that the filter copies is stored item after item. What the ops do is in ops/lookup.
#include "layers/embedding.h"

#include <cmath>
#include <cstddef>

#include "core/checked.h"
#include "core/filter.h"
#include "core/scratch_pool.h"
#include "layers/lookup.h"
#include "ops/copy.h"
#include "ops/lookup/embedding.h"
#include "ops/lookup/scatter.h"

namespace bnns::impl {
namespace {

struct EmbeddingParameters {
  Descriptor in, out, dictionary;
  EmbeddingRules rules;
  bool mean = false;  // BNNSEmbeddingFlagScaleGradientByFrequency

  size_t item_rank() const { return dictionary.rank() - 1; }
  size_t items() const { return dictionary.size[item_rank()]; }
};

Descriptor read_plain(const BNNSNDArrayDescriptor& given, const char* field, Use use) {
  const Descriptor d = read_descriptor(given, field, use);
  require_plain_layout(d, field);
  require(!d.layout->rotated, field, ".layout is ", d.layout->name,
          "; rotated weights are no tensors of an embedding");
  return d;
}

void check_shapes(const EmbeddingParameters& e) {
  const size_t item = e.item_rank(), rank = item + e.in.rank();
  bool fits = e.out.rank() == rank;
  for (size_t i = 0; fits && i < rank; ++i)
    fits = e.out.size[i] == (i < item ? e.dictionary.size[i] : e.in.size[i - item]);
  if (!fits) {
    fail("o_desc is ", describe(e.out), ", dictionary is ", describe(e.dictionary), ", i_desc is ",
         describe(e.in),
         "; o_desc must have the sizes of dictionary but the last one, then those of i_desc");
  }
}

EmbeddingRules read_rules(const BNNSLayerParametersEmbedding& p, const Descriptor& dictionary) {
  EmbeddingRules rules = {.padding = p.padding_idx, .max_norm = p.max_norm};
  require(std::isfinite(p.max_norm) && p.max_norm >= 0, "max_norm is ", double{p.max_norm},
          "; it must be finite and at least 0");
  if (p.max_norm == 0) return rules;
  require(p.norm_type >= 0, "norm_type is ", double{p.norm_type},
          "; it must be at least 0 and may be infinite");
  require(dictionary.type->kind == TypeClass::kFloat, "dictionary.data_type is ",
          dictionary.type->name, "; max_norm needs a floating-point type");
  rules.p = p.norm_type == 0 ? 2 : double{p.norm_type};
  return rules;
}

EmbeddingParameters read_embedding(const BNNSLayerParametersEmbedding* p) {
  require(p != nullptr, "layer_params is NULL");
  const auto flags = static_cast<uint32_t>(p->flags);
  require(flags <= BNNSEmbeddingFlagScaleGradientByFrequency, "flags is ", flags,
          "; that is no BNNSEmbeddingFlags");
  EmbeddingParameters e = {.in = read_plain(p->i_desc, "i_desc", Use::kInput),
                           .out = read_plain(p->o_desc, "o_desc", Use::kOutput),
                           .dictionary = read_plain(p->dictionary, "dictionary", Use::kInput),
                           .rules = {},
                           .mean = flags != 0};
  require_indices(e.in, "i_desc");
  require_stored_values(e.dictionary, "dictionary");
  require(e.out.type == e.dictionary.type, "o_desc.data_type is ", e.out.type->name,
          ", dictionary.data_type is ", e.dictionary.type->name, "; they must be equal");
  check_shapes(e);
  require_data(e.dictionary.view.data, e.dictionary.view.type, "dictionary.data");
  e.rules = read_rules(*p, e.dictionary);
  return e;
}

// One array of items, each of which lies in memory as in the descriptor, but without gaps.
Coordinates item_after_item(const Coordinates& dictionary) {
  Coordinates result = dictionary;
  ptrdiff_t stride = 1;
  const size_t last = dictionary.rank - 1;
  for (size_t k = 0; k < dictionary.rank; ++k) {
    const size_t i = dictionary.in_memory[k];
    if (i == last) continue;
    result.stride[i] = stride;
    stride *= static_cast<ptrdiff_t>(dictionary.extent[i]);
  }
  result.stride[last] = stride;
  return result;
}

// The elements of a dictionary, item after item.
View items_of(const Coordinates& c, const View& like, void* data) {
  View view;
  view.data = data;
  view.type = like.type;
  view.count = like.count;
  const auto push = [&](size_t i) {
    view.extent[view.rank] = c.extent[i];
    view.stride[view.rank++] = static_cast<size_t>(c.stride[i]);
  };
  for (size_t k = 0; k < c.rank; ++k)
    if (c.in_memory[k] != c.rank - 1) push(c.in_memory[k]);
  push(c.rank - 1);
  return collapsed(view);
}

class EmbeddingFilter final : public Filter {
 public:
  EmbeddingFilter(const FilterOptions& options, const EmbeddingParameters& e)
      : Filter("an embedding filter", options),
        e_(e),
        client_(options.use_client_pointer),
        run_(options.threads),
        dictionary_(size_coordinates(e.dictionary)),
        data_(e.dictionary.view.data),
        scratch_(options.memory) {
    if (!client_) copy_dictionary(options);
  }

  void apply(const ForwardArgs& args) override {
    if (args.batch == 0) return;
    Call call(args.batch);
    const Batch in = call.reads(e_.in, args.in, args.in_stride, kIn);
    const Batch out = call.writes(e_.out, args.out, args.out_stride, kOut);
    if (client_) call.reads(range_of(e_.dictionary.view), "dictionary.data");
    call.check_overlaps();

    LookupProblem p;
    set_problem(p, dictionary_, in, size_coordinates(e_.out), out);
    require_coordinates(p, threads(), in.data, "in", -1);
    run_embedding(p, e_.rules, run_, {.indices = in.data, .table = data_, .rows = out.data});
  }

  void apply_backward(const BackwardArgs& args) override {
    constexpr DeltaRules kRules = {.same_layout = true};
    require(!is_wanted(args.in_delta), "in_delta has data; indices have no gradient");
    require(!is_wanted(args.bias_delta), "bias_delta has data; an embedding has no bias");
    if (args.batch == 0 || !is_wanted(args.weights_delta)) return;
    require(e_.dictionary.type->kind == TypeClass::kFloat, "dictionary.data_type is ",
            e_.dictionary.type->name, "; only floating-point values have a gradient");
    Call call(args.batch);
    const Batch in = call.reads(e_.in, args.in, args.in_stride, kIn);
    const Gradient d = call.writes_parameter_delta(args.weights_delta, "weights_delta",
                                                   e_.dictionary, "dictionary", kRules);
    const Batch dy = call.reads_delta(args.out_delta, args.out_delta_stride, kOutDelta, e_.out,
                                      "o_desc", kRules);
    call.check_overlaps();
    if (!client_) warn_of_copy("BNNSFilterApplyBackwardBatch", "weights_delta", "dictionary.data");

    LookupProblem p;
    set_problem(p, coordinates_of(e_.dictionary, *d.sample), in, coordinates_of(e_.out, *dy.sample),
                dy);
    require_coordinates(p, threads(), in.data, "in", -1);
    const auto scratch = scratch_.take();
    scratch->grow(memory(), scatter_scratch(p));
    run_scatter(p,
                {.op = ScatterOp::kSum,
                 .kernels = sums_,
                 .accumulate = d.accumulate,
                 .mean = e_.mean,
                 .skipped = e_.rules.padding},
                threads(), {.indices = in.data, .table = d.data, .rows = dy.data}, scratch->data());
  }

  void reserve(size_t batch, size_t callers) override {
    Filter::reserve(batch, callers);
    const size_t indices = checked_mul(batch, e_.in.view.count, "the indices of a batch");
    const size_t words = checked_mul(2, indices, "the sorted indices");
    scratch_.reserve(callers, [&](Array<uint64_t>& set) { set.grow(memory(), words); });
  }

  Text plan() const override {
    return Text(e_.items(), " items of ", e_.dictionary.view.count / e_.items(), " values, ",
                client_ ? "of the client" : "copied");
  }

 private:
  void copy_dictionary(const FilterOptions& options) {
    const View& view = e_.dictionary.view;
    copied_ = Array<std::byte>(
        options.memory, checked_mul(view.count, type_bytes(view.type), "the dictionary in bytes"));
    const Coordinates packed = item_after_item(dictionary_);
    run_copy(*run_.convert, options.threads, items_of(dictionary_, view, view.data),
             items_of(packed, view, copied_.data()));
    dictionary_ = packed;
    data_ = copied_.data();
  }

  // A gradient has the layout of its tensor and may have other strides.
  static Coordinates coordinates_of(const Descriptor& like, const View& view) {
    Descriptor d = like;
    d.view = view;
    return size_coordinates(d);
  }

  void set_problem(LookupProblem& p, const Coordinates& dictionary, const Batch& in,
                   const Coordinates& y, const Batch& rows) const {
    const LookupTensors at = {.indices = size_coordinates(e_.in), .table = dictionary, .rows = y};
    const size_t item = e_.item_rank();
    p.index_type = e_.in.view.type;
    p.type = rows.sample->type;
    p.lookup[p.lookups++] = {.extent = e_.items(), .stride = dictionary.stride[item]};
    for (size_t k = 0; k < at.indices.rank; ++k) {
      const size_t i = at.indices.in_memory[k];
      p.places.push_collapsed(at.axis({.indices = i, .rows = item + i}, at.indices.extent[i]));
    }
    p.places.push_collapsed(
        {.extent = in.size,
         .reduced = false,
         .stride = {static_cast<ptrdiff_t>(in.step), 0, static_cast<ptrdiff_t>(rows.step)}});
    for (size_t k = 0; k < dictionary.rank; ++k) {
      const size_t i = dictionary.in_memory[k];
      if (i != item) p.slice.push_collapsed(at.axis({.table = i, .rows = i}, dictionary.extent[i]));
    }
  }

  EmbeddingParameters e_;
  bool client_;
  NormRun run_;
  const SumKernels* sums_ = sum_kernels();
  Coordinates dictionary_;
  void* data_;
  Array<std::byte> copied_;  // a dictionary that is not the client's
  ScratchPool<Array<uint64_t>> scratch_;
};

}  // namespace

BNNSFilter make_embedding_filter(const BNNSLayerParametersEmbedding* parameters,
                                 const BNNSFilterParameters* filter_parameters) {
  return make_filter<EmbeddingFilter>(FilterOptions(filter_parameters), read_embedding(parameters));
}

}  // namespace bnns::impl
