// Loss filters that must not be made, and calls on them that must be refused.
#include <cmath>
#include <limits>

#include "support/loss_call.h"

namespace bnns::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

class PrintCount : public testing::Environment {
 public:
  void TearDown() override { std::printf("bad inputs covered: %d\n", refused_inputs.load()); }
};
[[maybe_unused]] const auto* const print_count = testing::AddGlobalTestEnvironment(new PrintCount);

TEST(BadLoss, Function) {
  std::vector<Row<LossCreate>> rows = {
      {"no parameters",
       {"layer_params", "NULL"},
       [](LossCreate& c) { c.params_pointer = nullptr; }},
      {"unknown flags", {"filter_params->flags", "2"}, [](LossCreate& c) { c.options.flags = 2; }}};
  for (const uint32_t value : {0u, 11u, UINT32_MAX, uint32_t{INT32_MAX}}) {
    rows.push_back(
        {"function " + std::to_string(value),
         {"function is " + std::to_string(value), "BNNSLossFunction"},
         [=](LossCreate& c) { c.params.function = static_cast<BNNSLossFunction>(value); }});
  }
  append(rows, enum_rows<LossCreate>(
                   "reduction", BNNSLossReductionNonZeroWeightMean, [](LossCreate& c, uint32_t v) {
                     c.params.reduction = static_cast<BNNSLossReductionFunction>(v);
                   }));
  expect_refused(rows);
}

TEST(BadLoss, Descriptors) {
  const auto in = [](LossCreate& c) -> BNNSNDArrayDescriptor& { return c.params.i_desc; };
  const auto out = [](LossCreate& c) -> BNNSNDArrayDescriptor& { return c.params.o_desc; };
  std::vector<Row<LossCreate>> rows = descriptor_rows<LossCreate>("i_desc", 1, in, false);
  for (Row<LossCreate> row : descriptor_rows<LossCreate>("o_desc", 1, out, true)) {
    const auto damage = row.damage;
    row.damage = [=](LossCreate& c) {
      c.params.reduction = BNNSLossReductionNone;
      c.params.o_desc.size[0] = 3;
      damage(c);
    };
    rows.push_back(row);
  }
  for (const auto type : {BNNSDataTypeFloat16, BNNSDataTypeBFloat16, BNNSDataTypeInt32,
                          BNNSDataTypeInt8, BNNSDataTypeBoolean}) {
    rows.push_back({"i_desc type", {"i_desc.data_type", "Float32"}, [=](LossCreate& c) {
                      c.params.i_desc.data_type = type;
                    }});
    rows.push_back({"o_desc type", {"o_desc.data_type", "Float32"}, [=](LossCreate& c) {
                      c.params.o_desc.data_type = type;
                    }});
  }
  for (uint32_t r = BNNSLossReductionSum; r <= BNNSLossReductionNonZeroWeightMean; ++r) {
    rows.push_back(
        {"two values of a reduced loss", {"o_desc", "{2}", "one value"}, [=](LossCreate& c) {
           c.params.reduction = static_cast<BNNSLossReductionFunction>(r);
           c.params.o_desc.size[0] = 2;
         }});
  }
  expect_refused(rows);
}

TEST(BadLoss, Scalars) {
  std::vector<Row<LossCreate>> rows;
  for (const auto function :
       {BNNSLossFunctionSoftmaxCrossEntropy, BNNSLossFunctionSigmoidCrossEntropy}) {
    for (const float smooth : {-0.01f, 1.01f, kNaN, kInf, -kInf}) {
      rows.push_back({"label_smooth", {"label_smooth", "between 0 and 1"}, [=](LossCreate& c) {
                        c.params.function = function;
                        c.params.huber_delta = smooth;
                      }});
    }
  }
  for (const auto function : {BNNSLossFunctionHuber, BNNSLossFunctionYolo}) {
    for (const float delta : {-1.0f, kNaN, kInf}) {
      rows.push_back({"huber_delta", {"huber_delta"}, [=](LossCreate& c) {
                        if (function == BNNSLossFunctionYolo) c.make_yolo();
                        c.params.function = function;
                        c.params.huber_delta = delta;
                      }});
    }
  }
  rows.push_back({"huber_delta 0", {"huber_delta is 0", "above 0"}, [](LossCreate& c) {
                    c.params.function = BNNSLossFunctionHuber;
                  }});
  expect_refused(rows);
}

TEST(BadLoss, Yolo) {
  std::vector<Row<LossCreate>> rows;
  const auto add = [&](const char* name, const std::vector<std::string>& words,
                       const std::function<void(LossCreate&)>& damage) {
    rows.push_back({name, words, [=](LossCreate& c) {
                      c.make_yolo();
                      damage(c);
                    }});
  };
  for (const uint32_t reduction : {0u, 2u, 3u, 4u}) {
    add("reduction", {"reduction is " + std::to_string(reduction), "Sum"}, [=](LossCreate& c) {
      c.params.reduction = static_cast<BNNSLossReductionFunction>(reduction);
    });
  }
  add("columns", {"number_of_grid_columns is 0"},
      [](LossCreate& c) { c.params.number_of_grid_columns = 0; });
  add("rows", {"number_of_grid_rows is 0"},
      [](LossCreate& c) { c.params.number_of_grid_rows = 0; });
  add("anchors", {"number_of_anchor_boxes is 0"},
      [](LossCreate& c) { c.params.number_of_anchor_boxes = 0; });
  add("box", {"anchor_box_size is 4"}, [](LossCreate& c) { c.params.anchor_box_size = 4; });
  add("count", {"i_desc has 5", "is 10", "equal"},
      [](LossCreate& c) { c.params.number_of_anchor_boxes = 2; });
  add("overflow", {"overflow"}, [](LossCreate& c) {
    c.params.number_of_grid_columns = c.params.number_of_grid_rows = size_t{1} << 33;
  });
  add("strided", {"i_desc", "contiguous"}, [](LossCreate& c) { c.params.i_desc.stride[0] = 2; });
  add("no anchors", {"anchors_data", "NULL"},
      [](LossCreate& c) { c.params.anchors_data = nullptr; });
  for (const float size : {0.0f, -1.0f, kNaN, kInf})
    add("anchor size", {"anchors_data[1]"}, [=](LossCreate& c) { c.anchors[1] = size; });
  struct Scalar {
    const char* name;
    float LossParameters::*field;
  };
  for (const Scalar& scalar :
       {Scalar{"scale_xy", &LossParameters::scale_xy},
        Scalar{"scale_wh", &LossParameters::scale_wh},
        Scalar{"scale_object", &LossParameters::scale_object},
        Scalar{"scale_no_object", &LossParameters::scale_no_object},
        Scalar{"scale_classification", &LossParameters::scale_classification},
        Scalar{"object_minimum_iou", &LossParameters::object_minimum_iou},
        Scalar{"no_object_maximum_iou", &LossParameters::no_object_maximum_iou}}) {
    for (const float bad : {kNaN, kInf})
      add(scalar.name, {scalar.name, "finite"},
          [=](LossCreate& c) { c.params.*scalar.field = bad; });
  }
  expect_refused(rows);
  expect_refused<LossForward>({{"weights", {"weights_size is 1", "YOLO"}, [](LossForward& c) {
                                  c.make_yolo();
                                  c.weights_size = 1;
                                }}});
}

// What both calls refuse.
template <class Call>
std::vector<Row<Call>> common_rows() {
  std::vector<Row<Call>> rows = {
      {"in null", {"in is NULL"}, [](Call& c) { c.in_pointer = nullptr; }},
      {"labels null", {"labels is NULL"}, [](Call& c) { c.labels_pointer = nullptr; }},
      {"weights null", {"weights is NULL"}, [](Call& c) { c.weights_pointer = nullptr; }},
      {"in_delta over in",
       {"in_delta", "in overlap"},
       [](Call& c) { c.in_delta.data = c.in.data() + 1; }},
      {"in_delta is in",
       {"in_delta", "in overlap"},
       [](Call& c) { c.in_delta.data = c.in.data(); }},
      {"in_delta over labels",
       {"in_delta", "labels overlap"},
       [](Call& c) { c.in_delta.data = c.labels.data() + 3; }},
      {"in_delta over weights",
       {"in_delta", "weights overlap"},
       [](Call& c) {
         c.batch = 1;
         c.in_delta.data = c.weights.data();
       }},
      {"in_delta of another size",
       {"in_delta", "{2}", "{3}"},
       [](Call& c) { c.in_delta.size[0] = 2; }},
  };
  for (const size_t size : {size_t{3}, size_t{5}, size_t{7}, SIZE_MAX}) {
    rows.push_back({"weights_size",
                    {"weights_size is " + std::to_string(size), "(2)", "(6)"},
                    [=](Call& c) { c.weights_size = size; }});
  }
  for (const size_t offset : {1, 2, 3}) {
    const auto pointer = [&](const char* name, const void* Call::*field) {
      rows.push_back({name, {std::string(name) + " is", "aligned to 4"}, [=](Call& c) {
                        c.*field = static_cast<const char*>(c.*field) + offset;
                        c.expect_pointer(c.*field);
                      }});
    };
    pointer("in", &Call::in_pointer);
    pointer("labels", &Call::labels_pointer);
    pointer("weights", &Call::weights_pointer);
    rows.push_back({"in_delta", {"in_delta.data is", "aligned to 4"}, [=](Call& c) {
                      c.in_delta.data = reinterpret_cast<char*>(c.dx.data()) + offset;
                    }});
  }
  const auto stride = [&](const char* name, size_t Call::*field) {
    for (const size_t value : {size_t{1}, size_t{2}}) {
      rows.push_back({name,
                      {std::string(name) + " is " + std::to_string(value), "spans 3"},
                      [=](Call& c) { c.*field = value; }});
    }
    rows.push_back({name, {name, "address space"}, [=](Call& c) { c.*field = SIZE_MAX / 2; }});
  };
  stride("in_stride", &Call::in_stride);
  stride("labels_stride", &Call::labels_stride);
  stride("in_delta_stride", &Call::delta_stride);
  rows.push_back({"batch_size", {"batch_size"}, [](Call& c) { c.batch = SIZE_MAX; }});
  for (const auto type : {BNNSDataTypeFloat16, BNNSDataTypeInt32}) {
    rows.push_back({"in_delta type", {"in_delta.data_type", "Float32"}, [=](Call& c) {
                      c.in_delta.data_type = type;
                    }});
  }
  append(rows, enum_rows<Call>("in_delta.flags", BNNSNDArrayFlagBackpropAccumulate,
                               [](Call& c, uint32_t v) {
                                 c.in_delta.flags = static_cast<BNNSNDArrayFlags>(v);
                               }));
  return rows;
}

TEST(BadLoss, Forward) {
  auto rows = common_rows<LossForward>();
  append(rows,
         {
             {"out null", {"out is NULL"}, [](LossForward& c) { c.out_pointer = nullptr; }},
             {"out misaligned",
              {"out is", "aligned to 4"},
              [](LossForward& c) { c.out_pointer = reinterpret_cast<char*>(c.out.data()) + 1; }},
             {"out in in",
              {"out and in overlap"},
              [](LossForward& c) { c.out_pointer = c.in.data() + 2; }},
             {"out in labels",
              {"out and labels overlap"},
              [](LossForward& c) { c.out_pointer = c.labels.data(); }},
             {"out in weights",
              {"out and weights overlap"},
              [](LossForward& c) { c.out_pointer = c.weights.data(); }},
             {"out in in_delta",
              {"out and in_delta overlap"},
              [](LossForward& c) { c.out_pointer = c.dx.data() + 7; }},
             {"last entry in in_delta",
              {"out and in_delta overlap"},
              [](LossForward& c) {
                c.params.reduction = BNNSLossReductionNone;
                c.in_delta.data = c.out.data() + 5;
              }},
         });
  expect_refused(rows);
}

TEST(BadLoss, Backward) {
  auto rows = common_rows<LossBackward>();
  append(rows,
         {
             {"in_delta null",
              {"in_delta is NULL"},
              [](LossBackward& c) { c.in_delta_pointer = nullptr; }},
             {"out_delta null",
              {"out_delta is NULL"},
              [](LossBackward& c) { c.out_delta_pointer = nullptr; }},
             {"out_delta without data",
              {"out_delta.data is NULL"},
              [](LossBackward& c) { c.out_delta.data = nullptr; }},
             {"out_delta misaligned",
              {"out_delta.data is", "aligned to 4"},
              [](LossBackward& c) { c.out_delta.data = reinterpret_cast<char*>(c.dy.data()) + 2; }},
             {"out_delta type",
              {"out_delta.data_type", "Float32"},
              [](LossBackward& c) { c.out_delta.data_type = BNNSDataTypeFloat16; }},
             {"two upstream values",
              {"out_delta", "{2}", "one value"},
              [](LossBackward& c) { c.out_delta.size[0] = 2; }},
             {"in_delta over out_delta",
              {"in_delta", "out_delta overlap"},
              [](LossBackward& c) { c.out_delta.data = c.dx.data() + 7; }},
             {"unreduced, of another size",
              {"out_delta", "{2}", "{3}"},
              [](LossBackward& c) {
                c.params.reduction = BNNSLossReductionNone;
                c.out_delta.size[0] = 2;
              }},
             {"unreduced, stride",
              {"out_delta_stride is 2", "spans 3"},
              [](LossBackward& c) {
                c.params.reduction = BNNSLossReductionNone;
                c.out_delta.size[0] = 3;
                c.out_delta_stride = 2;
              }},
             {"unreduced, per sample",
              {"out_delta", "{3}", "one value per sample"},
              [](LossBackward& c) {
                c.params.function = BNNSLossFunctionCosineDistance;
                c.params.reduction = BNNSLossReductionNone;
                c.out_delta.size[0] = 3;
              }},
         });
  expect_refused(rows);
}

TEST(BadLoss, WrongKindOfCall) {
  LossForward call;
  const Filter loss = call.make();
  float x[4] = {1, 2, 3, 4}, y[4] = {5, 6, 7, 8};
  const auto refused = [&](int status, const char* function) {
    EXPECT_EQ(status, -1);
    expect_reason(OpenBNNSGetLastError(), function, {"a loss filter", "does not accept"});
    ++refused_inputs;
  };
  refused(BNNSFilterApply(loss.get(), x, y), "BNNSFilterApply");
  refused(BNNSFilterApplyBatch(loss.get(), 1, x, 0, y, 0), "BNNSFilterApplyBatch");
  BNNSNDArrayDescriptor dx = vector_of(3, y), dy = vector_of(1, x);
  refused(BNNSFilterApplyBackwardBatch(loss.get(), 1, x, 0, &dx, 0, x, 0, &dy, 0, nullptr, nullptr),
          "BNNSFilterApplyBackwardBatch");
  EXPECT_EQ(y[0], 5);
  const Filter other = make_activation(vector_of(3), vector_of(3),
                                       activation(BNNSActivationFunctionRectifiedLinear));
  EXPECT_EQ(call.forward(other), -1);
  expect_reason(OpenBNNSGetLastError(), "BNNSLossFilterApplyBatch", {"an activation filter"});
  EXPECT_EQ(call.forward(Filter()), -1);
  expect_reason(OpenBNNSGetLastError(), "BNNSLossFilterApplyBatch", {"filter is NULL"});
}

// Nothing to do, and what looks wrong but is not.
TEST(BadLoss, UnusualButRight) {
  LossForward nothing;
  nothing.batch = 0;
  nothing.in_pointer = nullptr;
  EXPECT_TRUE(nothing.run()) << OpenBNNSGetLastError();
  EXPECT_TRUE(nothing.out.untouched() && nothing.dx.untouched());
  LossBackward not_wanted;
  not_wanted.in_delta.data = nullptr;
  EXPECT_TRUE(not_wanted.run()) << OpenBNNSGetLastError();
  expect_accepted<LossForward>({{"NaN where the function has no smoothing",
                                 {},
                                 [](LossForward& c) { c.params.huber_delta = kNaN; }},
                                {"two weights, one per sample", {}, [](LossForward& c) {
                                   c.weights_size = 2;
                                   c.weights[1] = 0.5f;
                                   c.weights.remember();
                                 }}});
  expect_accepted<LossBackward>({{"out_delta_stride of a reduced loss", {}, [](LossBackward& c) {
                                    c.out_delta_stride = 1000000;
                                  }}});
}

}  // namespace
}  // namespace bnns::test
