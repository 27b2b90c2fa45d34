// Arithmetic layers: input data and right results.
#include "workloads/arithmetic.h"

#include "harness/random.h"
#include "spec/layers/arithmetic.h"
#include "workloads/reference.h"

namespace bench {
namespace {

struct Info {
  const char* name;
  BNNSArithmeticFunction function;
};

// In the order of ArithmeticFunction.
constexpr Info kInfos[] = {{"add", BNNSArithmeticAdd},
                           {"multiply", BNNSArithmeticMultiply},
                           {"pow", BNNSArithmeticPow},
                           {"exp", BNNSArithmeticExp}};

struct Reference {
  spec::reference::Arithmetic layer;
  Tensors values;
};

Reference reference(const Arithmetic& p) {
  const spec::Shape image = spec::image(p.side, p.side, p.channels),
                    one = p.broadcast ? spec::image(1, 1, p.channels) : image;
  spec::ArithmeticSettings s{.function = kInfos[size_t(p.function)].function,
                             .in = {image},
                             .out = image,
                             .roles = {BNNSSample}};
  const Tensor a = gather(image, p.a), y = gather(image, p.out_delta);
  Tensors values{.batch = p.batch, .value = {a, y}, .delta = {a, y}};
  if (!p.unary()) {
    s.in.push_back(one);
    s.roles.push_back(p.broadcast ? BNNSParameter : BNNSSample);
    values.value.push_back(gather(one, p.b));
    values.delta.push_back(gather(one, p.b));
  }
  return {.layer = spec::reference::Arithmetic(s), .values = values};
}

}  // namespace

Arithmetic::Arithmetic(ArithmeticFunction f, bool per_channel, size_t batch_size,
                       size_t channel_count, size_t in_side)
    : function(f),
      broadcast(per_channel),
      batch(batch_size),
      channels(channel_count),
      side(in_side),
      a(batch * channels * side * side),
      b(per_channel ? channels : a.size()),
      out(a.size()),
      out_delta(a.size()) {
  Random random(uint64_t(f) + batch + channels + side);
  random.fill(a, 0.25, 2);
  random.fill(b, -2, 2);
  random.fill(out_delta, -1, 1);
  if (f != ArithmeticFunction::kExp) return;
  Reference r = reference(*this);
  r.layer.forward(r.values);
  for (size_t i = 0; i < out.size(); ++i) out.data()[i] = float(r.values.value[1].data()[i].value);
}

Row Arithmetic::row(const std::string& op) const {
  const bool forward = op == "fwd";
  const double x = 4.0 * double(a.size()), second = unary() ? 0 : 4.0 * double(b.size());
  Row row{.op = op,
          .read_bytes = forward ? x + second : 2 * x + second,
          .write_bytes = forward ? x : x + second,
          .working_set = forward ? 2 * x + second : 3 * x + 2 * second};
  Reference r = reference(*this);
  if (forward) {
    r.layer.forward(r.values);
    row.expected = {expect("out", r.values.value[1])};
    return row;
  }
  r.layer.backward(r.values, false);
  row.expected = {expect("a_delta", r.values.delta[0])};
  if (!unary()) row.expected.push_back(expect("b_delta", r.values.delta[2]));
  return row;
}

void append_arithmetic(std::vector<Workload>& list, bool quick) {
  const auto add = [&](ArithmeticFunction f, bool broadcast, size_t batch, size_t channels,
                       size_t side) {
    std::string name = kInfos[size_t(f)].name;
    if (broadcast) name += "-channel";
    name += " b" + std::to_string(batch) + " " + std::to_string(channels) + "x" +
            std::to_string(side) + "x" + std::to_string(side);
    list.push_back({.family = "arithmetic", .name = name, .ops = {"fwd", "bwd"}, .make = [=] {
                      return std::make_unique<Arithmetic>(f, broadcast, batch, channels, side);
                    }});
  };
  using enum ArithmeticFunction;
  for (const ArithmeticFunction f : {kAdd, kMultiply, kPow, kExp}) {
    for (const bool broadcast : {false, true}) {
      if (broadcast && f == kExp) continue;
      add(f, broadcast, 1, 16, 8);
      add(f, broadcast, 8, 64, quick ? 7 : 28);
    }
  }
}

}  // namespace bench
