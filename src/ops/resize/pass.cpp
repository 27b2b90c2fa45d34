#include "ops/resize/pass.h"

#include <algorithm>
#include <cstring>

#include "core/checked.h"
#include "core/parallel.h"

namespace bnns::impl {
namespace {

// Sources, and targets, of a block of a row.
constexpr size_t kSpan = 1024;
// About the number of products in one grain.
constexpr size_t kGrain = 32768;

// The targets of a block: as many as surely have at most kSpan sources, but at least one.
size_t block_of(const ResizeAxis& row) {
  size_t most = kSpan;
  if (row.map != nullptr) {
    const size_t rest = kSpan - std::min(kSpan, row.map->widest);
    if (row.map->stride > 0) most = std::min(most, rest / row.map->stride + 1);
    if (row.map->widest > kSpan) most = 1;
  }
  return std::min(row.targets, most);
}

View row_view(BNNSDataType type, size_t extent, size_t stride) {
  View view;
  view.type = type;
  view.rank = 1;
  view.extent[0] = extent;
  view.stride[0] = stride;
  return view;
}

char* shifted(const void* data, size_t values, BNNSDataType type) {
  return static_cast<char*>(const_cast<void*>(data)) + values * type_bytes(type);
}

bool is_direct(BNNSDataType type, size_t stride) {
  return type == BNNSDataTypeFloat32 && stride == 1;
}

// Computes the blocks of one grain after the other. Which sources the row at hand depends on is
// described by its first one and by the axes along which it has several.
class Rows {
 public:
  Rows(const ResizePass& pass, size_t block, size_t blocks, size_t first)
      : p_(pass),
        row_(pass.axis[0]),
        block_(block),
        blocks_(blocks),
        at_(first % blocks),
        from_(row_view(pass.from_type, row_.sources, row_.from_stride)),
        to_(row_view(pass.to_type, row_.targets, row_.to_stride)),
        from_direct_(is_direct(pass.from_type, row_.from_stride)),
        to_direct_(is_direct(pass.to_type, row_.to_stride)) {
    first /= blocks;
    for (size_t k = 1; k < p_.rank; ++k) {
      place_[k] = first % p_.axis[k].targets;
      first /= p_.axis[k].targets;
    }
    begin_row();
  }

  void run(size_t count) {
    while (true) {
      const size_t first = at_ * block_;
      compute(first, std::min(block_, row_.targets - first));
      if (--count == 0) return;
      if (++at_ < blocks_) continue;
      at_ = 0;
      for (size_t k = 1; k < p_.rank && ++place_[k] == p_.axis[k].targets; ++k) place_[k] = 0;
      begin_row();
    }
  }

 private:
  struct Wide {
    size_t taps, stride;
    const float* weight;
  };

  void begin_row() {
    offset_ = to_offset_ = wide_count_ = 0;
    combinations_ = 1;
    factor_ = 1;
    for (size_t k = 1; k < p_.rank; ++k) {
      const ResizeAxis& axis = p_.axis[k];
      const size_t t = place_[k];
      to_offset_ += t * axis.to_stride;
      if (axis.map == nullptr) {
        offset_ += t * axis.from_stride;
        continue;
      }
      const size_t taps = axis.map->taps(t);
      const float* weight = axis.map->weight.data() + axis.map->offset[t];
      offset_ += axis.map->begin[t] * axis.from_stride;
      combinations_ *= taps;
      if (taps == 1) factor_ *= weight[0];
      if (taps > 1) wide_[wide_count_++] = {taps, axis.from_stride, weight};
    }
  }

  void compute(size_t first, size_t count) {
    size_t source = first, sources = count;
    if (row_.map != nullptr) {
      source = row_.map->begin[first];
      sources = row_.map->end(first + count - 1) - source;
    }
    float* direct =
        to_direct_ && !p_.accumulate ? static_cast<float*>(p_.to) + to_offset_ + first : result_;
    if (combinations_ == 0 || sources == 0) {
      std::fill_n(direct, count, 0.0f);
      return store(direct, first, count);
    }
    if (row_.map == nullptr) return store(sum_of_rows(source, count, direct), first, count);
    if (sources > kSpan) {
      *direct = long_sum(first);
    } else {
      along_row(sum_of_rows(source, sources, nullptr), source, first, count, direct);
    }
    store(direct, first, count);
  }

  void along_row(const float* from, size_t source, size_t first, size_t count, float* to) const {
    const AxisMap& m = *row_.map;
    p_.kernels->row[static_cast<size_t>(m.row)]({.begin = m.begin.data(),
                                                 .offset = m.offset.data(),
                                                 .weight = m.weight.data(),
                                                 .dense = m.dense.data(),
                                                 .sources = m.sources,
                                                 .targets = m.targets,
                                                 .from = from,
                                                 .first_source = source,
                                                 .first = first,
                                                 .count = count,
                                                 .to = to});
  }

  // One target with more sources than a buffer holds.
  float long_sum(size_t target) {
    const AxisMap& m = *row_.map;
    const float* weight = m.weight.data() + m.offset[target];
    double sum = 0;
    for (size_t source = m.begin[target]; source < m.end(target); source += kSpan) {
      const size_t n = std::min(kSpan, m.end(target) - source);
      const float* from = sum_of_rows(source, n, nullptr);
      for (size_t i = 0; i < n; ++i) sum += double{*weight++} * double{from[i]};
    }
    return static_cast<float>(sum);
  }

  // The sources [source, source + n) of this row, summed over all rows that it depends on; in `to`,
  // unless that is nullptr or the sum is one row as it lies in memory.
  const float* sum_of_rows(size_t source, size_t n, float* to) {
    if (combinations_ == 1 && factor_ == 1) return read(offset_, source, n, 0);
    size_t index[kMaxRank] = {}, offset = offset_, mixed = 0;
    const float* sum = nullptr;
    ResizeMix mix = {.row = {}, .weight = {}, .base = nullptr, .n = n, .to = nullptr};
    for (size_t c = 0; c < combinations_; ++c) {
      float weight = factor_;
      for (size_t k = 0; k < wide_count_; ++k) weight *= wide_[k].weight[index[k]];
      mix.row[mixed] = read(offset, source, n, mixed);
      mix.weight[mixed++] = weight;
      const bool last = c + 1 == combinations_;
      if (mixed == kMixedRows || last) {
        mix.base = sum;
        mix.to = last && to != nullptr ? to : sum == sums_[0] ? sums_[1] : sums_[0];
        p_.kernels->mix[mixed - 1](mix);
        sum = mix.to;
        mixed = 0;
      }
      for (size_t k = 0; k < wide_count_; ++k) {
        offset += wide_[k].stride;
        if (++index[k] < wide_[k].taps) break;
        offset -= wide_[k].taps * wide_[k].stride;
        index[k] = 0;
      }
    }
    return sum;
  }

  const float* read(size_t offset, size_t source, size_t n, size_t buffer) {
    if (from_direct_) return static_cast<const float*>(p_.from) + offset + source;
    from_.data = shifted(p_.from, offset, p_.from_type);
    read_values(*p_.convert, from_, source, n, taps_[buffer]);
    return taps_[buffer];
  }

  void store(const float* result, size_t first, size_t n) {
    if (to_direct_) {
      float* to = static_cast<float*>(p_.to) + to_offset_ + first;
      if (p_.accumulate) {
        p_.kernels->add(result, n, to);
      } else if (result != to) {
        std::memcpy(to, result, n * sizeof(float));
      }
      return;
    }
    to_.data = shifted(p_.to, to_offset_, p_.to_type);
    if (p_.accumulate) {
      // A result that is one row as it was read lies in the first of these buffers.
      read_values(*p_.convert, to_, first, n, taps_[1]);
      p_.kernels->add(result, n, taps_[1]);
      result = taps_[1];
    }
    write_values(*p_.convert, to_, first, n, result);
  }

  const ResizePass& p_;
  const ResizeAxis& row_;
  const size_t block_, blocks_;
  size_t at_;  // the block in the row
  View from_, to_;
  const bool from_direct_, to_direct_;
  size_t place_[kMaxRank + 1] = {};
  size_t offset_ = 0, to_offset_ = 0, combinations_ = 1, wide_count_ = 0;
  float factor_ = 1;
  Wide wide_[kMaxRank];
  alignas(64) float sums_[2][kSpan], result_[kSpan], taps_[kMixedRows][kSpan];
};

}  // namespace

void ResizePass::push(const ResizeAxis& next) {
  if (next.map == nullptr && next.targets == 1) return;
  if (next.map == nullptr && rank > 0 && axis[rank - 1].map == nullptr) {
    ResizeAxis& last = axis[rank - 1];
    if (next.to_stride == last.to_stride * last.targets &&
        next.from_stride == last.from_stride * last.targets) {
      last.targets *= next.targets;
      last.sources *= next.targets;
      return;
    }
  }
  axis[rank++] = next;
}

void ResizePass::run(size_t threads) const {
  const size_t block = block_of(axis[0]), blocks = div_up(axis[0].targets, block);
  size_t items = blocks;
  double products = 1;  // for one target, on average
  for (size_t k = 0; k < rank; ++k) {
    if (k > 0) items *= axis[k].targets;
    const AxisMap* map = axis[k].map;
    if (map != nullptr)
      products *= std::max(
          1.0, static_cast<double>(map->offset[map->targets]) / static_cast<double>(map->targets));
  }
  const double in_item = products * static_cast<double>(block);
  const size_t per_grain = in_item < kGrain ? static_cast<size_t>(kGrain / in_item) : 1;
  const double nanoseconds =
      20.0 * static_cast<double>(items) + 0.2 * in_item * static_cast<double>(items);
  const size_t grains = div_up(items, per_grain);
  parallel_for(useful_threads(threads, nanoseconds), grains, [&](size_t grain, size_t) {
    const size_t first = grain * per_grain;
    Rows(*this, block, blocks, first).run(std::min(per_grain, items - first));
  });
}

}  // namespace bnns::impl
