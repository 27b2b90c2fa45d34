// Convolution: input data and right results, in double by plain loops over rows. A sum of k
// products may be off by 4 sqrt(k) 2^-24 times the sum of the absolute products.
#include "workloads/convolution.h"

#include <algorithm>
#include <cmath>

#include "harness/random.h"

namespace bench {
namespace {

double rounding(size_t terms) {
  return 4 * std::sqrt(double(terms)) * 0x1p-24;
}

// A row of outputs meets a row of inputs through one weight: out x in [first, end) with in x =
// x * stride + shift.
struct Meeting {
  size_t out_row, in_row, weight;  // offsets of the first element
  size_t first, end;
  ptrdiff_t shift;
};

template <class Body>
void for_rows(const ConvolutionShape& s, const Body& body) {
  const size_t o_side = s.out_side(), in_group = s.inputs / s.groups;
  const size_t out_group = s.outputs / s.groups;
  for (size_t n = 0; n < s.batch; ++n)
    for (size_t o = 0; o < s.outputs; ++o)
      for (size_t i = 0; i < in_group; ++i)
        for (size_t Y = 0; Y < o_side; ++Y)
          for (size_t ky = 0; ky < s.kernel; ++ky) {
            const size_t y = Y * s.stride + ky - s.pad;  // before the image very large
            if (y >= s.side) continue;
            for (size_t kx = 0; kx < s.kernel; ++kx) {
              const ptrdiff_t shift = ptrdiff_t(kx) - ptrdiff_t(s.pad);
              size_t first = 0, end = o_side;
              while (first < end && ptrdiff_t(first * s.stride) + shift < 0) ++first;
              while (end > first && ptrdiff_t((end - 1) * s.stride) + shift >= ptrdiff_t(s.side))
                --end;
              const size_t channel = o / out_group * in_group + i;
              body(Meeting{.out_row = ((n * s.outputs + o) * o_side + Y) * o_side,
                           .in_row = ((n * s.inputs + channel) * s.side + y) * s.side,
                           .weight = ((o * in_group + i) * s.kernel + ky) * s.kernel + kx,
                           .first = first,
                           .end = end,
                           .shift = shift});
            }
          }
}

Expected zeros(const char* tensor, size_t n) {
  return {.tensor = tensor, .value = std::vector<double>(n), .bound = std::vector<double>(n)};
}

void add(Expected& e, size_t at, double product) {
  e.value[at] += product;
  e.bound[at] += std::abs(product);
}

Expected scaled(Expected e, size_t terms) {
  for (double& bound : e.bound) bound *= rounding(terms);
  return e;
}

size_t terms(const ConvolutionShape& s) {
  return s.inputs / s.groups * s.kernel * s.kernel + 1;
}

Expected expected_out(const Convolution& p) {
  const ConvolutionShape& s = p.shape;
  Expected e = zeros("out", s.out_size());
  const size_t plane = s.out_side() * s.out_side();
  for (size_t k = 0; k < e.value.size(); ++k)
    add(e, k, double(p.bias.data()[k / plane % s.outputs]));
  for_rows(s, [&](const Meeting& m) {
    const double w = double(p.weights.data()[m.weight]);
    const float* in = p.in.data() + ptrdiff_t(m.in_row) + m.shift;
    for (size_t x = m.first; x < m.end; ++x) add(e, m.out_row + x, w * double(in[x * s.stride]));
  });
  return activated(scaled(std::move(e), terms(s)), s.fused);
}

Expected expected_in_delta(const Convolution& p) {
  const ConvolutionShape& s = p.shape;
  Expected e = zeros("in_delta", s.in_size());
  for_rows(s, [&](const Meeting& m) {
    const double w = double(p.weights.data()[m.weight]);
    const float* g = p.g() + m.out_row;
    for (size_t x = m.first; x < m.end; ++x)
      add(e, size_t(ptrdiff_t(m.in_row + x * s.stride) + m.shift), w * double(g[x]));
  });
  return scaled(std::move(e), s.outputs / s.groups * s.kernel * s.kernel);
}

Expected expected_weights_delta(const Convolution& p) {
  const ConvolutionShape& s = p.shape;
  Expected e = zeros("weights_delta", s.weights_size());
  for_rows(s, [&](const Meeting& m) {
    const float* g = p.g() + m.out_row;
    const float* in = p.in.data() + ptrdiff_t(m.in_row) + m.shift;
    for (size_t x = m.first; x < m.end; ++x)
      add(e, m.weight, double(g[x]) * double(in[x * s.stride]));
  });
  return scaled(std::move(e), s.batch * s.out_side() * s.out_side());
}

Expected expected_bias_delta(const Convolution& p) {
  const ConvolutionShape& s = p.shape;
  Expected e = zeros("bias_delta", s.outputs);
  const size_t plane = s.out_side() * s.out_side();
  for (size_t k = 0; k < p.out_delta.size(); ++k) add(e, k / plane % s.outputs, double(p.g()[k]));
  return scaled(std::move(e), s.batch * plane);
}

std::string name_of(const ConvolutionShape& s) {
  std::string name = "b";
  name.append(std::to_string(s.batch)).append(" ");
  if (s.groups > 1) {
    name.append("dw").append(std::to_string(s.groups));
  } else {
    name.append(std::to_string(s.inputs)).append("->").append(std::to_string(s.outputs));
  }
  const std::string side = std::to_string(s.side), kernel = std::to_string(s.kernel);
  name.append(" ").append(side).append("x").append(side);
  name.append(" ").append(kernel).append("x").append(kernel);
  if (s.stride > 1) name.append("s").append(std::to_string(s.stride));
  return name + suffix(s.fused);
}

}  // namespace

Convolution::Convolution(const ConvolutionShape& s)
    : shape(s),
      in(s.in_size()),
      weights(s.weights_size()),
      bias(s.outputs),
      out_delta(s.out_size()),
      out(s.fused == Fused::kNone ? 0 : s.out_size()),
      gradient(out.size()) {
  Random random(s.batch + 100 * s.inputs + s.outputs);
  random.fill(in, -1, 1);
  random.fill(weights, -1, 1);
  random.fill(bias, -1, 1);
  random.fill(out_delta, -1, 1);
  if (s.fused != Fused::kNone) fill_fused(s.fused, expected_out(*this), out_delta, out, gradient);
}

Row Convolution::row(const std::string& op) const {
  const double x = 4.0 * double(in.size()), y = 4.0 * double(out_delta.size());
  const double w = 4.0 * double(weights.size());
  const double flops = 2.0 * double(shape.out_size() * (terms(shape) - 1));
  const bool both = op == "fwd+bwd", backward = both || op == "bwd";
  Row row{.op = op, .working_set = x + y + w, .expected = {}};
  if (both || op == "fwd") {
    row.flops += flops, row.read_bytes += x + w, row.write_bytes += y;
    row.expected.push_back(expected_out(*this));
  }
  if (backward || op == "bwd_data") {
    row.flops += flops, row.read_bytes += y + w, row.write_bytes += x;
    row.expected.push_back(expected_in_delta(*this));
  }
  if (backward || op == "bwd_weights") {
    row.flops += flops, row.read_bytes += x + y, row.write_bytes += w;
    row.expected.push_back(expected_weights_delta(*this));
    row.expected.push_back(expected_bias_delta(*this));
  }
  if (both) row.working_set = 2 * (x + y + w);
  return row;
}

void append_convolution(std::vector<Workload>& list, bool quick) {
  const ConvolutionShape shapes[] = {
      {.batch = 32, .inputs = 1, .outputs = 32, .side = 28, .kernel = 3, .pad = 1},
      {.batch = 32, .inputs = 32, .outputs = 64, .side = 14, .kernel = 3, .pad = 1},
      {.batch = 8, .inputs = 64, .outputs = 64, .side = 56, .kernel = 3, .pad = 1},
      {.batch = 8, .inputs = 256, .outputs = 256, .side = 14, .kernel = 3, .pad = 1},
      {.batch = 8, .inputs = 256, .outputs = 64, .side = 56, .kernel = 1},
      {.batch = 8, .inputs = 128, .outputs = 128, .side = 28, .kernel = 3, .pad = 1, .groups = 128},
      {.batch = 4, .inputs = 3, .outputs = 64, .side = 224, .kernel = 7, .stride = 2, .pad = 3},
      {.batch = 1, .inputs = 8, .outputs = 8, .side = 16, .kernel = 3, .pad = 1},
  };
  const auto add = [&](const ConvolutionShape& s, std::vector<std::string> ops) {
    if (quick && s.out_size() * terms(s) > 20000000) return;
    list.push_back(
        {.family = "convolution", .name = name_of(s), .ops = std::move(ops), .make = [=] {
           return std::make_unique<Convolution>(s);
         }});
  };
  for (const ConvolutionShape& s : shapes) add(s, {"fwd", "bwd_data", "bwd_weights", "fwd+bwd"});
  // Layers of real networks, with the activation they have.
  ConvolutionShape fused[] = {
      {.batch = 64, .inputs = 16, .outputs = 32, .side = 14, .kernel = 3, .pad = 1},
      {.batch = 64, .inputs = 3, .outputs = 32, .side = 32, .kernel = 3, .pad = 1},
      {.batch = 64, .inputs = 1, .outputs = 16, .side = 28, .kernel = 3, .pad = 1},
      {.batch = 64, .inputs = 32, .outputs = 64, .side = 14, .kernel = 3, .pad = 1},
      {.batch = 2, .inputs = 1, .outputs = 16, .side = 28, .kernel = 3, .pad = 1},
  };
  for (ConvolutionShape& s : fused) {
    s.fused = Fused::kRelu;
    add(s, {"fwd", "bwd"});
  }
  for (const size_t k : {0, 4}) {
    fused[k].fused = Fused::kTanh;
    add(fused[k], {"fwd", "bwd"});
  }
}

}  // namespace bench
