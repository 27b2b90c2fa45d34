// In training each value is 0 with probability "rate" and otherwise divided by 1 - rate. The mask
// of a sample depends on seed, epoch, step, layer and the sample's place in the batch alone.
#include <algorithm>

#include "train/counter_random.h"
#include "train/layers/other.h"

namespace bnns::train::impl {
namespace {

constexpr FieldRule kFields[] = {{"rate", FieldRule::Type::number, 0, 0.999, 0.5}};

std::uint64_t hash_of(const std::string& path) {
  std::uint64_t hash = 0;
  for (const char c : path) hash = hash * 131 + static_cast<unsigned char>(c);
  return hash;
}

class DropoutStage final : public Stage {
 public:
  explicit DropoutStage(const StageContext& context)
      : key_(hash_of(context.layers[0].path)),
        rate_(static_cast<float>(context.layers[0].fields.number("rate"))),
        count_(context.layers[0].input.count()),
        mask_(Shape::vector(count_), context.batch_size),
        product_({.input_a = Shape::vector(count_),
                  .input_b = Shape::vector(count_),
                  .output = Shape::vector(count_),
                  .function = ArithmeticBinaryFunction::multiply,
                  .filter_parameters = context.filter_parameters}) {}

  void forward(const Pass& pass, const Descriptor& in, const Descriptor& out) override {
    if (!pass.training) {
      const auto* from = static_cast<const float*>(in.data);
      std::copy_n(from, pass.samples * count_, static_cast<float*>(out.data));
      return;
    }
    draw(pass);
    product_.apply(pass.samples, in, mask_, out);
  }
  void backward(const Pass& pass, const Descriptor&, const Descriptor&, const Descriptor& out_delta,
                const std::optional<Descriptor>& in_delta) override {
    if (in_delta) product_.apply(pass.samples, out_delta, mask_, *in_delta);
  }

 private:
  void draw(const Pass& pass) {
    const float kept = 1 / (1 - rate_);
    for (std::size_t n = 0; n < pass.samples; ++n) {
      const CounterRandom random({pass.seed, pass.epoch, pass.step, key_, pass.first_sample + n});
      const std::span<float> mask = mask_.sample(n);
      for (std::size_t i = 0; i < count_; ++i) mask[i] = random.uniform(i) < rate_ ? 0 : kept;
    }
  }

  std::uint64_t key_;
  float rate_;
  std::size_t count_;
  Tensor mask_;
  BinaryArithmeticLayer product_;
};

MadeStage make(const StageContext& context) {
  return {std::make_unique<DropoutStage>(context)};
}

}  // namespace

constexpr LayerKind kDropout = {
    .name = "dropout", .fields = kFields, .output = same_shape, .make = make};

}  // namespace bnns::train::impl
