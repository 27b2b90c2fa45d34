// What the passes of an LSTM share: where the values of a layer lie, weights packed for products,
// working memory, transfer from and to the tensors of the client.
#pragma once

#include <array>
#include <cstddef>

#include "core/parallel.h"
#include "ops/gemm/gemm.h"
#include "ops/lstm/kernels.h"
#include "ops/lstm/lstm.h"

namespace bnns::impl {

// Arrays in one allocation.
class LstmMemory {
 public:
  void add(float** array, size_t floats);
  void allocate(const Memory& memory);

 private:
  struct Part {
    float** array;
    size_t floats;
  };
  std::array<Part, 20> parts_;
  size_t count_ = 0, floats_ = 0;
  Array<float> memory_;
};

// The values of one direction of a layer, step by step: `h` has the outputs of both directions.
struct LstmTrack {
  float *h, *gates, *cells;
  size_t direction;
};

// The tensors of a layer and direction; those of a state have an axis of samples.
View lstm_slice(const LstmTensor& tensor, size_t layer, size_t direction);
// The matrix of inputs of a layer, from the tensor of iw that has it.
View lstm_input_weights(const LstmShape& shape, const LstmGateTensors& gate, size_t layer,
                        size_t direction);
LstmTensor lstm_input_tensor(const LstmShape& shape, const LstmGateTensors& gate, size_t layer);

// Matrices with the same number of rows, one below the other.
struct LstmMatrix {
  struct Part {
    const float* data;
    size_t row, column;  // strides
  };
  const GemmKernels* kernels;
  size_t parts = 0, rows = 0, columns = 0;  // rows and columns of a part
  Part part[kLstmGates] = {};

  void add(const View& view);
  // As the second operand of a product: of x W^T, or of g W.
  PackedMatrix pack(float* memory, size_t threads, bool transposed) const;
};

class LstmPass {
 public:
  LstmPass(const LstmRun& run, const LstmProblem& problem, const LstmNetwork& network,
           uint64_t stream)
      : run_(run), p_(problem), s_(problem.shape), net_(network), stream_(stream) {}
  LstmPass(const LstmPass&) = delete;
  LstmPass& operator=(const LstmPass&) = delete;

 protected:
  // Rows of values at equal distances.
  struct Rows {
    const float* data = nullptr;
    size_t row = 0;
  };

  // A sequence whose rows are contiguous and at equal distances; otherwise data is NULL.
  static Rows plain_rows(const LstmTensor& sequence);
  // Whether the sequence is used where it lies. If the lengths differ it is copied, so that nothing
  // that lies behind the end of a sample has any effect.
  bool in_place(const LstmTensor& sequence) const {
    return p_.lengths == nullptr && plain_rows(sequence).data != nullptr;
  }
  // To contiguous rows, and back; what lies behind the end of a sample is taken for zeros.
  void read_sequence(const LstmTensor& from, float* to) const;
  void write_sequence(const LstmTensor& to, const float* values, size_t row) const;
  // Elements [first, first + count) of a collapsed view, or all of a view, by this thread; `from`
  // is contiguous.
  void write(const View& to, size_t first, size_t count, const float* from, bool accumulate) const;
  void write(const View& to, const float* from, bool accumulate) const {
    write(collapsed(to), 0, to.count, from, accumulate);
  }
  void read(const View& from, float* to) const;
  void write_state(const LstmTensor& to, size_t layer, size_t direction, const float* rows,
                   size_t row) const;
  // Rows that are not given are zeros.
  void read_state(const LstmTensor& from, size_t layer, size_t direction, float* rows,
                  size_t row) const;
  // Inputs of a layer above the first: the outputs below it, some of them dropped.
  void drop(size_t layer, const float* from, float* to) const;

  LstmMatrix input_matrix(size_t layer, size_t direction) const;
  LstmMatrix hidden_matrix(size_t layer, size_t direction) const;
  LstmMatrix peephole_matrix(size_t gate, size_t layer, size_t direction) const;
  bool has_peephole(size_t gate) const { return bool{net_.gate[gate].cw}; }
  bool has_bias() const;

  GemmOp product(const GemmShape& shape, size_t a_row, const PackedMatrix& b, size_t c_row) const {
    return GemmOp(*gemm_, run_.threads,
                  {.shape = shape,
                   .a = {.row = a_row},
                   .b = {.packed = &b, .has_matrix = false},
                   .c_row = c_row});
  }

  // Places in the values of a track at a step. States before a step are those after the one that
  // the direction computes before it.
  float* h_at(const LstmTrack& t, size_t step) const {
    return t.h + (step + 1) * s_.batch * s_.outputs() + t.direction * s_.hidden;
  }
  float* h_before(const LstmTrack& t, size_t step) const {
    return t.h + (step + 2 * t.direction) * s_.batch * s_.outputs() + t.direction * s_.hidden;
  }
  float* gates_at(const LstmTrack& t, size_t step) const {
    return t.gates + step * s_.batch * s_.gates();
  }
  size_t step_of(const LstmTrack& t, size_t turn) const {
    return t.direction == 0 ? turn : s_.steps - 1 - turn;
  }

  // body(sample, worker) for all samples; `nanoseconds` is the cost of a value, and the loop a part
  // of a step that takes `around` more.
  template <class Body>
  void for_samples(double nanoseconds, double around, const Body& body) const {
    constexpr size_t kGrain = 2048;  // values, some microseconds
    const double work = nanoseconds * static_cast<double>(s_.batch * s_.hidden);
    const bool shared = work > 4000 && work + around > kSerialNanoseconds;
    const size_t grain = kGrain / s_.hidden + 1;
    parallel_for(shared ? run_.threads : 1, div_up(s_.batch, grain), [&](size_t g, size_t worker) {
      const size_t end = std::min(s_.batch, (g + 1) * grain);
      for (size_t n = g * grain; n < end; ++n) body(n, worker);
    });
  }
  template <class Body>
  void for_steps(size_t values, const Body& body) const {
    const double work = 0.5 * static_cast<double>(s_.rows()) * static_cast<double>(values);
    parallel_for(useful_threads(run_.threads, work), s_.steps,
                 [&](size_t step, size_t) { body(step); });
  }

  const LstmRun& run_;
  const LstmProblem& p_;
  const LstmShape& s_;
  const LstmNetwork& net_;
  const uint64_t stream_;
  const GemmKernels* const gemm_ = gemm_kernels();
  const LstmKernels* const kernels_ = lstm_kernels();
  const ConvertKernels* const convert_ = convert_kernels();
};

}  // namespace bnns::impl
