// Pieces that tests of single calls are built from: descriptors in one line, arrays that lie
// between canaries and remember their content, filters that destroy themselves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <utility>
#include <vector>

#include "openbnns/bnns.h"
#include "openbnns/openbnns.h"

namespace bnns::test {

inline BNNSNDArrayDescriptor array(BNNSDataLayout layout, std::initializer_list<size_t> size,
                                   void* data = nullptr, BNNSDataType type = BNNSDataTypeFloat32) {
  BNNSNDArrayDescriptor d = {};
  d.layout = layout;
  std::copy(size.begin(), size.end(), d.size);
  d.data = data;
  d.data_type = type;
  return d;
}

inline BNNSNDArrayDescriptor vector_of(size_t n, void* data = nullptr,
                                       BNNSDataType type = BNNSDataTypeFloat32) {
  return array(BNNSDataLayoutVector, {n}, data, type);
}

// Columns first, as RowMajorMatrix has it.
inline BNNSNDArrayDescriptor matrix_of(size_t columns, size_t rows, void* data = nullptr,
                                       BNNSDataType type = BNNSDataTypeFloat32) {
  return array(BNNSDataLayoutRowMajorMatrix, {columns, rows}, data, type);
}

inline BNNSActivation activation(BNNSActivationFunction function, float alpha = 0, float beta = 0) {
  BNNSActivation a = {};
  a.function = function;
  a.alpha = alpha;
  a.beta = beta;
  return a;
}

inline BNNSFilterParameters client_pointers() {
  BNNSFilterParameters p = {};
  p.flags = BNNSFlagsUseClientPtr;
  return p;
}

struct Space {
  size_t values;
};

// Values with canary bytes before, behind and, until written, in them.
template <class T>
class Guarded {
 public:
  explicit Guarded(Space space) : n_(space.values), bytes_(2 * kGuard + n_ * sizeof(T), kCanary) {
    remember();
  }
  Guarded(std::initializer_list<T> values) : Guarded(Space{values.size()}) {
    std::copy(values.begin(), values.end(), data());
    remember();
  }

  T* data() { return reinterpret_cast<T*>(bytes_.data() + kGuard); }
  const T* data() const { return reinterpret_cast<const T*>(bytes_.data() + kGuard); }
  size_t size() const { return n_; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }

  void remember() { before_ = bytes_; }
  bool untouched() const { return bytes_ == before_; }
  // Nothing changed apart from the values i for which may_change(i).
  template <class MayChange>
  bool untouched_except(const MayChange& may_change) const {
    std::vector<char> expected = before_;
    for (size_t i = 0; i < n_; ++i) {
      const size_t at = kGuard + i * sizeof(T);
      if (may_change(i)) std::memcpy(expected.data() + at, bytes_.data() + at, sizeof(T));
    }
    return expected == bytes_;
  }

 private:
  static constexpr size_t kGuard = 64;
  static constexpr char kCanary = 0x5A;

  size_t n_;
  std::vector<char> bytes_, before_;
};

class Filter {
 public:
  Filter(BNNSFilter handle = nullptr) : handle_(handle) {}
  Filter(Filter&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Filter& operator=(Filter&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Filter() { BNNSFilterDestroy(handle_); }

  BNNSFilter get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  BNNSFilter handle_;
};

inline Filter make_activation(const BNNSNDArrayDescriptor& in, const BNNSNDArrayDescriptor& out,
                              const BNNSActivation& a, uint32_t axis_flags = 0,
                              const BNNSFilterParameters* options = nullptr) {
  BNNSLayerParametersActivation p = {};
  p.i_desc = in;
  p.o_desc = out;
  p.activation = a;
  p.axis_flags = axis_flags;
  return Filter(BNNSFilterCreateLayerActivation(&p, options));
}

// Runs body(name) with filters of every SIMD target this machine has, then restores the best one.
template <class Body>
void for_targets(const Body& body) {
  for (const char* const* name = OpenBNNSGetSupportedTargets(); *name != nullptr; ++name) {
    OpenBNNSSetTarget(*name);
    body(*name);
  }
  OpenBNNSSetTarget(nullptr);
}

}  // namespace bnns::test
