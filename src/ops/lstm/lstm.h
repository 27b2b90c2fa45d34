// Stacked LSTM cells over a sequence, in one direction or both. Per step, for the gates i, f, g, o:
//   a_k = Wx_k x_t + Wh_k h_(t-1) + Wc_k c_(t-1) + b_k,  c_t = f c_(t-1) + i g,  h_t = o phi(c_t)
// where k = act_k(a_k), and the gate o reads c_t in place of c_(t-1). A layer reads the h of the
// layer below it, of which some are dropped in training; the reverse direction runs from the last
// step to the first. A sample shorter than the sequence keeps its state through the steps behind
// its end.
//   The inputs of some steps are one product, the four gates of a step are one, with weights packed
// once per direction; the gradients of both matrices are one product over all steps, those of the
// inputs another. Samples are the grains of the cell update. The bits do not depend on the number
// of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/memory.h"
#include "core/view.h"
#include "ops/lstm/functions.h"

namespace bnns::impl {

struct LstmShape {
  size_t inputs, hidden, batch, layers, steps, directions;

  size_t outputs() const { return directions * hidden; }
  size_t inputs_of(size_t layer) const { return layer == 0 ? inputs : outputs(); }
  size_t rows() const { return steps * batch; }
  size_t gates() const { return kLstmGates * hidden; }
  // Whether the matrices of inputs of the first layer and of those above it are two tensors.
  bool splits_weights() const { return layers > 1 && inputs != outputs(); }
};

// Float32 with any strides. Axes, the fastest first: sequences {value, sample, step}; states
// {hidden, sample, direction, layer}; matrices {input, hidden, direction, layer}; bias {hidden,
// direction, layer}. A tensor without data does not exist, or is not wanted.
struct LstmTensor {
  View view;
  bool accumulate = false;  // of a gradient

  explicit operator bool() const { return view.data != nullptr; }
};

struct LstmData {
  LstmTensor sequence, hidden, cell;
};

// iw_upper has the layers above the first if splits_weights(); otherwise iw has all.
struct LstmGateTensors {
  LstmTensor iw, iw_upper, hw, cw, b;
};

// The tensors of a network, or their gradients.
struct LstmNetwork {
  LstmData in, out;
  LstmGateTensors gate[kLstmGates];
};

struct LstmProblem {
  LstmShape shape;
  LstmFunctions functions;
  float dropout = 0;                // of the outputs between two layers, in training
  const size_t* lengths = nullptr;  // one per sample, none above `steps`; NULL: all are as long

  bool drops() const { return shape.layers > 1 && dropout > 0; }
  bool is_active(size_t step, size_t sample) const {
    return lengths == nullptr || step < lengths[sample];
  }
};

// What a training pass leaves for the gradient: in each layer the outputs h, with one step in front
// and one behind that hold the initial states of the two directions; for each direction the gates,
// and the cell states with one step for the initial ones. Gates are i, f, g, o of a sample one
// after the other, as sums or with the functions applied, see LstmFunctions.
class LstmCache {
 public:
  explicit LstmCache(const LstmShape& shape);

  size_t floats() const { return floats_; }
  size_t h_floats() const { return h_; }
  size_t gate_floats() const { return gates_; }
  size_t cell_floats() const { return cells_; }
  // Places of the parts of a layer.
  size_t h(size_t layer) const { return layer * layer_; }
  size_t gates(size_t layer, size_t direction) const {
    return layer * layer_ + h_ + direction * (gates_ + cells_);
  }
  size_t cells(size_t layer, size_t direction) const { return gates(layer, direction) + gates_; }

 private:
  size_t h_, gates_, cells_, layer_, floats_;
};

struct LstmRun {
  const Memory& memory;
  size_t threads;
};

// `cache`, LstmCache::floats() of memory, is written; NULL: inference, nothing is dropped. `stream`
// and the following, one per layer, say what is dropped.
void run_lstm(const LstmRun& run, const LstmProblem& problem, const LstmNetwork& network,
              float* cache, uint64_t stream);

// Gradients of all tensors of `delta` that exist, from those of its outputs. Without a cache the
// forward pass is computed again; then nothing may have been dropped.
void run_lstm_backward(const LstmRun& run, const LstmProblem& problem, const LstmNetwork& network,
                       const LstmNetwork& delta, const float* cache, uint64_t stream);

}  // namespace bnns::impl
