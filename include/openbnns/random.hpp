// Random generators. Equal seeds give equal streams, whatever machine and number of threads.
#ifndef OPENBNNS_RANDOM_HPP
#define OPENBNNS_RANDOM_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "filter_parameters.hpp"

namespace bnns {

enum class RandomGeneratorMethod : std::uint32_t { aes_ctr = BNNSRandomGeneratorMethodAES_CTR };

// Where a generator is in its stream.
class RandomGeneratorState {
 public:
  friend bool operator==(const RandomGeneratorState&, const RandomGeneratorState&) = default;

 private:
  friend class RandomGenerator;
  explicit RandomGeneratorState(std::size_t size) : bytes_(size) {}
  std::vector<std::byte> bytes_;
};

struct RandomGeneratorOptions {
  RandomGeneratorMethod method = RandomGeneratorMethod::aes_ctr;
  std::optional<std::uint64_t> seed = std::nullopt;  // none: from the system
  FilterParameters filter_parameters = {};
};

class RandomGenerator {
 public:
  explicit RandomGenerator(const RandomGeneratorOptions& options = {}) {
    const BNNSFilterParameters native = detail::native(options.filter_parameters);
    const auto method = static_cast<BNNSRandomGeneratorMethod>(options.method);
    generator_.reset(options.seed
                         ? BNNSCreateRandomGeneratorWithSeed(method, *options.seed, &native)
                         : BNNSCreateRandomGenerator(method, &native));
    if (!generator_) {
      throw Error(Error::Code::unable_to_create_layer, "RandomGenerator",
                  detail::in_cpp_names(OpenBNNSGetLastError()));
    }
  }

  BNNSRandomGenerator native_handle() const noexcept { return generator_.get(); }

  RandomGeneratorState state() const {
    const std::size_t size = BNNSRandomGeneratorStateSize(generator_.get());
    check(size == 0 ? -1 : 0, "RandomGenerator::state");
    RandomGeneratorState state(size);
    check(BNNSRandomGeneratorGetState(generator_.get(), size, state.bytes_.data()),
          "RandomGenerator::state");
    return state;
  }
  void set_state(RandomGeneratorState state) {
    check(BNNSRandomGeneratorSetState(generator_.get(), state.bytes_.size(), state.bytes_.data()),
          "RandomGenerator::set_state");
  }

  // Half-open ranges: b never comes.
  void fill_uniform(Descriptor output, float a, float b) {
    detail::require_one_sample(output, "RandomGenerator::fill_uniform", "output");
    check(BNNSRandomFillUniformFloat(generator_.get(), &output, a, b),
          "RandomGenerator::fill_uniform");
  }
  void fill_uniform_int(Descriptor output, std::int64_t a, std::int64_t b) {
    detail::require_one_sample(output, "RandomGenerator::fill_uniform_int", "output");
    check(BNNSRandomFillUniformInt(generator_.get(), &output, a, b),
          "RandomGenerator::fill_uniform_int");
  }
  void fill_normal(Descriptor output, float mean, float standard_deviation) {
    detail::require_one_sample(output, "RandomGenerator::fill_normal", "output");
    check(BNNSRandomFillNormalFloat(generator_.get(), &output, mean, standard_deviation),
          "RandomGenerator::fill_normal");
  }
  void fill_categorical(const Descriptor& output, const Descriptor& probabilities,
                        bool log_probabilities = false) {
    detail::require_one_sample(output, "RandomGenerator::fill_categorical", "output");
    check(BNNSRandomFillCategoricalFloat(generator_.get(), &output, &probabilities,
                                         log_probabilities),
          "RandomGenerator::fill_categorical");
  }

 private:
  static void check(int status, const char* operation) {
    detail::check(status, Error::Code::layer_apply_fail, operation);
  }

  struct Destroy {
    void operator()(void* generator) const noexcept { BNNSDestroyRandomGenerator(generator); }
  };
  std::unique_ptr<void, Destroy> generator_;
};

}  // namespace bnns

#endif
