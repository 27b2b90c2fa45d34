// Products of matrices that must not be made, and calls on them that must be refused.
#include <cmath>
#include <limits>

#include "support/matmul_call.h"

namespace bnns::test {
namespace {

constexpr auto kFloat = BNNSDataTypeFloat32;

TEST(BadMatMul, Parameters) {
  using C = TwoInputCreate<MatMulCall>;
  std::vector<Row<C>> rows = {
      {"no parameters", {"layer_params", "NULL"}, [](C& c) { c.params_pointer = nullptr; }},
      {"unknown flags", {"filter_params->flags", "2"}, [](C& c) { c.options.flags = 2; }},
      {"both weights",
       {"a_is_weights and b_is_weights", "input"},
       [](C& c) { c.params.a_is_weights = c.params.b_is_weights = true; }},
      {"quadratic weights",
       {"quadratic", "a_is_weights"},
       [](C& c) { c.params.quadratic = c.params.a_is_weights = true; }},
      {"quadratic weights",
       {"quadratic", "b_is_weights"},
       [](C& c) { c.params.quadratic = c.params.b_is_weights = true; }},
      {"weights A without data",
       {"iA_desc.data is NULL"},
       [](C& c) { c.params.a_is_weights = true; }},
      {"weights B without data",
       {"iB_desc.data is NULL"},
       [](C& c) { c.params.b_is_weights = true; }},
      {"weights misaligned", {"iB_desc.data is", "aligned to 4"}, [](C& c) {
         c.params.b_is_weights = true;
         c.params.iB_desc.data = reinterpret_cast<char*>(c.b.data()) + 1;
       }}};
  for (const float alpha : {NAN, std::numeric_limits<float>::infinity()})
    rows.push_back({"alpha", {"alpha is", "finite"}, [=](C& c) { c.params.alpha = alpha; }});
  for (const float beta : {NAN, 0.5f, -1.0f, 2.0f})
    rows.push_back({"beta", {"beta is", "0 or 1"}, [=](C& c) { c.params.beta = beta; }});
  using D = BNNSNDArrayDescriptor;
  append(rows, descriptor_rows<C>(
                   "iA_desc", 2, [](C& c) -> D& { return c.params.iA_desc; }, false));
  append(rows, descriptor_rows<C>(
                   "iB_desc", 2, [](C& c) -> D& { return c.params.iB_desc; }, false));
  append(rows, descriptor_rows<C>(
                   "o_desc", 2, [](C& c) -> D& { return c.params.o_desc; }, true));
  struct Field {
    const char* name;
    D BNNSLayerParametersBroadcastMatMul::*desc;
  };
  for (const Field f : {Field{"iA_desc", &BNNSLayerParametersBroadcastMatMul::iA_desc},
                        Field{"iB_desc", &BNNSLayerParametersBroadcastMatMul::iB_desc},
                        Field{"o_desc", &BNNSLayerParametersBroadcastMatMul::o_desc}}) {
    const std::string name = f.name;
    for (const auto type : {BNNSDataTypeInt8, BNNSDataTypeInt32, BNNSDataTypeBoolean}) {
      rows.push_back({"integers", {name + ".data_type", "floating-point"}, [=](C& c) {
                        (c.params.*f.desc).data_type = type;
                      }});
    }
    rows.push_back({"a vector", {name + ".layout is Vector", "two axes"}, [=](C& c) {
                      c.params.*f.desc = vector_of(2);
                    }});
    rows.push_back({"rotated", {name + ".layout", "rotated"}, [=](C& c) {
                      c.params.*f.desc = array(BNNSDataLayoutConvolutionWeightsOIHrWr, {1, 1, 2, 2},
                                               nullptr, kFloat);
                    }});
    rows.push_back({"sparse", {name + ".layout", "plain"}, [=](C& c) {
                      (c.params.*f.desc).layout = BNNSDataLayoutFullyConnectedSparse;
                    }});
  }
  expect_refused(rows);
}

TEST(BadMatMul, Shapes) {
  using C = TwoInputCreate<MatMulCall>;
  const auto first_major = [](std::initializer_list<size_t> size) {
    return array(static_cast<BNNSDataLayout>((size.size() << 16) | 0x8001), size, nullptr, kFloat);
  };
  expect_refused<C>({
      {"depth",
       {"RowMajorMatrix {3, 2}", "RowMajorMatrix {2, 2}", "3 columns", "2 rows"},
       [](C& c) { c.params.iA_desc.size[0] = 3; }},
      {"depth of a transposed operand",
       {"RowMajorMatrix {2, 3} (transposed)", "3 columns"},
       [](C& c) {
         c.params.transA = true;
         c.params.iA_desc.size[1] = 3;
       }},
      {"rows",
       {"o_desc is RowMajorMatrix {2, 3}", "2 rows and 2 columns"},
       [](C& c) { c.params.o_desc.size[1] = 3; }},
      {"columns",
       {"o_desc is RowMajorMatrix {1, 2}", "2 columns"},
       [](C& c) { c.params.o_desc.size[0] = 1; }},
      {"leading sizes",
       {"3DFirstMajor {3, 2, 2}", "3DFirstMajor {4, 2, 2}", "3 and 4", "broadcast"},
       [=](C& c) {
         c.params.iA_desc = first_major({3, 2, 2});
         c.params.iB_desc = first_major({4, 2, 2});
         c.params.o_desc = first_major({4, 2, 2});
       }},
      {"a leading size that o_desc lacks",
       {"o_desc is RowMajorMatrix {2, 2}", "3DFirstMajor {3, 2, 2}"},
       [=](C& c) {
         c.params.iA_desc = first_major({3, 2, 2});
       }},
      {"a leading size that only o_desc has",
       {"o_desc is 3DFirstMajor {3, 2, 2}"},
       [=](C& c) {
         c.params.o_desc = first_major({3, 2, 2});
       }},
      {"quadratic of a matrix that is not square",
       {"RowMajorMatrix {3, 2}", "itself", "3 columns"},
       [](C& c) {
         c.params.quadratic = true;
         c.params.iA_desc.size[0] = 3;
       }},
  });
}

TEST(BadMatMul, Forward) {
  using C = TwoInputForward<MatMulCall>;
  expect_refused<C>({
      {"inA", {"inA is NULL"}, [](C& c) { c.a_pointer = nullptr; }},
      {"inB", {"inB is NULL"}, [](C& c) { c.b_pointer = nullptr; }},
      {"out", {"out is NULL"}, [](C& c) { c.c_pointer = nullptr; }},
      {"inB misaligned",
       {"inB is", "aligned to 4"},
       [](C& c) { c.b_pointer = reinterpret_cast<char*>(c.b.data()) + 2; }},
      {"inA_stride", {"inA_stride is 3", "4"}, [](C& c) { c.a_stride = 3; }},
      {"inB_stride", {"inB_stride is 3", "4"}, [](C& c) { c.b_stride = 3; }},
      {"out_stride", {"out_stride is 3", "4"}, [](C& c) { c.c_stride = 3; }},
      {"batch overflows", {"batch_size"}, [](C& c) { c.batch = size_t{1} << 62; }},
      {"out is inA", {"out and inA overlap"}, [](C& c) { c.c_pointer = c.a.data(); }},
      {"out is inB", {"out and inB overlap"}, [](C& c) { c.c_pointer = c.b.data() + 1; }},
      {"one input", {"one input"}, [](C& c) { c.params.quadratic = true; }},
      {"weights",
       {"one input"},
       [](C& c) {
         c.params.b_is_weights = true;
         c.params.iB_desc.data = c.b.data();
       }},
  });
}

TEST(BadMatMul, Backward) {
  using C = TwoInputBackward<MatMulCall>;
  expect_refused<C>({
      {"inA", {"inA is NULL"}, [](C& c) { c.a_pointer = nullptr; }},
      {"inB", {"inB is NULL"}, [](C& c) { c.b_pointer = nullptr; }},
      {"out_delta", {"out_delta is NULL"}, [](C& c) { c.c_delta_pointer = nullptr; }},
      {"data of out_delta", {"out_delta.data is NULL"}, [](C& c) { c.c_delta.data = nullptr; }},
      {"weights", {"weights_delta", "no weights"}, [](C& c) { c.weights_delta = &c.a_delta; }},
      {"bias", {"bias_delta", "no bias"}, [](C& c) { c.bias_delta = &c.a_delta; }},
      {"flags",
       {"inA_delta.flags is 9"},
       [](C& c) { c.a_delta.flags = static_cast<BNNSNDArrayFlags>(9); }},
      {"another layout",
       {"inB_delta.layout is ColumnMajorMatrix", "equal"},
       [](C& c) { c.b_delta.layout = BNNSDataLayoutColumnMajorMatrix; }},
      {"other sizes", {"inA_delta", "iA_desc"}, [](C& c) { c.a_delta.size[0] = 3; }},
      {"sizes of out_delta", {"out_delta", "o_desc"}, [](C& c) { c.c_delta.size[1] = 1; }},
      {"Float16",
       {"inB_delta.data_type is Float16"},
       [](C& c) { c.b_delta.data_type = BNNSDataTypeFloat16; }},
      {"stride", {"inA_delta_stride is 2", "4"}, [](C& c) { c.a_delta_stride = 2; }},
      {"dA is A", {"inA_delta and inA overlap"}, [](C& c) { c.a_delta.data = c.a.data(); }},
      {"dA is dB", {"inA_delta and inB_delta overlap"}, [](C& c) { c.a_delta.data = c.db.data(); }},
      {"dB is dC", {"inB_delta and out_delta overlap"}, [](C& c) { c.b_delta.data = c.dc.data(); }},
      {"one input", {"one input"}, [](C& c) { c.params.quadratic = true; }},
  });
  // No gradient is wanted: nothing is done.
  C c;
  c.a_delta_pointer = c.b_delta_pointer = nullptr;
  EXPECT_TRUE(c.run());
  EXPECT_TRUE(c.da.untouched() && c.db.untouched());
}

TEST(BadMatMul, OneInput) {
  MatMulCall c;
  const Filter two = c.make();
  EXPECT_NE(BNNSFilterApplyBatch(two.get(), 2, c.a.data(), 5, c.c.data(), 5), 0);
  expect_reason(OpenBNNSGetLastError(), "BNNSFilterApplyBatch", {"matrix product", "two inputs"});
  c.params.b_is_weights = true;
  c.params.iB_desc.data = c.b.data();
  const Filter one = c.make();
  Guarded<float> dx{Space{10}}, dw{Space{4}}, dy{Space{10}};
  BNNSNDArrayDescriptor in_delta = matrix_of(2, 2, dx.data()), w_delta = matrix_of(2, 2, dw.data()),
                        out_delta = matrix_of(2, 2, dy.data());
  const auto backward = [&](const void* in, BNNSNDArrayDescriptor* x, BNNSNDArrayDescriptor* w,
                            BNNSNDArrayDescriptor* bias) {
    return BNNSFilterApplyBackwardBatch(one.get(), 2, in, 5, x, 5, nullptr, 0, &out_delta, 5, w,
                                        bias);
  };
  EXPECT_NE(backward(nullptr, &in_delta, &w_delta, nullptr), 0);  // in is needed for the weights
  expect_reason(OpenBNNSGetLastError(), "BNNSFilterApplyBackwardBatch", {"in is NULL"});
  EXPECT_NE(backward(c.a.data(), &in_delta, nullptr, &w_delta), 0);
  expect_reason(OpenBNNSGetLastError(), "BNNSFilterApplyBackwardBatch", {"bias_delta", "no bias"});
  w_delta.data = c.a.data();
  EXPECT_NE(backward(c.a.data(), &in_delta, &w_delta, nullptr), 0);
  expect_reason(OpenBNNSGetLastError(), "BNNSFilterApplyBackwardBatch", {"overlap"});
  EXPECT_TRUE(dx.untouched() && dw.untouched());
  EXPECT_EQ(backward(nullptr, nullptr, nullptr, nullptr), 0);

  // Client weights that the call would overwrite.
  c.options = client_pointers();
  const Filter shared = c.make();
  EXPECT_NE(BNNSFilterApplyBatch(shared.get(), 1, c.a.data(), 0, c.b.data(), 0), 0);
  expect_reason(OpenBNNSGetLastError(), "BNNSFilterApplyBatch", {"out and iB_desc.data overlap"});

  c.params.b_is_weights = false;
  c.params.quadratic = true;
  const Filter square = c.make();
  EXPECT_NE(BNNSFilterApplyBackwardBatch(square.get(), 1, c.a.data(), 0, nullptr, 0, nullptr, 0,
                                         &out_delta, 0, nullptr, nullptr),
            0);
  expect_reason(OpenBNNSGetLastError(), "BNNSFilterApplyBackwardBatch", {"in_delta is missing"});
}

// ---- Products without a filter ----

struct DirectCall : MatMulData {
  const char* function = "BNNSMatMul";
  BNNSNDArrayDescriptor A = matrix_of(2, 2, a.data()), B = matrix_of(2, 2, b.data());
  BNNSNDArrayDescriptor C = matrix_of(2, 2, c.data());
  const BNNSNDArrayDescriptor *pa = &A, *pb = &B, *pc = &C;
  float alpha = 1;
  bool run() { return BNNSMatMul(false, false, alpha, pa, pb, pc, nullptr, &options) == 0; }
  bool correct() const {
    constexpr float kRight[] = {19, 22, 43, 50};
    return std::equal(kRight, kRight + 4, c.data()) &&
           c.untouched_except([](size_t i) { return i < 4; });
  }
};

TEST(BadMatMul, Direct) {
  using C = DirectCall;
  const std::vector<Row<C>> rows = {
      {"inputA", {"inputA is NULL"}, [](C& c) { c.pa = nullptr; }},
      {"inputB", {"inputB is NULL"}, [](C& c) { c.pb = nullptr; }},
      {"output", {"output is NULL"}, [](C& c) { c.pc = nullptr; }},
      {"data of inputA", {"inputA->data is NULL"}, [](C& c) { c.A.data = nullptr; }},
      {"data of output", {"output->data is NULL"}, [](C& c) { c.C.data = nullptr; }},
      {"alpha", {"alpha is", "finite"}, [](C& c) { c.alpha = NAN; }},
      {"Int8", {"inputB.data_type is Int8"}, [](C& c) { c.B.data_type = BNNSDataTypeInt8; }},
      {"depth", {"inputA is", "inputB is", "3 rows"}, [](C& c) { c.B.size[1] = 3; }},
      {"flags", {"filter_params->flags"}, [](C& c) { c.options.flags = 4; }},
      {"overlap", {"output->data and inputA->data overlap"}, [](C& c) { c.C.data = c.a.data(); }},
  };
  expect_refused(rows);
  // The same without a status: nothing is written, the reason is there.
  for (const Row<C>& row : rows) {
    C c;
    row.damage(c);
    forget_reason();
    BNNSDirectApplyBroadcastMatMul(false, false, c.alpha, c.pa, c.pb, c.pc, &c.options);
    expect_reason(OpenBNNSGetLastError(), "BNNSDirectApplyBroadcastMatMul", row.words);
    EXPECT_TRUE(c.c.untouched());
  }
  // The size of a workspace ignores data, and is negative if shapes do not fit.
  C c;
  c.A.data = c.B.data = c.C.data = nullptr;
  EXPECT_GE(BNNSMatMulWorkspaceSize(false, false, 1, c.pa, c.pb, c.pc, nullptr), 0);
  c.B.size[1] = 3;
  EXPECT_LT(BNNSMatMulWorkspaceSize(false, false, 1, c.pa, c.pb, c.pc, nullptr), 0);
  expect_reason(OpenBNNSGetLastError(), "BNNSMatMulWorkspaceSize", {"inputA is", "3 rows"});
  EXPECT_LT(BNNSMatMulWorkspaceSize(false, false, 1, nullptr, c.pb, c.pc, nullptr), 0);
}

}  // namespace
}  // namespace bnns::test
