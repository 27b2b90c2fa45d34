#include "ops/quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/convert/blocks.h"

namespace bnns::impl {
namespace {

constexpr size_t kGrain = 16384;
constexpr double kNanoseconds = 2;  // estimated time per element

// Stored values as they are: the descriptors' own scale and bias are not part of the formula.
View plain(const View& view) {
  View result = view;
  result.scaling = {};
  return result;
}

bool is_integer(const View& view) {
  return find_type(view.type)->is_integer();
}

void load_block(const ConvertKernels& convert, const View& x, size_t first, size_t n, double* to) {
  if (is_integer(x)) {
    int64_t values[kBlock];
    read_values(x, first, n, values);
    for (size_t i = 0; i < n; ++i) to[i] = static_cast<double>(values[i]);
  } else {
    float values[kBlock];
    read_values(convert, x, first, n, values);
    for (size_t i = 0; i < n; ++i) to[i] = double{values[i]};
  }
}

void store_block(const ConvertKernels& convert, const View& y, size_t first, size_t n,
                 const double* from) {
  if (!is_integer(y)) {
    float values[kBlock];
    for (size_t i = 0; i < n; ++i) values[i] = static_cast<float>(from[i]);
    return write_values(convert, y, first, n, values);
  }
  const TypeInfo& type = *find_type(y.type);
  const bool is_signed = type.kind == TypeClass::kSigned;
  const double whole = std::ldexp(1.0, static_cast<int>(type.bits) - (is_signed ? 1 : 0));
  const double least = is_signed ? -whole : 0, largest = whole - 1;
  int64_t values[kBlock];
  for (size_t i = 0; i < n; ++i) {
    const double value =
        from[i] == from[i] ? std::clamp(std::nearbyint(from[i]), least, largest) : 0;
    values[i] = static_cast<int64_t>(value);
  }
  write_values(y, first, n, values);
}

}  // namespace

QuantizeOp::QuantizeOp(const Memory& memory, size_t threads, const QuantizeProblem& problem,
                       bool use_client_pointers)
    : memory_(memory), threads_(threads), problem_(problem), scratch_(memory) {
  if (!use_client_pointers) load(own_);
}

void QuantizeOp::load(Array<float>& to) const {
  const size_t extent = problem_.extent;
  if (to.size() < 2 * extent) to = Array<float>(memory_, 2 * extent);
  const auto read = [&](const View& from, float absent, float* values) {
    if (from.data == nullptr) {
      std::fill_n(values, extent, absent);
    } else {
      read_values(*convert_kernels(), from, 0, extent, values);
    }
  };
  read(problem_.scale, 1, to.data());
  read(problem_.bias, 0, to.data() + extent);
}

void QuantizeOp::reserve(size_t callers) {
  scratch_.reserve(callers, [&](Array<float>& s) {
    if (!own_) load(s);
  });
}

void QuantizeOp::run(const View& x, const View& y) {
  const ConvertKernels& convert = *convert_kernels();
  const auto scratch = scratch_.take();
  if (!own_) load(*scratch);
  const float* scales = own_ ? own_.data() : scratch->data();
  const float* biases = scales + problem_.extent;
  const View from = plain(x), to = plain(y);
  const size_t threads = useful_threads(threads_, kNanoseconds * static_cast<double>(x.count));
  parallel_for(threads, div_up(x.count, kGrain), [&](size_t grain, size_t) {
    const size_t end = std::min((grain + 1) * kGrain, x.count);
    for (size_t first = grain * kGrain; first < end; first += kBlock) {
      const size_t n = std::min(kBlock, end - first);
      double values[kBlock];
      load_block(convert, from, first, n, values);
      for (size_t i = 0; i < n; ++i) {
        const size_t index =
            problem_.extent == 1 ? 0 : (first + i) / problem_.inner % problem_.extent;
        const double scale = double{scales[index]}, bias = double{biases[index]};
        values[i] = problem_.dequantize ? (values[i] - bias) / scale : scale * values[i] + bias;
      }
      store_block(convert, to, first, n, values);
    }
  });
}

}  // namespace bnns::impl
