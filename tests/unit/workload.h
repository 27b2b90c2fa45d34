// Small layers with their data, ready to be created, applied and trained: what the tests of memory,
// threads and quietness run. A Workload owns everything its parameters point to; Results owns what
// the calls write, allocated in advance, so that running a workload allocates nothing by itself.
#pragma once

#include <cctype>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "openbnns/openbnns.h"

namespace test {

inline size_t bytes_of(BNNSDataType type) {
  return (static_cast<uint32_t>(type) & 0x7FFF) / 8;
}

inline BNNSNDArrayDescriptor array(BNNSDataLayout layout, std::initializer_list<size_t> sizes,
                                   void* data = nullptr, BNNSDataType type = BNNSDataTypeFloat32) {
  BNNSNDArrayDescriptor d = {};
  d.layout = layout;
  size_t k = 0;
  for (size_t size : sizes) d.size[k++] = size;
  d.data = data;
  d.data_type = type;
  d.data_scale = 1;
  return d;
}

inline BNNSNDArrayDescriptor vector(size_t size, void* data = nullptr,
                                    BNNSDataType type = BNNSDataTypeFloat32) {
  return array(BNNSDataLayoutVector, {size}, data, type);
}

// Fixed noise: a multiplicative generator is enough, the values only have to differ.
class Noise {
 public:
  explicit Noise(uint32_t seed) : state_(seed * 2654435761u + 1) {}
  uint32_t bits() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 32);
  }
  float number() { return static_cast<float>(bits() >> 8) / 4194304.0f - 2.0f; }  // [-2, 2)

 private:
  uint64_t state_;
};

// `count` values of a type; halves lie in +-[0.5, 1) so that no conversion is needed to make them.
inline std::vector<char> noise(size_t count, BNNSDataType type, uint32_t seed) {
  Noise source(seed);
  std::vector<char> data(count * bytes_of(type));
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits = source.bits();
    if (type == BNNSDataTypeFloat32) {
      const float value = source.number();
      std::memcpy(&bits, &value, sizeof bits);
    } else if (type == BNNSDataTypeFloat16) {
      bits = (bits & 0x83FF) | 0x3800;
    }
    std::memcpy(&data[i * bytes_of(type)], &bits, bytes_of(type));
  }
  return data;
}

struct Results {
  std::vector<char> out;
  std::vector<float> in_delta, weights_delta, bias_delta;

  bool operator==(const Results& other) const {
    const auto same = [](const auto& a, const auto& b) {
      return a.size() == b.size() &&
             (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0);
    };
    return same(out, other.out) && same(in_delta, other.in_delta) &&
           same(weights_delta, other.weights_delta) && same(bias_delta, other.bias_delta);
  }
  void fill(unsigned char byte) {
    const auto set = [&](auto& v) {
      if (!v.empty()) std::memset(v.data(), byte, v.size() * sizeof v[0]);
    };
    set(out), set(in_delta), set(weights_delta), set(bias_delta);
  }
};

class Workload {
 public:
  Workload(Workload&&) = default;  // vectors keep their memory, so that pointers stay valid

  // `like` gives layout and size of input and output.
  static Workload activation(std::string name, BNNSActivationFunction function,
                             const BNNSNDArrayDescriptor& like, size_t batch,
                             BNNSDataType in_type = BNNSDataTypeFloat32,
                             BNNSDataType out_type = BNNSDataTypeFloat32) {
    Workload w(std::move(name), batch);
    w.activation_.i_desc = w.activation_.o_desc = like;
    w.activation_.i_desc.data_type = in_type;
    w.activation_.o_desc.data_type = out_type;
    w.activation_.activation.function = function;
    w.activation_.activation.alpha = 0.25f;
    w.activation_.activation.beta = 0.5f;
    w.set_integer_constants(w.activation_.activation, count(like));
    const bool leaky = function == BNNSActivationFunctionLeakyRectifiedLinear;
    const bool per_channel = function == BNNSActivationFunctionPReLUPerChannel;
    w.slopes_ = per_channel ? like.size[2] : leaky ? 1 : 0;
    w.finish();
    return w;
  }

  struct Types {
    BNNSDataType in = BNNSDataTypeFloat32, weights = BNNSDataTypeFloat32,
                 bias = BNNSDataTypeFloat32, out = BNNSDataTypeFloat32;
  };
  static Workload fully_connected(std::string name, size_t in, size_t out, size_t batch,
                                  BNNSActivationFunction function, bool client_pointer,
                                  const Types& types, size_t weights_inner_stride = 1) {
    Workload w(std::move(name), batch);
    w.is_fully_connected_ = true;
    w.flags_ = client_pointer ? uint32_t{BNNSFlagsUseClientPtr} : 0;
    w.weights_ = noise(in * out * weights_inner_stride, types.weights, 7);
    w.bias_ = noise(out, types.bias, 8);
    BNNSLayerParametersFullyConnected& p = w.fully_connected_;
    p.i_desc = vector(in, nullptr, types.in);
    p.o_desc = vector(out, nullptr, types.out);
    p.w_desc = array(BNNSDataLayoutRowMajorMatrix, {in, out}, w.weights_.data(), types.weights);
    p.w_desc.stride[0] = weights_inner_stride;
    p.bias = vector(out, w.bias_.data(), types.bias);
    p.activation.function = function;
    w.set_integer_constants(p.activation, out);
    w.finish();
    return w;
  }

  const std::string& name() const { return name_; }
  size_t batch() const { return batch_; }
  bool trainable() const { return trainable_; }
  void use_client_pointer() { flags_ = BNNSFlagsUseClientPtr; }
  void set_axes(uint32_t flags) { activation_.axis_flags = flags; }

  BNNSFilter create(size_t threads, BNNSAlloc alloc = nullptr, BNNSFree release = nullptr) const {
    const BNNSFilterParameters p = {flags_, threads, alloc, release};
    return is_fully_connected_ ? BNNSFilterCreateLayerFullyConnected(&fully_connected_, &p)
                               : BNNSFilterCreateLayerActivation(&activation_, &p);
  }

  Results make_results() const {
    Results r;
    r.out.resize(batch_ * count(o_desc()) * bytes_of(o_desc().data_type));
    if (trainable_) {
      r.in_delta.resize(batch_ * count(i_desc()));
      r.weights_delta.resize(is_fully_connected_ ? count(fully_connected_.w_desc) : slopes_);
      r.bias_delta.resize(is_fully_connected_ ? count(o_desc()) : 0);
    }
    return r;
  }

  int forward(BNNSFilter filter, Results& results) const {
    return BNNSFilterApplyBatch(filter, batch_, in_.data(), 0, results.out.data(), 0);
  }

  // Needs the output of a forward call in `results`.
  int backward(BNNSFilter filter, Results& results) const {
    BNNSNDArrayDescriptor in_delta = i_desc(), out_delta = o_desc();
    in_delta.data = results.in_delta.data();
    out_delta.data = const_cast<float*>(out_delta_.data());
    BNNSNDArrayDescriptor weights_delta = vector(slopes_, nullptr);
    if (is_fully_connected_) {
      weights_delta = fully_connected_.w_desc;
      weights_delta.stride[0] = 0;
    }
    BNNSNDArrayDescriptor bias_delta = vector(results.bias_delta.size());
    weights_delta.data = results.weights_delta.empty() ? nullptr : results.weights_delta.data();
    bias_delta.data = results.bias_delta.empty() ? nullptr : results.bias_delta.data();
    return BNNSFilterApplyBackwardBatch(filter, batch_, in_.data(), 0, &in_delta, 0,
                                        results.out.data(), 0, &out_delta, 0, &weights_delta,
                                        &bias_delta);
  }

 private:
  Workload(std::string name, size_t batch) : name_(std::move(name)), batch_(batch) {}

  static size_t count(const BNNSNDArrayDescriptor& d) {
    size_t n = 1;
    for (size_t k = 0; k < static_cast<uint32_t>(d.layout) >> 16; ++k) n *= d.size[k];
    return n;
  }
  const BNNSNDArrayDescriptor& i_desc() const {
    return is_fully_connected_ ? fully_connected_.i_desc : activation_.i_desc;
  }
  const BNNSNDArrayDescriptor& o_desc() const {
    return is_fully_connected_ ? fully_connected_.o_desc : activation_.o_desc;
  }

  void set_integer_constants(BNNSActivation& a, size_t channels) {
    for (size_t c = 0; c < channels; ++c) {
      scale_.push_back(static_cast<int32_t>(c % 5) + 1);
      offset_.push_back(static_cast<int32_t>(c % 7) - 3);
      shift_.push_back(static_cast<int32_t>(c % 3));
    }
    a.iscale = 3, a.ioffset = 1, a.ishift = 2;
    a.iscale_per_channel = scale_.data();
    a.ioffset_per_channel = offset_.data();
    a.ishift_per_channel = shift_.data();
  }

  void finish() {
    in_ = noise(batch_ * count(i_desc()), i_desc().data_type, 1);
    const std::vector<char> delta = noise(batch_ * count(o_desc()), BNNSDataTypeFloat32, 2);
    out_delta_.resize(batch_ * count(o_desc()));
    std::memcpy(out_delta_.data(), delta.data(), delta.size());
    trainable_ =
        i_desc().data_type == BNNSDataTypeFloat32 && o_desc().data_type == BNNSDataTypeFloat32 &&
        (!is_fully_connected_ || (fully_connected_.w_desc.data_type == BNNSDataTypeFloat32 &&
                                  fully_connected_.bias.data_type == BNNSDataTypeFloat32));
  }

  std::string name_;
  size_t batch_;
  bool is_fully_connected_ = false;
  bool trainable_ = false;
  uint32_t flags_ = 0;
  size_t slopes_ = 0;  // trainable alphas
  BNNSLayerParametersActivation activation_ = {};
  BNNSLayerParametersFullyConnected fully_connected_ = {};
  std::vector<char> in_, weights_, bias_;
  std::vector<float> out_delta_;
  std::vector<int32_t> scale_, offset_, shift_;
};

// Every path through the memory of the two layers: nothing to copy, arrays per channel, copied and
// client weights, types that need working memory forward, functions that need it backward.
inline std::vector<Workload> small_workloads() {
  constexpr auto kFloat = BNNSDataTypeFloat32;
  constexpr auto kHalf = BNNSDataTypeFloat16;
  constexpr auto kInt8 = BNNSDataTypeInt8;
  const BNNSNDArrayDescriptor image = array(BNNSDataLayoutImageCHW, {7, 5, 6});
  std::vector<Workload> all;
  const auto add_activation = [&](const char* name, BNNSActivationFunction f,
                                  const BNNSNDArrayDescriptor& like,
                                  BNNSDataType in = BNNSDataTypeFloat32,
                                  BNNSDataType out = BNNSDataTypeFloat32) -> Workload& {
    return all.emplace_back(Workload::activation(name, f, like, 3, in, out));
  };
  add_activation("relu", BNNSActivationFunctionRectifiedLinear, vector(1000));
  add_activation("tanh", BNNSActivationFunctionTanh, vector(333));
  add_activation("leaky", BNNSActivationFunctionLeakyRectifiedLinear, vector(500));
  add_activation("leaky, client pointer", BNNSActivationFunctionLeakyRectifiedLinear, vector(500))
      .use_client_pointer();
  add_activation("prelu", BNNSActivationFunctionPReLUPerChannel, image);
  add_activation("softmax of rows", BNNSActivationFunctionSoftmax, image);
  add_activation("softmax of channels", BNNSActivationFunctionSoftmax, image).set_axes(4);
  add_activation("log softmax of all", BNNSActivationFunctionLogSoftmax, image).set_axes(7);
  add_activation("half to float", BNNSActivationFunctionSigmoid, vector(100), kHalf, kFloat);
  add_activation("identity int8 to half", BNNSActivationFunctionIdentity, vector(70), kInt8, kHalf);
  add_activation("integer", BNNSActivationFunctionIntegerLinearSaturate, image, kInt8, kInt8);
  add_activation("integer per channel", BNNSActivationFunctionIntegerLinearSaturatePerChannel,
                 image, kInt8, kInt8);

  using Types = Workload::Types;
  const auto add_matrix = [&](const char* name, BNNSActivationFunction f, bool client,
                              const Types& types, size_t inner_stride = 1) {
    all.push_back(Workload::fully_connected(name, 37, 21, 5, f, client, types, inner_stride));
  };
  constexpr auto kIdentity = BNNSActivationFunctionIdentity;
  add_matrix("fully connected, copied", kIdentity, false, {});
  add_matrix("fully connected, client", kIdentity, true, {});
  add_matrix("fully connected, copied, relu", BNNSActivationFunctionRectifiedLinear, false, {});
  add_matrix("fully connected, client, softmax", BNNSActivationFunctionSoftmax, true, {});
  add_matrix("fully connected, client, strided", BNNSActivationFunctionTanh, true, {}, 2);
  add_matrix("fully connected, client halves", kIdentity, true, {.weights = kHalf, .bias = kHalf});
  add_matrix("fully connected, copied halves", BNNSActivationFunctionTanh, false,
             {.weights = kHalf});
  add_matrix("fully connected, all halves", kIdentity, true,
             {.in = kHalf, .weights = kHalf, .bias = kHalf, .out = kHalf});
  constexpr Types kIntegers = {.in = kInt8, .weights = kInt8, .bias = kInt8, .out = kInt8};
  constexpr auto kPerChannel = BNNSActivationFunctionIntegerLinearSaturatePerChannel;
  all.push_back(Workload::fully_connected("fully connected, halves, several chunks", 12, 9, 150,
                                          kIdentity, true,
                                          {.in = kHalf, .weights = kHalf, .out = kHalf}));
  all.push_back(Workload::fully_connected("fully connected, tanh, several chunks", 12, 9, 150,
                                          BNNSActivationFunctionTanh, true, {}));
  add_matrix("fully connected, integers", kPerChannel, false, kIntegers);
  add_matrix("fully connected, client integers", kPerChannel, true, kIntegers);
  return all;
}

// Name of small_workloads()[index] as a test may be called.
inline std::string small_workload_identifier(size_t index) {
  static const std::vector<Workload> all = small_workloads();
  std::string name = all[index].name();
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

}  // namespace test
