// BNNSLayerParametersLSTM -> LstmProblem and the tensors of a network, with every check of them.
#pragma once

#include "core/call.h"
#include "core/memory.h"
#include "openbnns/bnns.h"
#include "ops/lstm/lstm.h"

namespace bnns::impl {

// Sizes and flags; the tensors are not looked at.
LstmShape read_lstm_shape(const BNNSLayerParametersLSTM& p);
// As messages begin with it: "input_gate."
const char* lstm_gate_name(size_t gate);
// Everything but the tensors and the lengths.
LstmProblem read_lstm_problem(const BNNSLayerParametersLSTM& p);
// Refuses sizes in the structure of gradients that contradict the network's; 0 is none.
void check_lstm_delta_sizes(const BNNSLayerParametersLSTM& p, const LstmShape& shape);

// All tensors of a call. They are read first; check_overlaps() then refuses a call that writes
// memory which it also reads, or writes twice.
class LstmTensors {
 public:
  explicit LstmTensors(const LstmShape& shape) : shape_(shape) {}

  // The network itself; with outputs that are written, or without them.
  LstmNetwork read_values(const BNNSLayerParametersLSTM& p, bool with_outputs);
  // Gradients: those of the outputs are read, the others written. Messages begin with the name of
  // the structure.
  LstmNetwork read_deltas(const BNNSLayerParametersLSTM& p);
  // Lengths of the samples, checked and copied; NULL if there are none.
  const size_t* read_lengths(const BNNSLayerParametersLSTM& p, const Memory& memory,
                             Array<size_t>& lengths);
  void add_cache(const void* cache, size_t bytes, bool written);
  void check_overlaps();

 private:
  struct Name {
    const char *place = "", *part = "", *field = "";
    Text text() const { return Text(place, part, field); }
  };
  // Extents from the slowest axis; the first two are layers and directions, which a tensor may have
  // as one axis.
  struct Extents {
    size_t count;
    size_t extent[4];
  };

  LstmTensor read_tensor(const BNNSNDArrayDescriptor& given, const Name& name, const Extents& want,
                         Use use);
  LstmTensor read_sequence(const BNNSNDArrayDescriptor& given, const Name& name, size_t values,
                           Use use);
  LstmData read_data(const BNNSLSTMDataDescriptor& given, const char* place, const char* part,
                     size_t values, Use use);
  LstmGateTensors read_gate(const BNNSLSTMGateDescriptor& given, const char* place,
                            const char* part, Use use);
  void read_gates(const BNNSLayerParametersLSTM& p, const char* place, Use use,
                  LstmNetwork& network);
  LstmTensor add(const Descriptor& d, const Name& name, Use use);
  // A final state may replace the initial one, which is read first.
  void allow_in_place(const LstmTensor& in, const LstmTensor& out, const char* field);

  static constexpr size_t kMost = 64;
  const LstmShape shape_;
  size_t count_ = 0;
  TensorRange ranges_[kMost];
  Name names_[kMost];
};

}  // namespace bnns::impl
