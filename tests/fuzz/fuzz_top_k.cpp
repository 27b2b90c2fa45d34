// Top k and in top k between descriptors of any kind, and tables of nearest neighbours.
#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {
namespace {

constexpr BNNSDataType kFloats[] = {BNNSDataTypeFloat32, BNNSDataTypeFloat32, BNNSDataTypeFloat16,
                                    BNNSDataTypeBFloat16};

// The entry of size[] that a logical axis counts.
size_t size_index(BNNSDataLayout layout, size_t axis) {
  if (layout == BNNSDataLayoutRowMajorMatrix && axis < 2) return 1 - axis;
  if (layout == BNNSDataLayoutConvolutionWeightsIOHrWr && axis >= 2) return (5 - axis) % 8;
  return axis % 8;
}

// The same sizes but one, now and then with something wrong.
BNNSNDArrayDescriptor with_size(Provider& p, const BNNSNDArrayDescriptor& from, size_t axis,
                                size_t size) {
  BNNSNDArrayDescriptor d = from;
  d.size[size_index(d.layout, axis)] = size;
  if (p.one_in(12)) return like(p, d);
  choose_strides(p, d);
  return d;
}

struct Case {
  size_t k = 1, axis = 0, length = 1, rank = 1;
  BNNSNDArrayDescriptor input = {}, second = {}, third = {};
  Batch in_batch, second_batch, third_batch;
  size_t in = kNowhere, two = kNowhere, three = kNowhere;
  Memory memory;
  BNNSFilterParameters parameters;

  explicit Case(Provider& p) : parameters(filter_parameters(p)) {
    input = descriptor(p, 30);
    if (input.data_type == BNNSDataTypeFloat32) input.data_type = p.pick(kFloats);
    rank = std::clamp<size_t>(rank_of(input.layout), 1, 8);
    axis = p.one_in(40) ? p.odd_size() : p.below(rank);
    length = input.size[size_index(input.layout, axis)];
    k = p.one_in(20) || length == 0 ? p.odd_size() : 1 + p.below(std::min<size_t>(length, 4096));
  }

  void allocate(Provider& p) {
    const Batch batch = batch_of(p);
    in_batch = with_stride(p, batch, model_of(input));
    second_batch = with_stride(p, batch, model_of(second));
    third_batch = with_stride(p, batch, model_of(third));
    std::vector<size_t> earlier;
    const auto add = [&](const BNNSNDArrayDescriptor& d, const Batch& of) {
      const size_t tensor = place(p, memory, model_of(d), of, earlier);
      if (tensor != kNowhere) earlier.push_back(tensor);
      return tensor;
    };
    in = add(input, in_batch);
    two = add(second, second_batch);
    three = add(third, third_batch);
    memory.allocate(p.number<uint16_t>());
    if (!p.one_in(60)) input.data = address(memory, in);
    if (!p.one_in(60)) second.data = address(memory, two);
    if (!p.one_in(8)) third.data = address(memory, three);
    show("input", input);
    show("second", second);
    show("third", third);
    show("K", k);
    show("axis", axis);
  }
  void check(const char* function) const {
    expect(model_of(input).legal && model_of(second).legal, function, "accepts a bad descriptor");
    expect(axis < rank && k >= 1 && k <= length, function, "accepts a bad axis or K");
  }
};

void top_k(Provider& p) {
  constexpr const char* kFunction = "BNNSDirectApplyTopK";
  Case c(p);
  c.second = with_size(p, c.input, c.axis, c.k);
  c.third = with_size(p, c.input, c.axis, c.k);
  c.third.data_type = p.one_in(20) ? BNNSDataTypeFloat32 : integer_type(p);
  c.allocate(p);
  const bool wanted = c.third.data != nullptr && !p.one_in(8);
  Promise promise;
  promise.written = c.in_batch.size == 0 ? 0 : mask_of(c.two) | (wanted ? mask_of(c.three) : 0);
  promise.overwritten = promise.written;
  promise.used = mask_of(c.in) | promise.written;
  promise.apart = mask_of(c.in);
  const BNNSFilterParameters twin = twin_of(c.parameters);
  const bool success = run(kFunction, p, c.memory, promise, [&](size_t n) {
    return BNNSDirectApplyTopK(c.k, c.axis, c.in_batch.size, &c.input, c.in_batch.stride, &c.second,
                               c.second_batch.stride, wanted ? &c.third : nullptr,
                               c.third_batch.stride, n == 0 ? &c.parameters : &twin) == 0;
  });
  if (success) c.check(kFunction);
  Hooks::expect_no_leak();
}

// Indices of the axis nearly all, as random bits would never pass.
void fill_indices(Provider& p, Case& c) {
  if (c.two == kNowhere) return;
  const Tensor& tensor = c.memory.tensor(c.two);
  const size_t bytes = tensor.bits / 8;
  if (bytes == 0 || bytes > 8 || c.length == 0) return;
  const bool bad = p.one_in(10);
  for (size_t offset : tensor.offsets) {
    uint64_t index = offset * 7 % std::min<size_t>(c.length, 127);
    if (bad && p.one_in(8)) index = p.number<uint64_t>();
    std::memcpy(c.memory.data(c.two) + offset * bytes, &index, bytes);
  }
  c.memory.accept();
}

void in_top_k(Provider& p) {
  constexpr const char* kFunction = "BNNSDirectApplyInTopK";
  Case c(p);
  if (c.rank <= 2 && p.one_in(2)) {
    c.second =
        vector_of(c.rank == 1 ? 1 : c.input.size[1 - size_index(c.input.layout, c.axis) % 2]);
    c.third = c.second;
  } else {
    c.second = with_size(p, c.input, c.axis, 1);
    c.third = with_size(p, c.input, c.axis, 1);
  }
  c.second.data_type = p.one_in(20) ? BNNSDataTypeFloat32 : integer_type(p);
  c.third.data_type = p.one_in(20) ? BNNSDataTypeInt8 : BNNSDataTypeBoolean;
  c.allocate(p);
  fill_indices(p, c);
  Promise promise;
  promise.written = promise.overwritten = c.in_batch.size == 0 ? 0 : mask_of(c.three);
  promise.used = mask_of(c.in) | mask_of(c.two) | promise.written;
  promise.apart = mask_of(c.in) | mask_of(c.two);
  const BNNSFilterParameters twin = twin_of(c.parameters);
  const bool success = run(kFunction, p, c.memory, promise, [&](size_t n) {
    return BNNSDirectApplyInTopK(c.k, c.axis, c.in_batch.size, &c.input, c.in_batch.stride,
                                 &c.second, c.second_batch.stride, &c.third, c.third_batch.stride,
                                 n == 0 ? &c.parameters : &twin) == 0;
  });
  if (success) {
    c.check(kFunction);
    expect(model_of(c.third).legal, kFunction, "accepts a bad output");
  }
  Hooks::expect_no_leak();
}

// A table and its twin with another number of threads; both make the same calls.
class Tables {
 public:
  explicit Tables(Provider& p) : parameters_(filter_parameters(p)) {
    samples_ = p.one_in(40) ? p.number<unsigned>() : static_cast<unsigned>(p.between(1, 70));
    features_ = p.one_in(40) ? p.number<unsigned>() : static_cast<unsigned>(p.between(1, 20));
    neighbors_ = p.one_in(60) ? p.number<unsigned>() : static_cast<unsigned>(p.between(1, 60));
    type_ = p.one_in(30) ? p.constant(kTypes) : p.pick(kFloats);
    // What would be legal, but larger than a test should be.
    if (uint64_t{samples_} * features_ > 1u << 20) features_ = 0;
    tables_[0] = watched(parameters_);
    if (tables_[0] == nullptr) return;
    tables_[1] = watched(twin_of(parameters_));
    expect(tables_[1] != nullptr, "BNNSCreateNearestNeighbors",
           "a second table like the first is refused");
  }
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;
  ~Tables() {
    for (BNNSNearestNeighbors table : tables_) BNNSDestroyNearestNeighbors(table);
    Hooks::expect_no_leak();
  }
  explicit operator bool() const { return tables_[0] != nullptr; }

  void load(Provider& p) {
    const size_t n = p.below(samples_ / 2 + 2);
    Memory memory;
    BNNSNDArrayDescriptor values = vector_of(n * features_ + 1);
    values.data_type = type_;
    const size_t from = place(p, memory, model_of(values), {}, {});
    memory.allocate(p.number<uint16_t>());
    void* data = p.one_in(60) ? nullptr : address(memory, from);
    bool success[2];
    for (size_t k = 0; k < 2; ++k) {
      const Watch watch("BNNSNearestNeighborsLoad");
      success[k] = BNNSNearestNeighborsLoad(tables_[k], static_cast<unsigned>(n), data) == 0;
      watch.done(success[k]);
    }
    memory.expect_untouched("BNNSNearestNeighborsLoad");
    expect(success[0] == success[1], "BNNSNearestNeighborsLoad", "differs for equal tables");
    if (success[0]) loaded_ += n;
    expect(loaded_ <= samples_, "BNNSNearestNeighborsLoad", "accepts more than there is room for");
  }

  void ask(Provider& p) {
    constexpr const char* kFunction = "BNNSNearestNeighborsGetInfo";
    const int sample = p.one_in(40) ? p.number<int>() : static_cast<int>(p.below(80)) - 8;
    const size_t rows = sample < 0 ? loaded_ : 1;
    if (rows * neighbors_ > 1u << 16) return;
    Memory memory;
    BNNSNDArrayDescriptor values = vector_of(std::max<size_t>(rows * neighbors_, 1));
    values.data_type = BNNSDataTypeInt32;
    const size_t indices = place(p, memory, model_of(values), {}, {});
    values.data_type = type_;
    const size_t distances = place(p, memory, model_of(values), {}, {indices});
    memory.allocate(p.number<uint16_t>());
    auto* to_indices = p.one_in(6) ? nullptr : reinterpret_cast<int*>(memory.data(indices));
    void* to_distances = p.one_in(6) ? nullptr : memory.data(distances);
    Promise promise;
    if (to_indices != nullptr && rows > 0) promise.written |= mask_of(indices);
    if (to_distances != nullptr && rows > 0) promise.written |= mask_of(distances);
    promise.used = promise.overwritten = promise.written;
    const bool success = run(kFunction, p, memory, promise, [&](size_t k) {
      return BNNSNearestNeighborsGetInfo(tables_[k], sample, to_indices, to_distances) == 0;
    });
    if (!success) return;
    expect(sample < 0 || static_cast<size_t>(sample) < loaded_, kFunction,
           "accepts a sample that is none");
    if (to_indices == nullptr) return;
    for (size_t r = 0; r < rows; ++r) {
      const int first = to_indices[r * neighbors_];
      expect(first == (sample < 0 ? static_cast<int>(r) : sample), kFunction,
             "a sample is not its own first neighbour");
      for (size_t j = 0; j < neighbors_; ++j) {
        const int index = to_indices[r * neighbors_ + j];
        expect(j < loaded_ ? index >= 0 && static_cast<size_t>(index) < loaded_ : index == -1,
               kFunction, "gives an index that is none");
      }
    }
  }

 private:
  BNNSNearestNeighbors watched(const BNNSFilterParameters& parameters) const {
    const Watch watch("BNNSCreateNearestNeighbors");
    const BNNSNearestNeighbors made =
        BNNSCreateNearestNeighbors(samples_, features_, neighbors_, type_, &parameters);
    watch.done(made != nullptr);
    return made;
  }

  BNNSFilterParameters parameters_;
  unsigned samples_, features_, neighbors_;
  BNNSDataType type_;
  size_t loaded_ = 0;
  BNNSNearestNeighbors tables_[2] = {};
};

void neighbors(Provider& p) {
  constexpr size_t kMaxCalls = 8;
  Tables tables(p);
  if (!tables) return;
  for (size_t i = 0; i < kMaxCalls && !p.empty(); ++i) {
    if (i == 0 || p.one_in(3)) {
      tables.load(p);
    } else {
      tables.ask(p);
    }
  }
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider provider(data, size);
  switch (provider.below(4)) {
    case 0:
    case 1:
      fuzz::top_k(provider);
      break;
    case 2:
      fuzz::in_top_k(provider);
      break;
    default:
      fuzz::neighbors(provider);
      break;
  }
  return 0;
}
