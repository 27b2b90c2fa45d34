// LSTM through the C functions.
#include <openbnns/bnns.h>
#include <openbnns/openbnns.h>

#include <stdexcept>

#include "workloads/lstm.h"

namespace bench {
namespace {

void require_success(int status) {
  if (status != 0) throw std::runtime_error(OpenBNNSGetLastError());
}

BNNSNDArrayDescriptor with_data(float* data) {
  return {.data = data, .data_type = BNNSDataTypeFloat32};
}

// The tensors of a network, or their gradients; sizes and layouts of 0 are those of the network.
struct Tensors {
  float *in, *iw, *hw, *bias, *out;
};

BNNSLayerParametersLSTM layer(const Lstm& p, const Tensors& t) {
  BNNSLayerParametersLSTM l = {};
  l.input_size = p.inputs;
  l.hidden_size = p.hidden;
  l.batch_size = p.batch;
  l.num_layers = 1;
  l.seq_len = p.steps;
  l.lstm_flags = BNNSLayerFlagsLSTMDefaultActivations;
  l.input_descriptor.data_desc = with_data(t.in);
  l.output_descriptor.data_desc = with_data(t.out);
  BNNSLSTMGateDescriptor* gates[] = {&l.input_gate, &l.forget_gate, &l.candidate_gate,
                                     &l.output_gate};
  for (size_t k = 0; k < 4; ++k) {
    gates[k]->iw_desc[0] = with_data(t.iw + k * p.hidden * p.inputs);
    gates[k]->hw_desc = with_data(t.hw + k * p.hidden * p.hidden);
    gates[k]->b_desc = with_data(t.bias + k * p.hidden);
  }
  return l;
}

}  // namespace

void add_our_lstm(const Lstm& p, int threads, Rows& rows) {
  const BNNSFilterParameters settings{
      .flags = 0, .n_threads = size_t(threads), .alloc_memory = nullptr, .free_memory = nullptr};
  const auto buffer = [](const Buffer& like) { return std::make_shared<Buffer>(like.size()); };
  const auto out = buffer(p.out_delta), in_delta = buffer(p.in), iw_delta = buffer(p.iw),
             hw_delta = buffer(p.hw), bias_delta = buffer(p.bias);
  const BNNSLayerParametersLSTM network =
      layer(p, {p.in.data(), p.iw.data(), p.hw.data(), p.bias.data(), out->data()});
  const BNNSLayerParametersLSTM delta =
      layer(p, {in_delta->data(), iw_delta->data(), hw_delta->data(), bias_delta->data(),
                p.out_delta.data()});
  const size_t capacity = BNNSComputeLSTMTrainingCacheCapacity(&network);
  const auto cache = std::make_shared<Buffer>(capacity / sizeof(float));
  const auto forward = [=] {
    require_success(BNNSDirectApplyLSTMBatchTrainingCaching(&network, &settings, nullptr, 0));
  };
  const auto step = [=] {
    require_success(
        BNNSDirectApplyLSTMBatchTrainingCaching(&network, &settings, cache->data(), capacity));
    require_success(
        BNNSDirectApplyLSTMBatchBackward(&network, &delta, &settings, cache->data(), capacity));
  };
  rows.add("fwd", {.who = "ours",
                   .run = repeated(forward),
                   .results =
                       [=] {
                         forward();
                         return std::vector<Result>{{.tensor = "out", .value = out->copy()}};
                       },
                   .note = ""});
  rows.add("fwd+bwd", {.who = "ours",
                       .run = repeated(step),
                       .results =
                           [=] {
                             step();
                             return std::vector<Result>{
                                 {.tensor = "out", .value = out->copy()},
                                 {.tensor = "in_delta", .value = in_delta->copy()},
                                 {.tensor = "iw_delta", .value = iw_delta->copy()},
                                 {.tensor = "hw_delta", .value = hw_delta->copy()},
                                 {.tensor = "bias_delta", .value = bias_delta->copy()}};
                           },
                       .note = ""});
}

}  // namespace bench
