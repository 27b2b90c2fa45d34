// LSTM layers: the calls, and the training cache. The cache is the client's memory:
//   CacheHeader, then the floats of LstmCache; aligned to floats, in whatever place it is handed
// back. Of its contents only the header is trusted, after it was compared with what this call would
// have written; all sizes come from the parameters of the call.
#include "layers/lstm.h"

#include <cstring>

#include "core/filter.h"
#include "layers/lstm_read.h"
#include "ops/random/random.h"

namespace bnns::impl {
namespace {

struct CacheHeader {
  char magic[8];
  uint64_t bytes;
  uint64_t inputs, hidden, batch, layers, steps, directions;
  uint64_t settings;  // hash of all else that the contents depend on
  uint64_t stream;    // of the numbers that decided what was dropped
  uint64_t reserved[6];
};
static_assert(sizeof(CacheHeader) == 128);
constexpr char kMagic[8] = {'o', 'b', 'n', 'l', 's', 't', 'm', '1'};

class Hash {
 public:
  void add(uint64_t value) {
    for (size_t i = 0; i < 8; ++i) state_ = (state_ ^ (value >> 8 * i & 255)) * 0x100000001B3;
  }
  void add(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    add(uint64_t{bits});
  }
  void add(const LstmFunction& f) {
    add(uint64_t{static_cast<uint32_t>(f.info().function)});
    add(f.info().uses_alpha ? f.coefficients().alpha : 0.0f);
    add(f.info().uses_beta ? f.coefficients().beta : 0.0f);
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0xCBF29CE484222325;
};

uint64_t settings_of(const LstmProblem& p, const LstmNetwork& network) {
  Hash hash;
  for (size_t k = 0; k < kLstmGates; ++k) {
    hash.add(p.functions.gate[k]);
    hash.add(uint64_t{bool{network.gate[k].cw}});
  }
  hash.add(p.functions.hidden);
  hash.add(p.dropout);
  for (size_t n = 0; p.lengths != nullptr && n < p.shape.batch; ++n)
    hash.add(uint64_t{p.lengths[n]});
  return hash.value();
}

size_t cache_bytes(const LstmShape& shape) {
  constexpr const char* kWhat = "the training cache in bytes";
  const size_t floats = LstmCache(shape).floats();
  return checked_add(sizeof(CacheHeader), checked_mul(floats, sizeof(float), kWhat), kWhat);
}

CacheHeader header_of(const LstmProblem& p, const LstmNetwork& network, uint64_t stream) {
  CacheHeader header = {.magic = {},
                        .bytes = cache_bytes(p.shape),
                        .inputs = p.shape.inputs,
                        .hidden = p.shape.hidden,
                        .batch = p.shape.batch,
                        .layers = p.shape.layers,
                        .steps = p.shape.steps,
                        .directions = p.shape.directions,
                        .settings = settings_of(p, network),
                        .stream = stream,
                        .reserved = {}};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  return header;
}

void check_cache(const void* cache, size_t capacity, const LstmShape& shape) {
  require(is_aligned(cache, BNNSDataTypeFloat32), "training_cache_ptr is ", cache,
          "; it must be aligned to 4 bytes");
  const size_t least = cache_bytes(shape);
  require(capacity >= least, "training_cache_capacity is ", capacity, "; this network needs ",
          least, " bytes");
}

// Returns the stream of a cache that this network filled.
uint64_t read_header(const void* cache, const LstmProblem& p, const LstmNetwork& network) {
  CacheHeader given;
  std::memcpy(&given, cache, sizeof given);
  require(std::memcmp(given.magic, kMagic, sizeof kMagic) == 0,
          "training_cache_ptr points to other data; it must be a cache that "
          "BNNSDirectApplyLSTMBatchTrainingCaching has filled");
  const CacheHeader expected = header_of(p, network, given.stream);
  require(std::memcmp(&given, &expected, sizeof given) == 0,
          "training_cache_ptr is the cache of another network (input_size ", given.inputs,
          ", hidden_size ", given.hidden, ", batch_size ", given.batch, ", num_layers ",
          given.layers, ", seq_len ", given.steps, ", ", given.directions,
          " directions); sizes, functions, dropout, peepholes and lengths must be those of the "
          "forward call");
  return given.stream;
}

float* floats_of(void* cache) {
  return cache == nullptr
             ? nullptr
             : reinterpret_cast<float*>(static_cast<char*>(cache) + sizeof(CacheHeader));
}

}  // namespace

size_t lstm_cache_capacity(const BNNSLayerParametersLSTM* parameters) {
  require(parameters != nullptr, "layer_params is NULL");
  return cache_bytes(read_lstm_shape(*parameters));
}

void apply_lstm(const BNNSLayerParametersLSTM* parameters,
                const BNNSFilterParameters* filter_parameters, void* cache, size_t capacity) {
  require(parameters != nullptr, "layer_params is NULL");
  const FilterOptions options(filter_parameters);
  LstmProblem problem = read_lstm_problem(*parameters);
  LstmTensors tensors(problem.shape);
  const LstmNetwork network = tensors.read_values(*parameters, true);
  if (cache != nullptr) {
    check_cache(cache, capacity, problem.shape);
    tensors.add_cache(cache, cache_bytes(problem.shape), true);
  }
  Array<size_t> lengths;
  problem.lengths = tensors.read_lengths(*parameters, options.memory, lengths);
  tensors.check_overlaps();
  RandomStreams streams(cache != nullptr && problem.drops());
  const uint64_t stream = streams.next(problem.shape.layers);
  run_lstm({options.memory, options.threads}, problem, network, floats_of(cache), stream);
  if (cache == nullptr) return;
  const CacheHeader header = header_of(problem, network, stream);
  std::memcpy(cache, &header, sizeof header);
}

void apply_lstm_backward(const BNNSLayerParametersLSTM* parameters,
                         const BNNSLayerParametersLSTM* delta_parameters,
                         const BNNSFilterParameters* filter_parameters, const void* cache,
                         size_t capacity) {
  require(parameters != nullptr, "layer_params is NULL");
  require(delta_parameters != nullptr, "layer_delta_params is NULL");
  const FilterOptions options(filter_parameters);
  LstmProblem problem = read_lstm_problem(*parameters);
  check_lstm_delta_sizes(*delta_parameters, problem.shape);
  LstmTensors tensors(problem.shape);
  const LstmNetwork network = tensors.read_values(*parameters, false);
  const LstmNetwork delta = tensors.read_deltas(*delta_parameters);
  for (size_t k = 0; k < kLstmGates; ++k) {
    const auto require_parameter = [&](const LstmTensor& gradient, const LstmTensor& parameter,
                                       const char* field) {
      require(!gradient || parameter, "layer_delta_params: ", lstm_gate_name(k), field,
              ".data is given, but that of layer_params is NULL; there is no such parameter");
    };
    require_parameter(delta.gate[k].cw, network.gate[k].cw, "cw_desc");
    require_parameter(delta.gate[k].b, network.gate[k].b, "b_desc");
  }
  Array<size_t> lengths;
  problem.lengths = tensors.read_lengths(*parameters, options.memory, lengths);
  uint64_t stream = 0;
  if (cache != nullptr) {
    check_cache(cache, capacity, problem.shape);
    tensors.add_cache(cache, cache_bytes(problem.shape), false);
    stream = read_header(cache, problem, network);
  } else {
    require(!problem.drops(), "training_cache_ptr is NULL and dropout is ", double{problem.dropout},
            "; what the forward call dropped is known from its cache only");
  }
  tensors.check_overlaps();
  run_lstm_backward({options.memory, options.threads}, problem, network, delta,
                    floats_of(const_cast<void*>(cache)), stream);
}

}  // namespace bnns::impl
