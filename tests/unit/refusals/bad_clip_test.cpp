// What clipping and the norms must refuse.
#include <cmath>
#include <limits>

#include "support/call_table.h"

namespace bnns::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNaN = std::nanf("");

// Rows (3, 4, 0) and (0, 6, 8), each brought to the norm 2.5, or clamped, or halved.
struct ClipCall : CallBase {
  Guarded<float> from{3, 4, 0, 0, 6, 8, 77, 77}, to{Space{8}};
  BNNSNDArrayDescriptor src = matrix_of(3, 2, from.data());
  BNNSNDArrayDescriptor dest = matrix_of(3, 2, to.data());
  BNNSNDArrayDescriptor* dest_pointer = &dest;
  const BNNSNDArrayDescriptor* src_pointer = &src;

  ClipCall() = default;
  ClipCall(const ClipCall&) = delete;
  template <class F>
  void for_outputs(const F& f) {
    f(from);
    f(to);
  }
  bool holds(std::initializer_list<float> expected) const {
    return from.untouched() && to.untouched_except([&](size_t i) { return i < expected.size(); }) &&
           std::equal(expected.begin(), expected.end(), to.data());
  }
};

struct ByValue : ClipCall {
  const char* function = "BNNSClipByValue";
  float low = 1, high = 5;
  bool run() { return BNNSClipByValue(dest_pointer, src_pointer, low, high) == 0; }
  bool correct() const { return holds({3, 4, 1, 1, 5, 5}); }
};

struct ByNorm : ClipCall {
  const char* function = "BNNSClipByNorm";
  float max_norm = 2.5f;
  uint32_t axis_flags = 2;
  bool run() { return BNNSClipByNorm(dest_pointer, src_pointer, max_norm, axis_flags) == 0; }
  bool correct() const { return holds({1.5f, 2, 0, 0, 1.5f, 2}); }
};

struct ByGlobalNorm : ClipCall {
  const char* function = "BNNSClipByGlobalNorm";
  Guarded<float> second{4};
  BNNSNDArrayDescriptor other = vector_of(1, second.data());
  float max_norm = 1, use_norm = 2;
  bool give_dest = true, give_src = true;

  template <class F>
  void for_outputs(const F& f) {
    ClipCall::for_outputs(f);
    f(second);
  }
  bool run() {
    BNNSNDArrayDescriptor* dests[] = {&other, dest_pointer};
    const BNNSNDArrayDescriptor* srcs[] = {&other, src_pointer};
    return BNNSClipByGlobalNorm(give_dest ? dests : nullptr, give_src ? srcs : nullptr, 2, max_norm,
                                use_norm) == 0;
  }
  bool correct() const { return second[0] == 2 && holds({1.5f, 2, 0, 0, 3, 4}); }
};

struct Norm : ClipCall {
  const char* function = "BNNSComputeNorm";
  BNNSNormType type = BNNSL2Norm;
  uint32_t axis_flags = 2;
  Norm() { dest = vector_of(2, to.data()); }
  bool run() { return BNNSComputeNorm(dest_pointer, src_pointer, type, axis_flags) == 0; }
  bool correct() const { return holds({5, 10}); }
};

struct NormBackward : CallBase {
  const char* function = "BNNSComputeNormBackward";
  Guarded<float> x{3, 4, 0, 0, 6, 8}, y{5, 10}, dy{10, 20}, dx{Space{8}};
  const void* in = x.data();
  const void* out = y.data();
  BNNSNDArrayDescriptor in_delta = matrix_of(3, 2, dx.data());
  BNNSNDArrayDescriptor out_delta = vector_of(2, dy.data());
  BNNSNDArrayDescriptor* in_delta_pointer = &in_delta;
  const BNNSNDArrayDescriptor* out_delta_pointer = &out_delta;
  BNNSNormType type = BNNSL2Norm;
  uint32_t axis_flags = 2;

  NormBackward() = default;
  NormBackward(const NormBackward&) = delete;
  template <class F>
  void for_outputs(const F& f) {
    f(x);
    f(y);
    f(dy);
    f(dx);
  }
  bool run() {
    return BNNSComputeNormBackward(in, in_delta_pointer, out, out_delta_pointer, type,
                                   axis_flags) == 0;
  }
  bool correct() const {
    constexpr float kExpected[] = {6, 8, 0, 0, 12, 16};
    return x.untouched() && y.untouched() && dy.untouched() &&
           dx.untouched_except([](size_t i) { return i < 6; }) &&
           std::equal(kExpected, kExpected + 6, dx.data());
  }
};

// `dest` and `src` are the names in the reason: those of several tensors carry a number.
template <class Call>
std::vector<Row<Call>> common_rows(const std::string& dest, const std::string& src, size_t rank) {
  auto rows = descriptor_rows<Call>(
      dest, rank, [](Call & c) -> auto& { return c.dest; }, true);
  append(rows, descriptor_rows<Call>(
                   src, 2, [](Call & c) -> auto& { return c.src; }, false));
  append(
      rows,
      {
          {"dest null", {dest, "NULL"}, [](Call& c) { c.dest_pointer = nullptr; }},
          {"src null", {src, "NULL"}, [](Call& c) { c.src_pointer = nullptr; }},
          {"dest without data", {dest + ".data", "NULL"}, [](Call& c) { c.dest.data = nullptr; }},
          {"src without data", {src + ".data", "NULL"}, [](Call& c) { c.src.data = nullptr; }},
          {"partial overlap",
           {dest, src, "overlap"},
           [](Call& c) { c.dest.data = c.from.data() + 1; }},
          {"src over dest", {dest, src, "overlap"}, [](Call& c) { c.src.data = c.to.data() + 1; }},
          {"integers",
           {dest + ".data_type", "Int32", "Float32, Float16 or BFloat16"},
           [](Call& c) { c.dest.data_type = c.src.data_type = BNNSDataTypeInt32; }},
          {"another type",
           {dest + ".data_type", "Float16", src + ".data_type", "Float32", "equal"},
           [](Call& c) { c.dest.data_type = BNNSDataTypeFloat16; }},
          {"sparse src",
           {src + ".layout", "FullyConnectedSparse", "plain"},
           [](Call& c) { c.src.layout = BNNSDataLayoutFullyConnectedSparse; }},
          {"packed dest",
           {dest + ".layout", "Pack32", "plain"},
           [](Call& c) {
             c.dest = array(BNNSDataLayoutConvolutionWeightsOIHW_Pack32, {1, 1, 1, 1}, c.to.data());
           }},
      });
  for (const size_t offset : {1, 2, 3}) {
    rows.push_back({"dest misaligned", {dest + ".data", "aligned to 4"}, [=](Call& c) {
                      c.dest.data = reinterpret_cast<char*>(c.to.data()) + offset;
                      c.expect_pointer(c.dest.data);
                    }});
    rows.push_back({"src misaligned", {src + ".data", "aligned to 4"}, [=](Call& c) {
                      c.src.data = reinterpret_cast<char*>(c.from.data()) + offset;
                      c.expect_pointer(c.src.data);
                    }});
  }
  return rows;
}

template <class Call>
std::vector<Row<Call>> clip_rows(const std::string& dest, const std::string& src) {
  auto rows = common_rows<Call>(dest, src, 2);
  append(rows,
         {
             {"another rank",
              {dest, "Vector {6}", src, "{3, 2}", "logical shape"},
              [](Call& c) { c.dest = vector_of(6, c.to.data()); }},
             {"transposed",
              {dest, "{3, 2}", src, "logical shape"},
              [](Call& c) { c.dest.layout = BNNSDataLayoutColumnMajorMatrix; }},
             {"in place with other strides",
              {dest, src, "overlap"},
              [](Call& c) {
                c.dest.data = c.from.data();
                c.dest.stride[1] = 4;
              }},
             {"rotated and not",
              {dest, src, "rotated"},
              [](Call& c) {
                c.dest = array(BNNSDataLayoutConvolutionWeightsOIHrWr, {3, 2, 1, 1}, c.to.data());
                c.src = array(BNNSDataLayoutConvolutionWeightsOIHW, {3, 2, 1, 1}, c.from.data());
              }},
         });
  return rows;
}

template <class Call>
std::vector<Row<Call>> scalar_rows(const std::string& name, float Call::*field) {
  std::vector<Row<Call>> rows;
  for (const float bad : {kNaN, kInf, -kInf})
    rows.push_back({name, {name, std::isnan(bad) ? "nan" : "inf", "finite"}, [=](Call& c) {
                      c.*field = bad;
                    }});
  return rows;
}

template <class Call>
std::vector<Row<Call>> axis_rows() {
  std::vector<Row<Call>> rows;
  for (const uint32_t flags : {4u, 6u, 256u, 0x80000000u, UINT32_MAX})
    rows.push_back({"axis_flags", {"axis_flags", std::to_string(flags), "2 axes"}, [=](Call& c) {
                      c.axis_flags = flags;
                    }});
  return rows;
}

template <class Call>
std::vector<Row<Call>> type_rows() {
  auto rows = enum_rows<Call>("norm_type", BNNSL2Norm,
                              [](Call& c, uint32_t v) { c.type = static_cast<BNNSNormType>(v); });
  rows.push_back({"norm_type zero", {"norm_type", "is 0", "BNNSL2Norm"}, [](Call& c) {
                    c.type = static_cast<BNNSNormType>(0);
                  }});
  return rows;
}

TEST(BadClip, ByValue) {
  auto rows = clip_rows<ByValue>("dest", "src");
  append(rows, scalar_rows("min_val", &ByValue::low));
  append(rows, scalar_rows("max_val", &ByValue::high));
  rows.push_back(
      {"low above high", {"min_val", "is 6", "max_val", "is 5"}, [](ByValue& c) { c.low = 6; }});
  expect_refused(rows);
}

TEST(BadClip, ByNorm) {
  auto rows = clip_rows<ByNorm>("dest", "src");
  append(rows, scalar_rows("max_norm", &ByNorm::max_norm));
  append(rows, axis_rows<ByNorm>());
  rows.push_back(
      {"negative", {"max_norm", "is -1", "negative"}, [](ByNorm& c) { c.max_norm = -1; }});
  expect_refused(rows);
}

TEST(BadClip, ByGlobalNorm) {
  auto rows = clip_rows<ByGlobalNorm>("dest[1]", "src[1]");
  append(rows, scalar_rows("max_norm", &ByGlobalNorm::max_norm));
  append(rows, scalar_rows("use_norm", &ByGlobalNorm::use_norm));
  append(
      rows,
      {
          {"negative", {"max_norm", "is -1", "negative"}, [](ByGlobalNorm& c) { c.max_norm = -1; }},
          {"negative norm",
           {"use_norm", "is -2", "negative"},
           [](ByGlobalNorm& c) { c.use_norm = -2; }},
          {"no dest", {"dest is NULL"}, [](ByGlobalNorm& c) { c.give_dest = false; }},
          {"no src", {"src is NULL"}, [](ByGlobalNorm& c) { c.give_src = false; }},
      });
  expect_refused(rows);
}

TEST(BadClip, ComputeNorm) {
  auto rows = common_rows<Norm>("dest", "src", 1);
  append(rows, axis_rows<Norm>());
  append(rows, type_rows<Norm>());
  append(
      rows,
      {
          {"in place",
           {"dest.data", "src.data", "overlap"},
           [](Norm& c) { c.dest.data = c.from.data(); }},
          {"one too many",
           {"dest", "Vector {3}", "src", "{3, 2}", "sizes are {2}"},
           [](Norm& c) { c.dest.size[0] = 3; }},
          {"all axes", {"dest", "Vector {2}", "sizes are {1}"}, [](Norm& c) { c.axis_flags = 0; }},
          {"gaps in another shape",
           {"dest", "sizes are {2}"},
           [](Norm& c) {
             c.dest = matrix_of(1, 2, c.to.data());
             c.dest.stride[1] = 2;
           }},
      });
  expect_refused(rows);
}

TEST(BadClip, ComputeNormBackward) {
  using Call = NormBackward;
  auto rows = descriptor_rows<Call>(
      "in_delta", 2, [](Call & c) -> auto& { return c.in_delta; }, true);
  append(rows, descriptor_rows<Call>(
                   "out_delta", 1, [](Call & c) -> auto& { return c.out_delta; }, false));
  append(rows, axis_rows<Call>());
  append(rows, type_rows<Call>());
  append(rows, enum_rows<Call>("in_delta.flags", BNNSNDArrayFlagBackpropAccumulate,
                               [](Call& c, uint32_t v) {
                                 c.in_delta.flags = static_cast<BNNSNDArrayFlags>(v);
                               }));
  append(
      rows,
      {
          {"in_delta null", {"in_delta is NULL"}, [](Call& c) { c.in_delta_pointer = nullptr; }},
          {"out_delta null", {"out_delta is NULL"}, [](Call& c) { c.out_delta_pointer = nullptr; }},
          {"out_delta without data",
           {"out_delta.data", "NULL"},
           [](Call& c) { c.out_delta.data = nullptr; }},
          {"in null", {"in is NULL"}, [](Call& c) { c.in = nullptr; }},
          {"out null", {"out is NULL"}, [](Call& c) { c.out = nullptr; }},
          {"in misaligned",
           {"in is", "aligned to 4"},
           [](Call& c) { c.in = reinterpret_cast<const char*>(c.x.data()) + 2; }},
          {"out misaligned",
           {"out is", "aligned to 4"},
           [](Call& c) { c.out = reinterpret_cast<const char*>(c.y.data()) + 1; }},
          {"over in", {"in_delta.data", "in overlap"}, [](Call& c) { c.in = c.dx.data(); }},
          {"over out", {"in_delta.data", "out overlap"}, [](Call& c) { c.out = c.dx.data() + 4; }},
          {"over out_delta",
           {"in_delta.data", "out_delta.data", "overlap"},
           [](Call& c) { c.out_delta.data = c.dx.data() + 4; }},
          {"other counts",
           {"out_delta", "Vector {3}", "in_delta", "sizes are {2}"},
           [](Call& c) { c.out_delta.size[0] = 3; }},
          {"other type",
           {"in_delta.data_type", "out_delta.data_type", "equal"},
           [](Call& c) { c.out_delta.data_type = BNNSDataTypeBFloat16; }},
          {"integers",
           {"in_delta.data_type", "Int32", "Float32"},
           [](Call& c) { c.in_delta.data_type = BNNSDataTypeInt32; }},
      });
  expect_refused(rows);
}

}  // namespace
}  // namespace bnns::test
