#include "ops/lookup/combine.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "math/half.h"

namespace bnns::impl {
namespace {

constexpr size_t kBlock = 64;  // values that are added at a time

// ---- Numbers: how they are stored, and the type that adds them ----

struct Float {
  using Stored = float;
  using Value = double;
  static Value load(Stored x) { return x; }
  static Stored store(Value x) { return static_cast<float>(x); }
};

struct Half {
  using Stored = uint16_t;
  using Value = double;
  static Value load(Stored x) { return half_to_float(x); }
  static Stored store(Value x) { return float_to_half(static_cast<float>(x)); }
};

struct BFloat {
  using Stored = uint16_t;
  using Value = double;
  static Value load(Stored x) { return bfloat_to_float(x); }
  static Stored store(Value x) { return float_to_bfloat(static_cast<float>(x)); }
};

__extension__ typedef __int128 Int128;

// Sums of 2^63 values fit the type that adds them.
template <class T>
struct Integer {
  using Stored = T;
  using Value = std::conditional_t<sizeof(T) == 8, Int128, int64_t>;
  static Value load(Stored x) { return static_cast<Value>(x); }
  static Stored store(Value x) {
    constexpr Value kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
    return static_cast<T>(std::min(std::max(x, kLow), kHigh));
  }
};

// ---- Slices ----

template <class Body>
void for_runs(const LookupAxes& slice, const Body& body) {
  OffsetsOf<kLookupTensors> step = {};
  if (slice.rank() > 0) step = slice[0].stride;
  AxesWalker walker(slice, 0);
  for (size_t left = slice.count(); left > 0;) {
    const size_t run = walker.run();
    body(walker.offsets(), step, run);
    walker.advance(run);
    left -= run;
  }
}

template <class Number>
void sum(const CombineCall& c) {
  using Stored = typename Number::Stored;
  using Value = typename Number::Value;
  const auto block = [&](Stored* table, ptrdiff_t table_step, const Stored* rows,
                         ptrdiff_t rows_step, size_t n) {
    Value value[kBlock];
    const auto at = [](size_t i, ptrdiff_t step) { return static_cast<ptrdiff_t>(i) * step; };
    const Stored* row = rows + c.offsets[0];
    for (size_t i = 0; i < n; ++i) value[i] = Number::load(row[at(i, rows_step)]);
    for (size_t k = 1; k < c.count; ++k) {
      row = rows + c.offsets[k];
      for (size_t i = 0; i < n; ++i) value[i] += Number::load(row[at(i, rows_step)]);
    }
    if constexpr (std::is_same_v<Value, double>) {
      if (c.mean && c.count > 1)
        for (size_t i = 0; i < n; ++i) value[i] /= static_cast<double>(c.count);
    }
    for (size_t i = 0; i < n; ++i) {
      Stored& to = table[at(i, table_step)];
      to = Number::store(c.accumulate ? Number::load(to) + value[i] : value[i]);
    }
  };
  for_runs(c.slice, [&](const auto& at, const auto& step, size_t run) {
    Stored* table = static_cast<Stored*>(c.table) + at[kLookupTable];
    const Stored* rows = static_cast<const Stored*>(c.rows) + at[kLookupRows];
    for (size_t done = 0; done < run; done += kBlock) {
      const size_t n = std::min(kBlock, run - done);
      block(table, step[kLookupTable], rows, step[kLookupRows], n);
      table += static_cast<ptrdiff_t>(n) * step[kLookupTable];
      rows += static_cast<ptrdiff_t>(n) * step[kLookupRows];
    }
  });
}

// The last place wins.
template <class T>
void replace(const CombineCall& c) {
  for_runs(c.slice, [&](const auto& at, const auto& step, size_t run) {
    T* table = static_cast<T*>(c.table) + at[kLookupTable];
    const T* rows = static_cast<const T*>(c.rows) + c.offsets[c.count - 1] + at[kLookupRows];
    if (step[kLookupTable] == 1 && step[kLookupRows] == 1) {
      std::memcpy(table, rows, run * sizeof(T));
      return;
    }
    for (size_t i = 0; i < run; ++i) {
      const auto s = static_cast<ptrdiff_t>(i);
      table[s * step[kLookupTable]] = rows[s * step[kLookupRows]];
    }
  });
}

struct TypeRow {
  BNNSDataType type;
  Combine combine[kScatterOps];  // by ScatterOp
};

template <class Number>
constexpr TypeRow numbers(BNNSDataType type) {
  return {type, {replace<typename Number::Stored>, sum<Number>}};
}

constexpr TypeRow kTypes[] = {
    numbers<Float>(BNNSDataTypeFloat32),
    numbers<Half>(BNNSDataTypeFloat16),
    numbers<BFloat>(BNNSDataTypeBFloat16),
    numbers<Integer<int8_t>>(BNNSDataTypeInt8),
    numbers<Integer<int16_t>>(BNNSDataTypeInt16),
    numbers<Integer<int32_t>>(BNNSDataTypeInt32),
    numbers<Integer<int64_t>>(BNNSDataTypeInt64),
    numbers<Integer<uint8_t>>(BNNSDataTypeUInt8),
    numbers<Integer<uint16_t>>(BNNSDataTypeUInt16),
    numbers<Integer<uint32_t>>(BNNSDataTypeUInt32),
    numbers<Integer<uint64_t>>(BNNSDataTypeUInt64),
    {BNNSDataTypeBoolean, {replace<uint8_t>, nullptr}},
};

}  // namespace

Combine find_combine(ScatterOp op, BNNSDataType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row.combine[static_cast<size_t>(op)];
  }
  return nullptr;
}

}  // namespace bnns::impl
