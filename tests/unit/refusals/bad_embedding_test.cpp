// Embedding filters that must not be made, and calls on them that must be refused. The valid call
// has three items of two values, 1 2 / 3 4 / 5 6, of which it reads the items 2, 0 and 2, 1.
#include <cmath>
#include <limits>

#include "support/call_table.h"

namespace bnns::test {
namespace {

struct EmbeddingCall : CallBase {
  static constexpr size_t kBatch = 2, kIn = 3, kOut = 5;

  BNNSLayerParametersEmbedding params = {};
  BNNSFilterParameters options = client_pointers();
  const BNNSLayerParametersEmbedding* params_pointer = &params;
  Guarded<int32_t> in{2, 0, 77, 2, 1, 77};
  Guarded<float> out{Space{kBatch * kOut}}, items{1, 2, 3, 4, 5, 6};
  const void* in_pointer = in.data();
  void* out_pointer = out.data();
  size_t batch = kBatch, in_stride = kIn, out_stride = kOut;

  EmbeddingCall() {
    params.i_desc = vector_of(2, nullptr, BNNSDataTypeInt32);
    params.o_desc = array(BNNSDataLayout2DLastMajor, {2, 2});
    params.dictionary = array(BNNSDataLayout2DLastMajor, {2, 3}, items.data());
    params.padding_idx = SIZE_MAX;
  }
  EmbeddingCall(const EmbeddingCall&) = delete;

  template <class F>
  void for_outputs(const F& f) {
    f(in);
    f(out);
    f(items);
  }
  Filter make() const { return Filter(BNNSFilterCreateLayerEmbedding(params_pointer, &options)); }
  bool apply(const Filter& filter) const {
    return BNNSFilterApplyBatch(filter.get(), batch, in_pointer, in_stride, out_pointer,
                                out_stride) == 0;
  }
  bool correct() const {
    constexpr float kRight[] = {5, 6, 1, 2, 5, 6, 3, 4};
    bool right = in.untouched() && items.untouched();
    for (size_t b = 0; b < kBatch; ++b)
      for (size_t k = 0; k < 4; ++k) right &= out[b * kOut + k] == kRight[b * 4 + k];
    return right && out.untouched_except([](size_t i) { return i % kOut < 4; });
  }
};

struct EmbeddingCreate : EmbeddingCall {
  const char* function = "BNNSFilterCreateLayerEmbedding";
  bool run() {
    const Filter filter = make();
    return filter && apply(filter);
  }
};

struct EmbeddingForward : EmbeddingCall {
  const char* function = "BNNSFilterApplyBatch";
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return apply(filter);
  }
};

struct EmbeddingBackward : EmbeddingCall {
  const char* function = "BNNSFilterApplyBackwardBatch";
  Guarded<float> dy{1, 2, 3, 4, 77, 5, 6, 7, 8, 77}, dw{Space{6}};
  BNNSNDArrayDescriptor out_delta = array(BNNSDataLayout2DLastMajor, {2, 2}, dy.data());
  BNNSNDArrayDescriptor weights_delta = array(BNNSDataLayout2DLastMajor, {2, 3}, dw.data());
  BNNSNDArrayDescriptor *out_delta_pointer = &out_delta, *weights_delta_pointer = &weights_delta;
  BNNSNDArrayDescriptor *in_delta = nullptr, *bias_delta = nullptr;

  template <class F>
  void for_outputs(const F& f) {
    EmbeddingCall::for_outputs(f);
    f(dy);
    f(dw);
  }
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return BNNSFilterApplyBackwardBatch(filter.get(), batch, in_pointer, in_stride, in_delta, kIn,
                                        nullptr, 0, out_delta_pointer, kOut, weights_delta_pointer,
                                        bias_delta) == 0;
  }
  bool correct() const {
    constexpr float kRight[] = {3, 4, 7, 8, 6, 8};
    return in.untouched() && dy.untouched() && std::equal(kRight, kRight + 6, dw.data()) &&
           dw.untouched_except([](size_t) { return true; });
  }
};

template <class C>
std::vector<Row<C>> index_rows() {
  std::vector<Row<C>> rows;
  for (const int32_t bad : {-1, 3, INT32_MIN, INT32_MAX})
    for (const size_t at : {0, 4}) {
      rows.push_back(
          {"index",
           {"in has " + std::to_string(bad), "position " + std::to_string(at ? 3 : 0), "below 3"},
           [=](C& c) { c.in[at] = bad; }});
    }
  rows.push_back({"in", {"in is NULL"}, [](C& c) { c.in_pointer = nullptr; }});
  rows.push_back({"in misaligned", {"in is", "aligned to 4"}, [](C& c) {
                    c.in_pointer = reinterpret_cast<char*>(c.in.data()) + 2;
                  }});
  rows.push_back({"in_stride", {"in_stride is 1", "2"}, [](C& c) { c.in_stride = 1; }});
  rows.push_back({"batch overflows", {"batch_size"}, [](C& c) { c.batch = size_t{1} << 62; }});
  return rows;
}

TEST(BadEmbedding, Shapes) {
  using C = EmbeddingCreate;
  std::vector<Row<C>> rows = {
      {"no parameters", {"layer_params", "NULL"}, [](C& c) { c.params_pointer = nullptr; }},
      {"unknown options", {"filter_params->flags", "2"}, [](C& c) { c.options.flags = 2; }},
      {"unknown flags",
       {"flags is 2", "BNNSEmbeddingFlags"},
       [](C& c) { c.params.flags = static_cast<BNNSEmbeddingFlags>(2); }},
      {"no dictionary",
       {"dictionary.data is NULL"},
       [](C& c) { c.params.dictionary.data = nullptr; }},
      {"misaligned dictionary",
       {"dictionary.data is", "aligned to 4"},
       [](C& c) { c.params.dictionary.data = reinterpret_cast<char*>(c.items.data()) + 1; }},
      {"other items",
       {"o_desc is", "{3, 2}", "dictionary is"},
       [](C& c) { c.params.o_desc.size[0] = 3; }},
      {"other positions",
       {"o_desc is", "{2, 3}", "i_desc is"},
       [](C& c) { c.params.o_desc.size[1] = 3; }},
      {"another rank", {"o_desc is Vector"}, [](C& c) { c.params.o_desc = vector_of(4); }},
      {"no input axes left", {"o_desc is"}, [](C& c) {
         c.params.dictionary.layout = BNNSDataLayoutVector;
       }}};
  append(rows, descriptor_rows<C>(
                   "i_desc", 1, [](C & c) -> auto& { return c.params.i_desc; }, false));
  append(rows, descriptor_rows<C>(
                   "o_desc", 2, [](C & c) -> auto& { return c.params.o_desc; }, true));
  append(rows, descriptor_rows<C>(
                   "dictionary", 2, [](C & c) -> auto& { return c.params.dictionary; }, false));
  expect_refused(rows);
}

TEST(BadEmbedding, TypesAndNumbers) {
  using C = EmbeddingCreate;
  std::vector<Row<C>> rows;
  for (const auto type : {BNNSDataTypeFloat32, BNNSDataTypeBoolean, BNNSDataTypeInt4}) {
    rows.push_back({"i_desc type", {"i_desc.data_type", "integers"}, [=](C& c) {
                      c.params.i_desc.data_type = type;
                    }});
  }
  rows.push_back({"types differ",
                  {"o_desc.data_type is Float16", "dictionary.data_type is Float32", "equal"},
                  [](C& c) { c.params.o_desc.data_type = BNNSDataTypeFloat16; }});
  rows.push_back({"below a byte", {"dictionary.data_type is Int4"}, [](C& c) {
                    c.params.o_desc.data_type = c.params.dictionary.data_type = BNNSDataTypeInt4;
                  }});
  for (const float bad : {NAN, -1.0f, std::numeric_limits<float>::infinity()})
    rows.push_back(
        {"max_norm", {"max_norm is", "at least 0"}, [=](C& c) { c.params.max_norm = bad; }});
  for (const float bad : {NAN, -1.0f, -std::numeric_limits<float>::infinity()}) {
    rows.push_back({"norm_type", {"norm_type is", "at least 0"}, [=](C& c) {
                      c.params.max_norm = 1;
                      c.params.norm_type = bad;
                    }});
  }
  rows.push_back({"norm of integers", {"dictionary.data_type is Int32", "max_norm"}, [](C& c) {
                    c.params.max_norm = 1;
                    c.params.o_desc.data_type = c.params.dictionary.data_type = BNNSDataTypeInt32;
                  }});
  rows.push_back({"rotated", {"dictionary.layout", "rotated"}, [](C& c) {
                    c.params.dictionary =
                        array(BNNSDataLayoutConvolutionWeightsOIHrWr, {2, 1, 1, 3}, c.items.data());
                  }});
  rows.push_back({"packed", {"dictionary.layout", "plain"}, [](C& c) {
                    c.params.dictionary = array(BNNSDataLayoutConvolutionWeightsOIHW_Pack32,
                                                {2, 1, 1, 3}, c.items.data());
                  }});
  expect_refused(rows);
  expect_accepted<C>({{"norm_type that is not used", {}, [](C& c) { c.params.norm_type = NAN; }},
                      {"padding behind the items", {}, [](C& c) { c.params.padding_idx = 3; }},
                      {"copied", {}, [](C& c) { c.options.flags = 0; }},
                      {"long enough", {}, [](C& c) {
                         c.params.max_norm = 100;
                         c.params.norm_type = std::numeric_limits<float>::infinity();
                       }}});
}

TEST(BadEmbedding, Forward) {
  using C = EmbeddingForward;
  auto rows = index_rows<C>();
  append(rows, {{"out", {"out is NULL"}, [](C& c) { c.out_pointer = nullptr; }},
                {"out_stride", {"out_stride is 3", "4"}, [](C& c) { c.out_stride = 3; }},
                {"in is out", {"out and in overlap"}, [](C& c) { c.out_pointer = c.in.data(); }},
                {"out is the dictionary", {"out and dictionary.data overlap"}, [](C& c) {
                   c.out_pointer = c.items.data();
                 }}});
  expect_refused(rows);
}

TEST(BadEmbedding, Backward) {
  using C = EmbeddingBackward;
  auto rows = index_rows<C>();
  append(
      rows,
      {{"out_delta", {"out_delta is NULL"}, [](C& c) { c.out_delta_pointer = nullptr; }},
       {"no data of out_delta",
        {"out_delta.data is NULL"},
        [](C& c) { c.out_delta.data = nullptr; }},
       {"in_delta", {"in_delta", "no gradient"}, [](C& c) { c.in_delta = &c.weights_delta; }},
       {"bias", {"bias_delta", "no bias"}, [](C& c) { c.bias_delta = &c.weights_delta; }},
       {"flags",
        {"weights_delta.flags is 9"},
        [](C& c) { c.weights_delta.flags = static_cast<BNNSNDArrayFlags>(9); }},
       {"another layout",
        {"weights_delta.layout", "equal"},
        [](C& c) { c.weights_delta.layout = BNNSDataLayout2DFirstMajor; }},
       {"other sizes", {"weights_delta", "dictionary"}, [](C& c) { c.weights_delta.size[1] = 2; }},
       {"Float16",
        {"weights_delta.data_type is Float16"},
        [](C& c) { c.weights_delta.data_type = BNNSDataTypeFloat16; }},
       {"integers",
        {"dictionary.data_type is Int32", "gradient"},
        [](C& c) {
          c.params.o_desc.data_type = c.params.dictionary.data_type = BNNSDataTypeInt32;
        }},
       {"in is weights_delta",
        {"weights_delta and in overlap"},
        [](C& c) { c.weights_delta.data = c.in.data(); }},
       {"out_delta is weights_delta", {"weights_delta and out_delta overlap"}, [](C& c) {
          c.weights_delta.data = c.dy.data();
        }}});
  expect_refused(rows);
}

}  // namespace
}  // namespace bnns::test
