// Random generators: fills of any descriptor and range, states read, kept and set, dead handles.
#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {
namespace {

constexpr size_t kMaxCalls = 8;

// A generator and its twin with another number of threads; both make the same calls.
class Generators {
 public:
  explicit Generators(Provider& p) {
    const BNNSFilterParameters parameters = filter_parameters(p);
    const uint64_t seed = p.number<uint32_t>();
    static constexpr BNNSRandomGeneratorMethod kMethods[] = {BNNSRandomGeneratorMethodAES_CTR};
    const BNNSRandomGeneratorMethod method = p.constant(kMethods, 60);
    generators_[0] = watched(method, seed, parameters);
    if (generators_[0] == nullptr) return;
    generators_[1] = watched(method, seed, twin_of(parameters));
    expect(generators_[1] != nullptr, "BNNSCreateRandomGeneratorWithSeed",
           "a second generator like the first is refused");
  }
  Generators(const Generators&) = delete;
  Generators& operator=(const Generators&) = delete;
  ~Generators() {
    for (BNNSRandomGenerator g : generators_) BNNSDestroyRandomGenerator(g);
    Hooks::expect_no_leak();
  }

  explicit operator bool() const { return generators_[0] != nullptr; }
  BNNSRandomGenerator operator[](size_t k) const { return generators_[k]; }

 private:
  static BNNSRandomGenerator watched(BNNSRandomGeneratorMethod method, uint64_t seed,
                                     const BNNSFilterParameters& parameters) {
    const Watch watch("BNNSCreateRandomGeneratorWithSeed");
    const BNNSRandomGenerator made = BNNSCreateRandomGeneratorWithSeed(method, seed, &parameters);
    watch.done(made != nullptr);
    return made;
  }

  BNNSRandomGenerator generators_[2] = {};
};

struct Filled {
  explicit Filled(Provider& p) : out(descriptor(p, 2)) {
    to = place(p, memory, model_of(out), {}, {});
    if (p.one_in(2)) {
      probabilities = p.one_in(2) ? vector_of(p.extent()) : descriptor(p, 20);
      from = place(p, memory, model_of(probabilities), {}, {});
    }
    memory.allocate(p.number<uint16_t>());
    // Categories need weights that are not negative; random ones would rarely pass.
    if (from != kNowhere && probabilities.data_type == BNNSDataTypeFloat32 && !p.one_in(8)) {
      for (size_t offset : memory.tensor(from).offsets) {
        const float value = static_cast<float>(offset % 5) * 0.25f;
        std::memcpy(memory.data(from) + offset * sizeof value, &value, sizeof value);
      }
      memory.accept();
    }
    if (!p.one_in(60)) out.data = address(memory, to);
    probabilities.data = address(memory, from);
    show("out", out);
    show("weights", probabilities);
  }

  Promise promise() const {
    Promise made;
    made.used = mask_of(to) | mask_of(from);
    made.written = made.overwritten = mask_of(to);
    made.apart = mask_of(from);
    return made;
  }

  Memory memory;
  BNNSNDArrayDescriptor out = {}, probabilities = {};
  size_t to = kNowhere, from = kNowhere;
};

void fill(Provider& p, const Generators& g) {
  Filled f(p);
  const float a = p.one_in(4) ? p.scalar() : -1.0f, b = p.one_in(4) ? p.scalar() : 2.0f;
  const int64_t low = p.one_in(4) ? p.number<int64_t>() : -3;
  const int64_t high = p.one_in(4) ? p.number<int64_t>() : 4;
  const bool logs = p.one_in(3);
  switch (p.below(4)) {
    case 0:
      run("BNNSRandomFillUniformFloat", p, f.memory, f.promise(),
          [&](size_t k) { return BNNSRandomFillUniformFloat(g[k], &f.out, a, b) == 0; });
      break;
    case 1:
      run("BNNSRandomFillUniformInt", p, f.memory, f.promise(),
          [&](size_t k) { return BNNSRandomFillUniformInt(g[k], &f.out, low, high) == 0; });
      break;
    case 2:
      run("BNNSRandomFillNormalFloat", p, f.memory, f.promise(),
          [&](size_t k) { return BNNSRandomFillNormalFloat(g[k], &f.out, a, b) == 0; });
      break;
    default:
      run("BNNSRandomFillCategoricalFloat", p, f.memory, f.promise(), [&](size_t k) {
        return BNNSRandomFillCategoricalFloat(g[k], &f.out, &f.probabilities, logs) == 0;
      });
      break;
  }
}

// What GetState gives, SetState takes; anything else it refuses or survives.
void keep_state(Provider& p, const Generators& g) {
  const size_t size = BNNSRandomGeneratorStateSize(g[0]);
  expect(size > 0 && size < 4096, "BNNSRandomGeneratorStateSize", "is out of all proportion");
  std::vector<uint8_t> state(size);
  const size_t asked = p.one_in(20) ? p.odd_size() : size;
  const bool damage = p.one_in(8);
  const size_t place = p.below(size);
  const uint8_t byte = p.byte();
  for (size_t k = 0; k < 2; ++k) {
    const Watch get("BNNSRandomGeneratorGetState");
    const bool got = BNNSRandomGeneratorGetState(g[k], asked, state.data()) == 0;
    get.done(got);
    expect(!got || asked >= size, "BNNSRandomGeneratorGetState", "writes more than there is room");
    if (!got) continue;
    if (damage) state[place] ^= byte;
    const Watch set("BNNSRandomGeneratorSetState");
    set.done(BNNSRandomGeneratorSetState(g[k], size, state.data()) == 0);
  }
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider p(data, size);
  const fuzz::Generators generators(p);
  if (!generators) return 0;
  for (size_t i = 0; i < fuzz::kMaxCalls && !p.empty(); ++i) {
    if (p.one_in(4)) {
      fuzz::keep_state(p, generators);
    } else {
      fuzz::fill(p, generators);
    }
  }
  return 0;
}
