// Random generators. A generator is a key and a counter of the numbers drawn. A fill of n elements
// draws the next n numbers, element by element in memory order (ops/random/random.h). Calls on one
// generator are serialised by its lock; a call that fails draws nothing.
#include "layers/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>

#include "core/call.h"
#include "core/filter.h"
#include "core/platform.h"
#include "ops/random/random.h"

namespace bnns::impl {
namespace {

struct RandomState {
  // The last digit is the version of the stream and of this structure.
  static constexpr uint64_t kMark = 0x4F424E4E53524731;

  uint64_t mark = kMark;
  uint64_t key = 0;
  uint64_t counter = 0;
  uint64_t check = 0;

  uint64_t right_check() const { return random_number(RandomUse::kCheck, key, counter).high; }
};

class RandomGenerator {
 public:
  RandomGenerator(const FilterOptions& options, uint64_t key)
      : memory_(options.memory), run_(options.threads) {
    run_.key = key;
  }

  const Memory& memory() const { return memory_; }

  // Calls fill(run), which uses the next `count` numbers.
  template <class Fill>
  void draw(size_t count, const Fill& fill) {
    const std::lock_guard lock(mutex_);
    fill(static_cast<const RandomRun&>(run_));
    run_.first += count;
  }

  RandomState state() {
    const std::lock_guard lock(mutex_);
    RandomState state = {.key = run_.key, .counter = run_.first};
    state.check = state.right_check();
    return state;
  }
  void set_state(const RandomState& state) {
    const std::lock_guard lock(mutex_);
    run_.key = state.key;
    run_.first = state.counter;
  }

 private:
  Memory memory_;
  std::mutex mutex_;
  RandomRun run_;  // run_.first is the next number
};

[[noreturn]] void fail_no_generator(const void* handle) {
  require(handle != nullptr, "generator is NULL");
  fail("generator is ", handle, "; that is no live random generator (destroyed, or never made)");
}

RandomGenerator& find_generator(const void* handle) {
  void* object = handles().find(HandleKind::kRandomGenerator, handle);
  if (object == nullptr) fail_no_generator(handle);
  return *static_cast<RandomGenerator*>(object);
}

Descriptor read_output(const BNNSNDArrayDescriptor* given) {
  require(given != nullptr, "desc is NULL");
  const Descriptor desc = read_descriptor(*given, "desc", Use::kOutput);
  require_plain_layout(desc, "desc");
  require_data(desc.view.data, desc.view.type, "desc.data");
  return desc;
}

Descriptor read_float_output(const BNNSNDArrayDescriptor* given) {
  const Descriptor desc = read_output(given);
  require(desc.type->kind == TypeClass::kFloat, "desc.data_type is ", desc.type->name,
          "; it must be a floating-point type");
  return desc;
}

void require_finite(float value, const char* name) {
  require(std::isfinite(value), name, " is ", double{value}, "; it must be finite");
}

// Clamps a bound to the values of the type.
int64_t into_range(int64_t bound, const TypeInfo& type) {
  if (type.bits == 64) return type.kind == TypeClass::kSigned ? bound : std::max<int64_t>(bound, 0);
  const bool is_signed = type.kind == TypeClass::kSigned;
  const int64_t high = (int64_t{1} << (is_signed ? type.bits - 1 : type.bits)) - 1;
  return std::clamp(bound, is_signed ? -high - 1 : 0, high);
}

// ---- Categorical: distributions are rows along the last logical axis of probabilities ----

struct Distributions {
  Descriptor desc, probabilities;
  size_t classes, count;
  View places;  // gives the offset of each distribution in `probabilities`
  View rows;    // gives the distribution of each element of `desc`, in memory order
};

bool shapes_agree(const Descriptor& desc, const Descriptor& probabilities) {
  const size_t leading = probabilities.rank() - 1;
  bool agree = desc.rank() == probabilities.rank() || (leading > 0 && desc.rank() == leading);
  for (size_t i = 0; agree && i < leading; ++i)
    agree = desc.logical_extent(i) == probabilities.logical_extent(i);
  return agree;
}

void arrange(Distributions& d) {
  const size_t leading = d.probabilities.rank() - 1;
  size_t step[kMaxRank] = {};
  d.count = 1;
  d.places.rank = std::max<size_t>(leading, 1);
  d.places.extent[0] = d.places.stride[0] = 1;
  for (size_t i = 0; i < leading; ++i) {
    step[i] = d.count;
    d.places.extent[i] = d.probabilities.logical_extent(i);
    d.places.stride[i] = d.probabilities.logical_stride(i);
    d.count *= d.places.extent[i];
  }
  d.rows = d.desc.view;
  const auto* tuple = d.desc.layout->tuple;
  for (size_t k = 0; k < d.desc.rank(); ++k) {
    const auto* found = std::find(tuple, tuple + d.desc.rank(), d.desc.layout->pair[k]);
    d.rows.stride[k] = step[found - tuple];
  }
}

Distributions read_distributions(const BNNSNDArrayDescriptor* desc_given,
                                 const BNNSNDArrayDescriptor* given) {
  Distributions d = {.desc = read_float_output(desc_given)};
  require(given != nullptr, "probabilities is NULL");
  d.probabilities = read_descriptor(*given, "probabilities", Use::kInput);
  require_plain_layout(d.probabilities, "probabilities");
  require(d.probabilities.type == d.desc.type, "probabilities.data_type is ",
          d.probabilities.type->name, ", desc.data_type is ", d.desc.type->name,
          "; they must be equal");
  require_data(d.probabilities.view.data, d.probabilities.view.type, "probabilities.data");
  require(!d.desc.layout->rotated && !d.probabilities.layout->rotated, "desc.layout is ",
          d.desc.layout->name, ", probabilities.layout is ", d.probabilities.layout->name,
          "; distributions are not kept in rotated weights");
  if (!shapes_agree(d.desc, d.probabilities)) {
    fail("desc is ", describe(d.desc), ", probabilities is ", describe(d.probabilities),
         "; all logical sizes but the last must be equal");
  }
  d.classes = d.probabilities.logical_extent(d.probabilities.rank() - 1);
  const size_t most = (size_t{1} << exact_digits(d.desc.view.type)) + 1;
  require(d.classes <= most, "probabilities has ", d.classes, " classes; ", d.desc.type->name,
          " holds the indices of ", most);
  require_apart(range_of(d.desc.view), "desc.data", range_of(d.probabilities.view),
                "probabilities.data");
  arrange(d);
  return d;
}

void sum_distributions(const Distributions& d, bool logarithms, double* sums) {
  const ConvertKernels& convert = *convert_kernels();
  View row = d.probabilities.view;
  row.rank = 1;
  row.extent[0] = row.count = d.classes;
  row.stride[0] = d.probabilities.logical_stride(d.probabilities.rank() - 1);
  Walker place(d.places, 0);
  for (size_t n = 0; n < d.count; ++n, place.advance(1)) {
    row.data = static_cast<char*>(d.probabilities.view.data) +
               place.offset() * d.probabilities.type->bytes();
    const Weights weights = sum_weights(convert, row, logarithms, sums + n * d.classes);
    require(weights != Weights::kBadValue, "distribution ", n,
            " of probabilities has a value that is ",
            logarithms ? "NaN or +Inf; logarithms of probabilities must be below infinity"
                       : "negative, NaN or Inf; probabilities must be finite and not negative");
    require(weights != Weights::kAllZero, "distribution ", n,
            " of probabilities gives 0 to every class; one must be possible");
  }
}

}  // namespace

BNNSRandomGenerator make_random_generator(BNNSRandomGeneratorMethod method, const uint64_t* seed,
                                          const BNNSFilterParameters* filter_parameters) {
  require(method == BNNSRandomGeneratorMethodAES_CTR, "method is ", static_cast<uint32_t>(method),
          "; it must be BNNSRandomGeneratorMethodAES_CTR (0)");
  const FilterOptions options(filter_parameters);
  uint64_t key = 0;
  if (seed != nullptr) {
    key = *seed;
  } else {
    require(platform::entropy(&key, sizeof key), "the system gives no random seed");
  }
  void* block = options.memory.allocate(sizeof(RandomGenerator));
  auto* generator = new (block) RandomGenerator(options, key);
  try {
    return handles().insert(HandleKind::kRandomGenerator, generator);
  } catch (...) {
    generator->~RandomGenerator();
    options.memory.release(block);
    throw;
  }
}

void destroy_random_generator(BNNSRandomGenerator handle) {
  if (handle == nullptr) return;
  auto* generator =
      static_cast<RandomGenerator*>(handles().remove(HandleKind::kRandomGenerator, handle));
  if (generator == nullptr) fail_no_generator(handle);
  const Memory memory = generator->memory();
  generator->~RandomGenerator();
  memory.release(generator);
}

size_t random_state_size(BNNSRandomGenerator generator) {
  find_generator(generator);
  return sizeof(RandomState);
}

void get_random_state(BNNSRandomGenerator handle, size_t state_size, void* to) {
  RandomGenerator& generator = find_generator(handle);
  require(to != nullptr, "state is NULL");
  require(state_size >= sizeof(RandomState), "state_size is ", state_size, "; a state takes ",
          sizeof(RandomState), " bytes");
  const RandomState state = generator.state();
  std::memcpy(to, &state, sizeof state);
}

void set_random_state(BNNSRandomGenerator handle, size_t state_size, const void* from) {
  RandomGenerator& generator = find_generator(handle);
  require(from != nullptr, "state is NULL");
  require(state_size >= sizeof(RandomState), "state_size is ", state_size, "; a state takes ",
          sizeof(RandomState), " bytes");
  RandomState state;
  std::memcpy(&state, from, sizeof state);
  require(state.mark == RandomState::kMark && state.check == state.right_check(),
          "state is none of this version of the generator");
  generator.set_state(state);
}

void fill_uniform_float(BNNSRandomGenerator handle, const BNNSNDArrayDescriptor* given, float a,
                        float b) {
  RandomGenerator& generator = find_generator(handle);
  const Descriptor desc = read_float_output(given);
  require_finite(a, "a");
  require_finite(b, "b");
  require(a < b, "a is ", double{a}, ", b is ", double{b}, "; a must be below b");
  const UniformRange range(desc.view.type, a, b);
  require(!range.is_empty(), "a is ", double{a}, ", b is ", double{b}, "; no ", desc.type->name,
          " lies in [a, b)");
  generator.draw(desc.view.count,
                 [&](const RandomRun& run) { run_uniform(run, range, collapsed(desc.view)); });
}

void fill_uniform_int(BNNSRandomGenerator handle, const BNNSNDArrayDescriptor* given, int64_t a,
                      int64_t b) {
  RandomGenerator& generator = find_generator(handle);
  const Descriptor desc = read_output(given);
  require(desc.type->is_integer() && desc.type->bytes() > 0, "desc.data_type is ", desc.type->name,
          "; it must be an integer type of whole bytes");
  require(a < b, "a is ", a, ", b is ", b, "; a must be below b");
  const int64_t low = into_range(a, *desc.type), high = into_range(b, *desc.type);
  require(low < high, "a is ", a, ", b is ", b, "; no ", desc.type->name, " lies in [a, b)");
  generator.draw(desc.view.count, [&](const RandomRun& run) {
    run_uniform_integer(run, low, high, collapsed(desc.view));
  });
}

void fill_normal_float(BNNSRandomGenerator handle, const BNNSNDArrayDescriptor* given, float mean,
                       float stddev) {
  RandomGenerator& generator = find_generator(handle);
  const Descriptor desc = read_float_output(given);
  require_finite(mean, "mean");
  require_finite(stddev, "stddev");
  require(stddev >= 0, "stddev is ", double{stddev}, "; it must not be negative");
  generator.draw(desc.view.count, [&](const RandomRun& run) {
    run_normal(run, double{mean}, double{stddev}, collapsed(desc.view));
  });
}

void fill_categorical_float(BNNSRandomGenerator handle, const BNNSNDArrayDescriptor* desc,
                            const BNNSNDArrayDescriptor* probabilities, bool log_probabilities) {
  RandomGenerator& generator = find_generator(handle);
  const Distributions d = read_distributions(desc, probabilities);
  const Array<double> sums(generator.memory(),
                           checked_mul(d.count, d.classes, "the sums of probabilities"));
  sum_distributions(d, log_probabilities, sums.data());
  generator.draw(d.desc.view.count, [&](const RandomRun& run) {
    run_categorical(run, sums.data(), d.classes, d.rows, collapsed(d.desc.view));
  });
}

}  // namespace bnns::impl
