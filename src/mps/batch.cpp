// Functions over the distinct objects of a batch. Null entries are refused before anything changes.
#include <limits>
#include <unordered_set>

#include "mps/error.h"
#include "mps/image_storage.h"

namespace bnns::MPS {

using namespace impl::mps;

namespace {

// Calls body(object, index) once per distinct object until it returns false.
template <class Batch, class Body>
void for_each_distinct(const Batch& batch, const char* call, const Body& body) {
  for (std::size_t i = 0; i < batch.size(); ++i)
    require(batch[i] != nullptr, ErrorCode::InvalidArgument, call, ": entry ", i, " is null");
  std::unordered_set<const void*> seen;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (seen.insert(batch[i].get()).second && !body(batch[i], i)) return;
  }
}

std::optional<Temporary>& temporary_of(const Image& image) {
  return Access::storage(image)->temporary;
}
std::optional<Temporary>& temporary_of(const State& state) {
  return Access::storage(state).temporary;
}

template <class Batch>
std::size_t increment(const Batch& batch, std::ptrdiff_t amount, const char* call) {
  std::size_t distinct = 0;
  for_each_distinct(batch, call, [&](const auto& object, std::size_t i) {
    const auto& temporary = temporary_of(*object);
    const std::size_t less = amount < 0 ? std::size_t{0} - static_cast<std::size_t>(amount) : 0;
    const bool used = temporary && temporary->read_count > 0;
    require(!used || less <= temporary->read_count, ErrorCode::InvalidArgument, call,
            ": amount is ", amount, ", but the read count of entry ", i, " is ",
            used ? temporary->read_count : 0);
    ++distinct;
    return true;
  });
  for_each_distinct(batch, call, [&](const auto& object, std::size_t) {
    auto& temporary = temporary_of(*object);
    if (temporary && temporary->read_count > 0)
      temporary->set_read_count(temporary->read_count + static_cast<std::size_t>(amount));
    return true;
  });
  return distinct;
}

template <class Batch>
std::size_t resource_size(const Batch& batch, const char* call) {
  std::size_t bytes = 0;
  for_each_distinct(batch, call, [&](const auto& object, std::size_t) {
    bytes += object->resourceSize();
    return true;
  });
  return bytes;
}

template <class Batch>
void synchronize(const Batch& batch, MTL::CommandBuffer& buffer, const char* call) {
  for_each_distinct(batch, call, [&](const auto& object, std::size_t) {
    object->synchronize(buffer);
    return true;
  });
}

}  // namespace

std::size_t ImageBatchIncrementReadCount(const ImageBatch& batch, std::ptrdiff_t amount) {
  return increment(batch, amount, "ImageBatchIncrementReadCount");
}
std::size_t StateBatchIncrementReadCount(const StateBatch& batch, std::ptrdiff_t amount) {
  return increment(batch, amount, "StateBatchIncrementReadCount");
}
std::size_t ImageBatchResourceSize(const ImageBatch& batch) {
  return resource_size(batch, "ImageBatchResourceSize");
}
std::size_t StateBatchResourceSize(const StateBatch& batch) {
  return resource_size(batch, "StateBatchResourceSize");
}
void ImageBatchSynchronize(const ImageBatch& batch, MTL::CommandBuffer& buffer) {
  synchronize(batch, buffer, "ImageBatchSynchronize");
}
void StateBatchSynchronize(const StateBatch& batch, MTL::CommandBuffer& buffer) {
  synchronize(batch, buffer, "StateBatchSynchronize");
}

std::ptrdiff_t ImageBatchIterate(
    const ImageBatch& batch,
    const std::function<std::ptrdiff_t(const std::shared_ptr<Image>&, std::size_t)>& function) {
  constexpr std::ptrdiff_t kGoOn = std::numeric_limits<std::ptrdiff_t>::min();
  require(function != nullptr, ErrorCode::InvalidArgument,
          "ImageBatchIterate: the function is empty");
  std::ptrdiff_t result = kGoOn;
  for_each_distinct(batch, "ImageBatchIterate",
                    [&](const std::shared_ptr<Image>& image, std::size_t i) {
                      result = function(image, i);
                      return result == kGoOn;
                    });
  return result;
}

}  // namespace bnns::MPS
