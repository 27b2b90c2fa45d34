// Tables of nearest neighbours. Any number of threads may ask one table at the same time; samples
// that are added wait for them and they for those. A warm table answers without an allocation.
#include "layers/nearest_neighbors.h"

#include <cstdint>
#include <limits>
#include <mutex>
#include <new>
#include <shared_mutex>

#include "core/call.h"
#include "core/filter.h"
#include "core/scratch_pool.h"
#include "ops/nearest_neighbors/nearest_neighbors.h"

namespace bnns::impl {
namespace {

class NearestNeighbors {
 public:
  NearestNeighbors(const FilterOptions& options, unsigned int max_samples, unsigned int features,
                   unsigned int neighbors, BNNSDataType type)
      : memory_(options.memory),
        op_(memory_, options.threads, max_samples, features, neighbors, type),
        row_bytes_(features * type_bytes(type)),
        scratch_(memory_) {}

  const Memory& memory() const { return memory_; }

  void load(size_t n, const void* data) {
    if (n == 0) return;
    require_data(data, op_.type(), "data_ptr");
    const std::unique_lock lock(mutex_);
    const size_t room = op_.max_samples() - op_.count();
    require(n <= room, "n_new_samples is ", n, "; of max_n_samples ", op_.max_samples(), " only ",
            room, " are left");
    checked_mul(n, row_bytes_, "n_new_samples in bytes");
    op_.load(n, data);
  }

  void query(int sample, int* indices, void* distances) {
    const std::shared_lock lock(mutex_);
    const bool all = sample < 0;
    require(all || static_cast<size_t>(sample) < op_.count(), "sample_number is ", sample, "; ",
            op_.count(), " samples are loaded");
    const NeighborsOut out = {.indices = indices, .distances = distances};
    if ((indices == nullptr && distances == nullptr) || op_.count() == 0) return;
    check_outputs(out, all ? op_.count() : 1);
    const auto scratch = scratch_.take();
    scratch->grow(memory_, op_.scratch(all));
    if (all) return op_.query_all(out, scratch->data());
    op_.query(static_cast<size_t>(sample), out, scratch->data());
  }

 private:
  // The bytes of an output of `rows` rows; empty if it is not wanted.
  Range range(const void* data, BNNSDataType type, size_t rows, const char* name) const {
    if (data == nullptr) return {};
    require_data(data, type, name);
    const size_t values = checked_mul(rows, op_.neighbors(), name);
    const auto* begin = static_cast<const char*>(data);
    return {.begin = begin, .end = begin + checked_mul(values, type_bytes(type), name)};
  }
  void check_outputs(const NeighborsOut& out, size_t rows) const {
    require_apart(range(out.indices, BNNSDataTypeInt32, rows, "indices"), "indices",
                  range(out.distances, op_.type(), rows, "distances"), "distances");
  }

  Memory memory_;
  std::shared_mutex mutex_;
  NearestNeighborsOp op_;
  size_t row_bytes_;
  ScratchPool<Array<uint64_t>> scratch_;
};

[[noreturn]] void fail_no_table(const void* handle) {
  require(handle != nullptr, "knn is NULL");
  fail("knn is ", handle, "; that is no live table of neighbours (destroyed, or never made)");
}

NearestNeighbors& find_table(const void* handle) {
  void* object = handles().find(HandleKind::kNearestNeighbors, handle);
  if (object == nullptr) fail_no_table(handle);
  return *static_cast<NearestNeighbors*>(object);
}

}  // namespace

BNNSNearestNeighbors make_nearest_neighbors(unsigned int max_samples, unsigned int features,
                                            unsigned int neighbors, BNNSDataType type,
                                            const BNNSFilterParameters* filter_parameters) {
  constexpr unsigned int kMostSamples = std::numeric_limits<int>::max();
  require(max_samples >= 1 && max_samples <= kMostSamples, "max_n_samples is ", max_samples,
          "; it must be from 1 to ", kMostSamples, ", as indices are of type int");
  require(features >= 1, "n_features is 0; it must be at least 1");
  require(neighbors >= 1, "n_neighbors is 0; it must be at least 1");
  const TypeInfo* info = find_type(type);
  require(info != nullptr, "data_type is ", static_cast<uint32_t>(type),
          "; that is no BNNSDataType");
  require(info->kind == TypeClass::kFloat, "data_type is ", info->name,
          "; it must be Float32, Float16 or BFloat16");
  const FilterOptions options(filter_parameters);
  void* block = options.memory.allocate(sizeof(NearestNeighbors));
  NearestNeighbors* table = nullptr;
  try {
    table = new (block) NearestNeighbors(options, max_samples, features, neighbors, type);
    return handles().insert(HandleKind::kNearestNeighbors, table);
  } catch (...) {
    if (table != nullptr) table->~NearestNeighbors();
    options.memory.release(block);
    throw;
  }
}

void destroy_nearest_neighbors(BNNSNearestNeighbors handle) {
  if (handle == nullptr) return;
  auto* table =
      static_cast<NearestNeighbors*>(handles().remove(HandleKind::kNearestNeighbors, handle));
  if (table == nullptr) fail_no_table(handle);
  const Memory memory = table->memory();
  table->~NearestNeighbors();
  memory.release(table);
}

void load_nearest_neighbors(BNNSNearestNeighbors handle, unsigned int new_samples,
                            const void* data) {
  find_table(handle).load(new_samples, data);
}

void get_nearest_neighbors(BNNSNearestNeighbors handle, int sample, int* indices, void* distances) {
  find_table(handle).query(sample, indices, distances);
}

}  // namespace bnns::impl
