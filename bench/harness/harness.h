// How one row of the comparison is checked and timed.
// A Row is one operation of one workload. Everybody who can do it adds an Entry; an entry is first
// compared with the expected values and then timed. Each round takes one sample of every entry in
// rotating order, so that all see the same noise, and measures the FMA peak of the moment.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace bench {

struct Options {
  int threads = 1;
  int reps = 11;
  double sample_seconds = 4e-3;
  std::vector<std::string> only;
  std::string json, markdown;
  std::string command;  // as it was typed
  bool quick = false;
  bool check_only = false;
};

// Floats aligned to a cache line: the inputs of all peers and our outputs.
class Buffer {
 public:
  explicit Buffer(size_t n) : size_(n), data_(allocate(n)) {
    for (size_t i = 0; i < n; ++i) data_.get()[i] = 0.0f;
  }
  float* data() const { return data_.get(); }
  size_t size() const { return size_; }
  std::vector<float> copy() const { return {data(), data() + size_}; }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  static float* allocate(size_t n) {
    void* p = std::aligned_alloc(64, (n * sizeof(float) / 64 + 1) * 64);
    if (p == nullptr) throw std::bad_alloc();
    return static_cast<float*>(p);
  }
  size_t size_;
  std::unique_ptr<float, Free> data_;
};

// The right values of one output tensor, or of a part of it, with the error each may have.
struct Expected {
  std::string tensor;
  size_t size;             // elements of the whole tensor
  std::vector<size_t> at;  // position of each value in it
  std::vector<double> value;
  std::vector<double> bound;
};

struct Result {
  std::string tensor;
  std::vector<float> value;
};

struct Entry {
  std::string who;                               // "ours" is the one the ratios refer to
  std::function<void(long)> run;                 // makes that many complete calls
  std::function<std::vector<Result>()> results;  // what one call computes
  std::string note;                              // e.g. the kernel a peer says it uses
};

// The loop is inside the function object, so that the indirect call is timed only once.
template <class F>
std::function<void(long)> repeated(F f) {
  return [f = std::move(f)](long n) mutable {
    for (long i = 0; i < n; ++i) f();
  };
}

struct Row {
  std::string family, workload, op;
  double flops = 0;
  double read_bytes = 0, write_bytes = 0;  // least traffic of a call
  double working_set = 0;                  // bytes of all tensors touched
  std::vector<Expected> expected;
  std::vector<Entry> entries = {};
};

// The rows of one workload that were asked for. Adding an entry for another operation does nothing.
class Rows {
 public:
  std::vector<Row> list;
  void add(const std::string& op, Entry entry) {
    for (Row& row : list) {
      if (row.op == op) row.entries.push_back(std::move(entry));
    }
  }
};

struct Timing {
  std::string who, note;
  double median = 0, p25 = 0, p75 = 0, min = 0;  // seconds a call
  double spread = 0;                             // half the interquartile range, seconds
  double roofline = 0;                           // limit / median
  double ratio = 0;                              // to "ours", median over the rounds; 0: no "ours"
  int samples = 0, disturbed = 0;                // disturbed: in all its tries
};

struct Measured {
  std::string family, workload, op;
  double flops = 0, bytes = 0;
  double peak_gflops = 0;  // median of the calibrations between the rounds
  double limit = 0;        // seconds the machine needs at least; 0 if not known
  bool compute_bound = false;
  std::vector<Timing> timings;
};

class Bandwidth;

// Removes the entries that fail or have wrong results, reports them on stderr, returns their
// number.
int drop_wrong_entries(Row& row);

Measured measure(Row& row, const Options& options, const Bandwidth& bandwidth);

}  // namespace bench
