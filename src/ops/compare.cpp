#include "ops/compare.h"

#include <algorithm>
#include <functional>

#include "core/checked.h"
#include "core/parallel.h"
#include "math/half.h"

namespace bnns::impl {
namespace {

constexpr size_t kBlock = 512, kGrain = 32768;
constexpr double kNanoseconds = 0.5;

constexpr CompareInfo kOperators[] = {
    {BNNSRelationalOperatorEqual, false},        {BNNSRelationalOperatorLess, false},
    {BNNSRelationalOperatorLessEqual, false},    {BNNSRelationalOperatorGreater, false},
    {BNNSRelationalOperatorGreaterEqual, false}, {BNNSRelationalOperatorNotEqual, false},
    {BNNSRelationalOperatorLogicalAND, false},   {BNNSRelationalOperatorLogicalOR, false},
    {BNNSRelationalOperatorLogicalNOT, true},    {BNNSRelationalOperatorLogicalNAND, false},
    {BNNSRelationalOperatorLogicalNOR, false},   {BNNSRelationalOperatorLogicalXOR, false},
};

// ---- Reading ----

// Each type is compared in one that holds all of its values: float, int64, uint64, and Wide for
// integers with scale or bias.
template <class V, class T>
void load_as(const void* data, ptrdiff_t at, ptrdiff_t stride, size_t n, V* to) {
  const T* from = static_cast<const T*>(data) + at;
  for (size_t i = 0; i < n; ++i) to[i] = static_cast<V>(from[static_cast<ptrdiff_t>(i) * stride]);
}

template <float (*kConvert)(uint16_t)>
void load_short_floats(const void* data, ptrdiff_t at, ptrdiff_t stride, size_t n, float* to) {
  const uint16_t* from = static_cast<const uint16_t*>(data) + at;
  for (size_t i = 0; i < n; ++i) to[i] = kConvert(from[static_cast<ptrdiff_t>(i) * stride]);
}

// Values below a byte are packed from the low bits up; one may lie in two bytes.
int64_t bits_at(const uint8_t* data, size_t index, size_t bits, bool is_signed) {
  const size_t first = index * bits, shift = first % 8;
  uint32_t both = data[first / 8];
  if (shift + bits > 8) both |= uint32_t{data[first / 8 + 1]} << 8;
  const int64_t value = both >> shift & ((1u << bits) - 1);
  return is_signed && (value >> (bits - 1)) != 0 ? value - (int64_t{1} << bits) : value;
}

void load(const AxesTensor& tensor, ptrdiff_t at, ptrdiff_t stride, size_t n, float* to) {
  if (tensor.type == BNNSDataTypeFloat16)
    return load_short_floats<half_to_float>(tensor.data, at, stride, n, to);
  if (tensor.type == BNNSDataTypeBFloat16)
    return load_short_floats<bfloat_to_float>(tensor.data, at, stride, n, to);
  load_as<float, float>(tensor.data, at, stride, n, to);
}

void load(const AxesTensor& tensor, ptrdiff_t at, ptrdiff_t stride, size_t n, uint64_t* to) {
  load_as<uint64_t, uint64_t>(tensor.data, at, stride, n, to);
}

void load(const AxesTensor& tensor, ptrdiff_t at, ptrdiff_t stride, size_t n, int64_t* to) {
  const void* data = tensor.data;
  switch (tensor.type) {
    case BNNSDataTypeInt8:
      return load_as<int64_t, int8_t>(data, at, stride, n, to);
    case BNNSDataTypeInt16:
      return load_as<int64_t, int16_t>(data, at, stride, n, to);
    case BNNSDataTypeInt32:
      return load_as<int64_t, int32_t>(data, at, stride, n, to);
    case BNNSDataTypeInt64:
      return load_as<int64_t, int64_t>(data, at, stride, n, to);
    case BNNSDataTypeUInt8:
      return load_as<int64_t, uint8_t>(data, at, stride, n, to);
    case BNNSDataTypeUInt16:
      return load_as<int64_t, uint16_t>(data, at, stride, n, to);
    case BNNSDataTypeUInt32:
      return load_as<int64_t, uint32_t>(data, at, stride, n, to);
    case BNNSDataTypeBoolean: {
      const auto* from = static_cast<const uint8_t*>(data) + at;
      for (size_t i = 0; i < n; ++i) to[i] = from[static_cast<ptrdiff_t>(i) * stride] != 0;
      return;
    }
    default:
      break;
  }
  const TypeInfo& type = *find_type(tensor.type);
  for (size_t i = 0; i < n; ++i) {
    const auto index = static_cast<size_t>(at + static_cast<ptrdiff_t>(i) * stride);
    to[i] = bits_at(static_cast<const uint8_t*>(data), index, type.bits,
                    type.kind == TypeClass::kSigned);
  }
}

void load(const AxesTensor& tensor, ptrdiff_t at, ptrdiff_t stride, size_t n, Wide* to) {
  const auto convert = [&](const auto* values) {
    for (size_t i = 0; i < n; ++i)
      to[i] = Wide{tensor.scaling.scale} * static_cast<Wide>(values[i]) + Wide{tensor.scaling.bias};
  };
  if (tensor.type == BNNSDataTypeUInt64) {
    uint64_t values[kBlock];
    load(tensor, at, stride, n, values);
    return convert(values);
  }
  int64_t values[kBlock];
  load(tensor, at, stride, n, values);
  convert(values);
}

// ---- Comparing ----

template <class V, class Relation>
void relate(const V* a, const V* b, size_t n, uint8_t* out) {
  for (size_t i = 0; i < n; ++i) out[i] = Relation()(a[i], b[i]);
}

template <class V>
using Relate = void (*)(const V* a, const V* b, size_t n, uint8_t* out);

template <class V>
struct Relations {
  struct And {
    bool operator()(V a, V b) const { return (a != 0) & (b != 0); }
  };
  struct Or {
    bool operator()(V a, V b) const { return (a != 0) | (b != 0); }
  };
  struct Not {
    bool operator()(V a, V) const { return a == 0; }
  };
  struct Nand {
    bool operator()(V a, V b) const { return (a == 0) | (b == 0); }
  };
  struct Nor {
    bool operator()(V a, V b) const { return (a == 0) & (b == 0); }
  };
  struct Xor {
    bool operator()(V a, V b) const { return (a != 0) != (b != 0); }
  };
  // By operator.
  static constexpr Relate<V> kTable[] = {relate<V, std::equal_to<V>>,
                                         relate<V, std::less<V>>,
                                         relate<V, std::less_equal<V>>,
                                         relate<V, std::greater<V>>,
                                         relate<V, std::greater_equal<V>>,
                                         relate<V, std::not_equal_to<V>>,
                                         relate<V, And>,
                                         relate<V, Or>,
                                         relate<V, Not>,
                                         relate<V, Nand>,
                                         relate<V, Nor>,
                                         relate<V, Xor>};
};

// A run of n <= kBlock elements along the fastest axis.
template <class V>
void compare_run(const CompareProblem& p, const OffsetsOf<kCompareTensors>& at, size_t n) {
  const auto stride = [&](size_t t) { return p.axes.rank() == 0 ? 0 : p.axes[0].stride[t]; };
  V buffer[2][kBlock];
  const V* values[2];
  for (const size_t t : {kCompareA, kCompareB}) {
    const AxesTensor& tensor = p.in[t];
    const ptrdiff_t first = p.origin[t] + at[t];
    values[t] = buffer[t];
    if (std::is_same_v<V, float> && tensor.type == BNNSDataTypeFloat32 && stride(t) == 1)
      values[t] = static_cast<const V*>(tensor.data) + first;
    else if (t == kCompareB && p.info->unary)
      values[t] = values[0];
    else
      load(tensor, first, stride(t), n, buffer[t]);
  }
  const Relate<V> compare = Relations<V>::kTable[p.info->op];
  uint8_t* out = p.out + at[kCompareOut];
  if (stride(kCompareOut) == 1) return compare(values[0], values[1], n, out);
  uint8_t results[kBlock];
  compare(values[0], values[1], n, results);
  for (size_t i = 0; i < n; ++i) out[static_cast<ptrdiff_t>(i) * stride(kCompareOut)] = results[i];
}

template <class V>
void compare_all(size_t threads, const CompareProblem& p) {
  const size_t count = p.axes.count();
  threads = useful_threads(threads, kNanoseconds * static_cast<double>(count));
  parallel_for(threads, div_up(count, kGrain), [&](size_t grain, size_t) {
    AxesWalker walker(p.axes, grain * kGrain);
    for (size_t left = std::min(kGrain, count - grain * kGrain); left > 0;) {
      const size_t n = std::min({left, walker.run(), kBlock});
      compare_run<V>(p, walker.offsets(), n);
      walker.advance(n);
      left -= n;
    }
  });
}

}  // namespace

const CompareInfo* find_compare(BNNSRelationalOperator op) {
  for (const CompareInfo& info : kOperators) {
    if (info.op == op) return &info;
  }
  return nullptr;
}

void run_compare(size_t threads, const CompareProblem& p) {
  const TypeInfo& type = *find_type(p.in[0].type);
  if (type.kind == TypeClass::kFloat) return compare_all<float>(threads, p);
  if (!p.in[0].scaling.is_plain() || !p.in[1].scaling.is_plain())
    return compare_all<Wide>(threads, p);
  if (type.type == BNNSDataTypeUInt64) return compare_all<uint64_t>(threads, p);
  compare_all<int64_t>(threads, p);
}

}  // namespace bnns::impl
