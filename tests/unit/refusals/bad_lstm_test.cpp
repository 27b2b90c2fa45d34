// What the LSTM calls must refuse.
#include <cmath>
#include <limits>

#include "support/call_table.h"

namespace bnns::test {
namespace {

constexpr size_t kInputs = 3, kHidden = 2, kBatch = 2, kLayers = 2, kSteps = 2;
constexpr size_t kX = kSteps * kBatch * kInputs, kY = kSteps * kBatch * kHidden;
constexpr size_t kState = kLayers * kBatch * kHidden;

// The tensors of a network, or their gradients.
struct Tensors {
  Guarded<float> x{Space{kX}}, y{Space{kY}}, h{Space{kState}}, c{Space{kState}};
  Guarded<float> last_h{Space{kState}}, last_c{Space{kState}};
  std::vector<Guarded<float>> iw, iw_upper, hw, cw, b;

  Tensors() {
    for (size_t k = 0; k < 4; ++k) {
      iw.emplace_back(Space{kHidden * kInputs});
      iw_upper.emplace_back(Space{kHidden * kHidden});
      for (auto* to : {&hw, &cw}) to->emplace_back(Space{kLayers * kHidden * kHidden});
      b.emplace_back(Space{kLayers * kHidden});
    }
    for_all([](Guarded<float>& m) {
      std::fill_n(m.data(), m.size(), 0.5f);
      m.remember();
    });
  }
  template <class F>
  void for_all(const F& f) {
    for (auto* m : {&x, &y, &h, &c, &last_h, &last_c}) f(*m);
    for (auto* list : {&iw, &iw_upper, &hw, &cw, &b})
      for (Guarded<float>& m : *list) f(m);
  }
  void fill(BNNSLayerParametersLSTM& p) {
    const auto make = [](BNNSDataLayout layout, std::initializer_list<size_t> size,
                         Guarded<float>& m) { return array(layout, size, m.data()); };
    const auto state = [&](Guarded<float>& m) {
      return make(BNNSDataLayout4DFirstMajor, {kLayers, 1, kBatch, kHidden}, m);
    };
    p.input_descriptor = {make(BNNSDataLayoutSNE, {kInputs, kBatch, kSteps}, x), state(h),
                          state(c)};
    p.output_descriptor = {make(BNNSDataLayoutSNE, {kHidden, kBatch, kSteps}, y), state(last_h),
                           state(last_c)};
    BNNSLSTMGateDescriptor* gates[] = {&p.input_gate, &p.forget_gate, &p.candidate_gate,
                                       &p.output_gate};
    for (size_t k = 0; k < 4; ++k) {
      const auto matrix = [&](Guarded<float>& m) {
        return make(BNNSDataLayout4DFirstMajor, {kLayers, 1, kHidden, kHidden}, m);
      };
      gates[k]->iw_desc[0] = make(BNNSDataLayoutRowMajorMatrix, {kInputs, kHidden}, iw[k]);
      gates[k]->iw_desc[1] = make(BNNSDataLayoutRowMajorMatrix, {kHidden, kHidden}, iw_upper[k]);
      gates[k]->hw_desc = matrix(hw[k]);
      gates[k]->cw_desc = matrix(cw[k]);
      gates[k]->b_desc = make(BNNSDataLayout3DFirstMajor, {kLayers, 1, kHidden}, b[k]);
    }
  }
};

struct LstmCall : CallBase {
  Tensors values;
  std::vector<int64_t> lengths = {2, 1};
  BNNSLayerParametersLSTM p = {};
  const BNNSLayerParametersLSTM* p_pointer = &p;
  std::vector<float> cache;
  void* cache_pointer = nullptr;
  size_t capacity = 0;

  LstmCall() {
    p.input_size = kInputs;
    p.hidden_size = kHidden;
    p.batch_size = kBatch;
    p.num_layers = kLayers;
    p.seq_len = kSteps;
    values.fill(p);
    p.sequence_descriptor =
        array(BNNSDataLayoutVector, {kBatch}, lengths.data(), BNNSDataTypeInt64);
    for (BNNSLSTMGateDescriptor* gate : {&p.input_gate, &p.forget_gate, &p.output_gate})
      gate->activation = activation(BNNSActivationFunctionSigmoid);
    p.candidate_gate.activation = p.hidden_activation = activation(BNNSActivationFunctionTanh);
    capacity = BNNSComputeLSTMTrainingCacheCapacity(&p);
    cache.assign(capacity / 4 + 1, 0.25f);
    cache_pointer = cache.data();
  }
  LstmCall(const LstmCall&) = delete;
};

struct Capacity : LstmCall {
  const char* function = "BNNSComputeLSTMTrainingCacheCapacity";
  template <class F>
  void for_outputs(const F& f) {
    values.for_all(f);
  }
  bool run() { return BNNSComputeLSTMTrainingCacheCapacity(p_pointer) != SIZE_MAX; }
  bool correct() const { return capacity > 0; }
};

struct Forward : LstmCall {
  const char* function = "BNNSDirectApplyLSTMBatchTrainingCaching";
  template <class F>
  void for_outputs(const F& f) {
    values.for_all(f);
  }
  bool run() {
    return BNNSDirectApplyLSTMBatchTrainingCaching(p_pointer, nullptr, cache_pointer, capacity) ==
           0;
  }
  // The second sample has one step: zeros behind it, the same in the first.
  bool correct() {
    const Guarded<float>& y = values.y;
    return values.x.untouched() && values.hw[0].untouched() && y[0] == y[2] && y[0] > 0 &&
           y[4] > y[0] && y[6] == 0 && y[7] == 0 && values.last_h[kState - 1] == y[2];
  }
};

struct Backward : LstmCall {
  const char* function = "BNNSDirectApplyLSTMBatchBackward";
  Tensors gradients;
  BNNSLayerParametersLSTM delta = {};
  const BNNSLayerParametersLSTM* delta_pointer = &delta;

  Backward() {
    BNNSDirectApplyLSTMBatchTrainingCaching(&p, nullptr, cache_pointer, capacity);
    values.for_all([](auto& m) { m.remember(); });
    gradients.fill(delta);
  }
  template <class F>
  void for_outputs(const F& f) {
    values.for_all(f);
    gradients.for_all(f);
  }
  bool run() {
    return BNNSDirectApplyLSTMBatchBackward(p_pointer, delta_pointer, nullptr, cache_pointer,
                                            capacity) == 0;
  }
  bool correct() {
    bool values_untouched = true;
    values.for_all([&](auto& m) { values_untouched &= m.untouched(); });
    const Guarded<float>& dx = gradients.x;
    return values_untouched && gradients.y.untouched() && gradients.last_c.untouched() &&
           dx[0] != 0.5f && dx[0] == dx[1] && dx[kX - 1] == 0;
  }
};

template <class Call>
std::vector<Row<Call>> scalar_rows() {
  return {
      {"NULL", {"layer_params is NULL"}, [](Call& c) { c.p_pointer = nullptr; }},
      {"input_size", {"input_size is 0", "at least 1"}, [](Call& c) { c.p.input_size = 0; }},
      {"hidden_size", {"hidden_size is 0"}, [](Call& c) { c.p.hidden_size = 0; }},
      {"batch_size", {"batch_size is 0"}, [](Call& c) { c.p.batch_size = 0; }},
      {"num_layers", {"num_layers is 0"}, [](Call& c) { c.p.num_layers = 0; }},
      {"seq_len", {"seq_len is 0"}, [](Call& c) { c.p.seq_len = 0; }},
      {"steps overflow", {"overflow"}, [](Call& c) { c.p.seq_len = SIZE_MAX; }},
      {"layers overflow", {"overflow"}, [](Call& c) { c.p.num_layers = SIZE_MAX / 2; }},
      {"hidden overflow", {"overflow"}, [](Call& c) { c.p.hidden_size = size_t{1} << 62; }},
      {"inputs overflow", {"overflow"}, [](Call& c) { c.p.input_size = size_t{1} << 62; }},
      {"too large", {"address space"}, [](Call& c) { c.p.seq_len = size_t{1} << 54; }},
      {"flags", {"lstm_flags is 4", "BNNSLayerFlags"}, [](Call& c) { c.p.lstm_flags = 4; }},
      {"dropout 1", {"dropout is 1", "below 1"}, [](Call& c) { c.p.dropout = 1; }},
      {"dropout negative", {"dropout is -0.5"}, [](Call& c) { c.p.dropout = -0.5f; }},
      {"dropout NaN", {"dropout is nan"}, [](Call& c) { c.p.dropout = std::nanf(""); }},
  };
}

template <class Call, class Get>
void add_tensor_rows(std::vector<Row<Call>>& rows, const std::string& field, const Get& get) {
  append(rows, {
                   {field + " type",
                    {field + ".data_type is Float16", "Float32"},
                    [=](Call& c) { get(c).data_type = BNNSDataTypeFloat16; }},
                   {field + " no type",
                    {field + ".data_type is 77"},
                    [=](Call& c) { get(c).data_type = static_cast<BNNSDataType>(77); }},
                   {field + " layout",
                    {field + ".layout is"},
                    [=](Call& c) { get(c).layout = static_cast<BNNSDataLayout>(77); }},
                   {field + " size", {field}, [=](Call& c) { get(c).size[0] += 1; }},
                   {field + " huge", {field}, [=](Call& c) { get(c).size[1] = SIZE_MAX; }},
                   {field + " stride", {field}, [=](Call& c) { get(c).stride[0] = SIZE_MAX; }},
                   {field + " unaligned",
                    {field + ".data", "aligned"},
                    [=](Call& c) { get(c).data = static_cast<char*>(get(c).data) + 1; }},
               });
}

template <class Call, class Get>
void add_network_rows(std::vector<Row<Call>>& rows, const std::string& place, const Get& get) {
  const auto add = [&](const std::string& field, auto member) {
    add_tensor_rows(
        rows, place + field, [=](Call & c) -> auto& { return member(get(c)); });
  };
  using P = BNNSLayerParametersLSTM;
  add(
      "input_descriptor.data_desc", [](P & p) -> auto& { return p.input_descriptor.data_desc; });
  add(
      "input_descriptor.hidden_desc",
      [](P & p) -> auto& { return p.input_descriptor.hidden_desc; });
  add(
      "output_descriptor.data_desc", [](P & p) -> auto& { return p.output_descriptor.data_desc; });
  add(
      "output_descriptor.cell_state_desc",
      [](P & p) -> auto& { return p.output_descriptor.cell_state_desc; });
  add(
      "input_gate.iw_desc[0]", [](P & p) -> auto& { return p.input_gate.iw_desc[0]; });
  add(
      "forget_gate.iw_desc[1]", [](P & p) -> auto& { return p.forget_gate.iw_desc[1]; });
  add(
      "candidate_gate.hw_desc", [](P & p) -> auto& { return p.candidate_gate.hw_desc; });
  add(
      "output_gate.cw_desc", [](P & p) -> auto& { return p.output_gate.cw_desc; });
  add(
      "output_gate.b_desc", [](P & p) -> auto& { return p.output_gate.b_desc; });
}

template <class Call>
std::vector<Row<Call>> common_rows() {
  auto rows = scalar_rows<Call>();
  append(
      rows,
      {
          {"function",
           {"input_gate.activation", "77"},
           [](Call& c) {
             c.p.input_gate.activation.function = static_cast<BNNSActivationFunction>(77);
           }},
          {"random function",
           {"output_gate.activation.function is Gumbel", "element-wise"},
           [](Call& c) {
             c.p.output_gate.activation = activation(BNNSActivationFunctionGumbel, 1, 1);
           }},
          {"hidden function",
           {"hidden_activation.function is PReLUPerChannel"},
           [](Call& c) {
             c.p.hidden_activation = activation(BNNSActivationFunctionPReLUPerChannel, 1);
           }},
          {"alpha",
           {"hidden_activation.alpha is nan"},
           [](Call& c) {
             c.p.hidden_activation = activation(BNNSActivationFunctionELU, std::nanf(""));
           }},
          {"no input",
           {"input_descriptor.data_desc.data is NULL"},
           [](Call& c) { c.p.input_descriptor.data_desc.data = nullptr; }},
          {"no weights",
           {"forget_gate.iw_desc[0].data is NULL"},
           [](Call& c) { c.p.forget_gate.iw_desc[0].data = nullptr; }},
          {"no upper weights",
           {"forget_gate.iw_desc[1].data is NULL"},
           [](Call& c) { c.p.forget_gate.iw_desc[1].data = nullptr; }},
          {"no recurrent weights",
           {"output_gate.hw_desc.data is NULL"},
           [](Call& c) { c.p.output_gate.hw_desc.data = nullptr; }},
          {"packed layout",
           {"output_gate.hw_desc", "plain array"},
           [](Call& c) {
             auto& d = c.p.output_gate.hw_desc;
             d = array(BNNSDataLayoutConvolutionWeightsOIHrWr, {2, 1, 2, 2}, d.data);
           }},
          {"sequence in another layout",
           {"input_descriptor.data_desc.layout", "SNE or NSE"},
           [](Call& c) { c.p.input_descriptor.data_desc.layout = BNNSDataLayout3DFirstMajor; }},
          {"length",
           {"sequence_descriptor.data[1] is 3", "seq_len, which is 2"},
           [](Call& c) { c.lengths[1] = 3; }},
          {"negative length",
           {"sequence_descriptor.data[0] is -1"},
           [](Call& c) { c.lengths[0] = -1; }},
          {"number of lengths",
           {"sequence_descriptor is Vector {3}", "2 lengths"},
           [](Call& c) { c.p.sequence_descriptor.size[0] = 3; }},
          {"type of lengths",
           {"sequence_descriptor.data_type is Int16"},
           [](Call& c) { c.p.sequence_descriptor.data_type = BNNSDataTypeInt16; }},
          {"unaligned lengths",
           {"sequence_descriptor.data", "aligned"},
           [](Call& c) {
             c.p.sequence_descriptor.data = static_cast<char*>(c.p.sequence_descriptor.data) + 4;
           }},
          {"small cache", {"training_cache_capacity is", "bytes"}, [](Call& c) { --c.capacity; }},
          {"unaligned cache",
           {"training_cache_ptr is", "aligned to 4"},
           [](Call& c) { c.cache_pointer = reinterpret_cast<char*>(c.cache_pointer) + 2; }},
      });
  return rows;
}

TEST(BadLstm, Capacity) {
  expect_refused(scalar_rows<Capacity>());
}

TEST(BadLstm, Forward) {
  using Call = Forward;
  auto rows = common_rows<Call>();
  add_network_rows(
      rows, "", [](Call & c) -> auto& { return c.p; });
  append(rows,
         {
             {"no output",
              {"output_descriptor.data_desc.data is NULL"},
              [](Call& c) { c.p.output_descriptor.data_desc.data = nullptr; }},
             {"output elements overlap",
              {"output_descriptor.data_desc", "overlap"},
              [](Call& c) { c.p.output_descriptor.data_desc.stride[1] = 1; }},
             {"output over input",
              {"input_descriptor.data_desc", "output_descriptor.data_desc", "overlap"},
              [](Call& c) { c.p.output_descriptor.data_desc.data = c.values.x.data(); }},
             {"states partly over each other",
              {"input_descriptor.hidden_desc", "output_descriptor.hidden_desc", "overlap"},
              [](Call& c) { c.p.output_descriptor.hidden_desc.data = c.values.h.data() + 2; }},
             {"state over the other state",
              {"input_descriptor.cell_state_desc", "output_descriptor.hidden_desc", "overlap"},
              [](Call& c) { c.p.output_descriptor.hidden_desc.data = c.values.c.data(); }},
             {"cache over weights",
              {"training_cache_ptr", "hw_desc", "overlap"},
              [](Call& c) { c.cache_pointer = c.values.hw[0].data(); }},
         });
  expect_refused(rows);
}

TEST(BadLstm, Backward) {
  using Call = Backward;
  auto rows = common_rows<Call>();
  add_network_rows(
      rows, "layer_delta_params: ", [](Call & c) -> auto& { return c.delta; });
  append(rows, enum_rows<Call>("layer_delta_params: forget_gate.cw_desc.flags",
                               BNNSNDArrayFlagBackpropAccumulate, [](Call& c, uint32_t v) {
                                 c.delta.forget_gate.cw_desc.flags =
                                     static_cast<BNNSNDArrayFlags>(v);
                               }));
  append(
      rows,
      {
          {"no deltas", {"layer_delta_params is NULL"}, [](Call& c) { c.delta_pointer = nullptr; }},
          {"other sizes",
           {"layer_delta_params: seq_len is 3", "layer_params is 2"},
           [](Call& c) { c.delta.seq_len = 3; }},
          {"no gradient of an output",
           {"output_descriptor", "NULL", "gradient of an output"},
           [](Call& c) { c.delta.output_descriptor = {}; }},
          {"gradient of no bias",
           {"b_desc", "no such parameter"},
           [](Call& c) { c.p.forget_gate.b_desc.data = nullptr; }},
          {"gradient of no peephole",
           {"cw_desc", "no such parameter"},
           [](Call& c) { c.p.forget_gate.cw_desc.data = nullptr; }},
          {"gradient over a parameter",
           {"hw_desc", "overlap"},
           [](Call& c) { c.delta.input_gate.hw_desc.data = c.values.hw[1].data(); }},
          {"gradients over each other",
           {"layer_delta_params: input_gate.hw_desc", "overlap"},
           [](Call& c) { c.delta.input_gate.hw_desc.data = c.gradients.hw[1].data(); }},
          {"gradient over the cache",
           {"training_cache_ptr", "overlap"},
           [](Call& c) { c.delta.input_gate.hw_desc.data = c.cache.data() + 40; }},
          {"not a cache",
           {"training_cache_ptr points to other data"},
           [](Call& c) { c.cache[0] = 0; }},
          {"another network",
           {"cache of another network", "input_size"},
           [](Call& c) { c.p.forget_gate.activation.function = BNNSActivationFunctionTanh; }},
          {"other lengths",
           {"cache of another network", "lengths"},
           [](Call& c) { c.lengths[0] = 1; }},
          {"dropout without a cache",
           {"training_cache_ptr is NULL", "dropout is 0.5"},
           [](Call& c) {
             c.p.dropout = 0.5f;
             c.cache_pointer = nullptr;
           }},
      });
  expect_refused(rows);
}

}  // namespace
}  // namespace bnns::test
