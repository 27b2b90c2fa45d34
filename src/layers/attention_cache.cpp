#include "layers/attention_cache.h"

#include <cstdint>
#include <cstring>

#include "core/call.h"
#include "core/checked.h"

namespace bnns::impl {
namespace {

struct CacheHeader {
  char magic[8];
  uint64_t bytes, batch, target, source, heads, key_depth, value_depth;
  float dropout;
  uint8_t attention_bias, zero_row, key_mask, add_to_attention;
  uint8_t reserved[56];
};
static_assert(sizeof(CacheHeader) == kAttentionHeader);

CacheHeader header_of(const AttentionProblem& p, size_t batch, const AttentionMasks& masks) {
  return {.magic = {'B', 'N', 'N', 'S', 'M', 'H', 'A', '1'},
          .bytes = attention_cache_bytes(p, batch),
          .batch = batch,
          .target = p.target,
          .source = p.source,
          .heads = p.heads,
          .key_depth = p.key_depth,
          .value_depth = p.value_depth,
          .dropout = p.dropout,
          .attention_bias = p.attention_bias,
          .zero_row = p.zero_row,
          .key_mask = masks.keys.data != nullptr,
          .add_to_attention = masks.matrix.data != nullptr,
          .reserved = {}};
}

}  // namespace

size_t attention_cache_bytes(const AttentionProblem& p, size_t batch) {
  const size_t floats = AttentionState::floats(p, batch);
  const size_t bytes = checked_mul(floats, sizeof(float), "the backprop cache");
  return checked_add(bytes, kAttentionHeader, "the backprop cache");
}

void write_attention_header(const AttentionProblem& p, size_t batch, const AttentionMasks& masks,
                            void* cache) {
  const CacheHeader header = header_of(p, batch, masks);
  std::memcpy(cache, &header, sizeof header);
}

void require_attention_cache(const AttentionProblem& p, size_t given, const void* cache,
                             size_t batch) {
  const size_t needed = attention_cache_bytes(p, batch);
  require(given >= needed, "backprop_cache_size is ", given, "; a batch of ", batch, " needs ",
          needed, " bytes");
  require(is_aligned(cache, BNNSDataTypeFloat32), "backprop_cache is ", cache,
          "; it must be aligned to 4 bytes");
}

void require_attention_header(const AttentionProblem& p, size_t batch, const AttentionMasks& masks,
                              const void* cache) {
  const CacheHeader right = header_of(p, batch, masks);
  CacheHeader found;
  std::memcpy(&found, cache, sizeof found);
  require(std::memcmp(found.magic, right.magic, sizeof right.magic) == 0,
          "backprop_cache does not begin with BNNSMHA1, as every cache does; a forward call must "
          "have filled it");
  require(found.batch == batch, "batch_size is ", batch, ", but the forward call that filled ",
          "backprop_cache had ", found.batch, "; they must be equal");
  require(found.key_mask == right.key_mask, "key_mask is ", right.key_mask != 0 ? "" : "not ",
          "given, unlike in the forward call that filled backprop_cache");
  require(found.add_to_attention == right.add_to_attention, "add_to_attention is ",
          right.add_to_attention != 0 ? "" : "not ",
          "given, unlike in the forward call that filled backprop_cache");
  const struct {
    const char* what;
    uint64_t found, right;
  } fields[] = {{"queries", found.target, right.target},
                {"keys", found.source, right.source},
                {"heads", found.heads, right.heads},
                {"columns of keys", found.key_depth, right.key_depth},
                {"columns of values", found.value_depth, right.value_depth},
                {"appended rows of parameters", found.attention_bias, right.attention_bias},
                {"appended rows of zeros", found.zero_row, right.zero_row},
                {"bytes of cache", found.bytes, right.bytes}};
  for (const auto& field : fields) {
    require(field.found == field.right, "backprop_cache was filled by a filter with ", field.found,
            " ", field.what, ", this one has ", field.right, "; they must be equal");
  }
  require(found.dropout == right.dropout, "backprop_cache was filled with dropout ",
          double{found.dropout}, ", this filter has ", double{right.dropout},
          "; they must be equal");
  require(std::memcmp(&found, &right, sizeof right) == 0,
          "the header of backprop_cache was changed; its reserved bytes must be 0");
}

}  // namespace bnns::impl
