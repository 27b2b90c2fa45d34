// What arrives with a forward call: null and misaligned pointers, input and output that overlap,
// batch strides that make samples overlap, batches larger than an address space.
#include "support/call_activation.h"
#include "support/call_fully_connected.h"

namespace bnns::test {
namespace {

template <class Call>
std::vector<Row<Call>> pointer_rows() {
  std::vector<Row<Call>> rows = {
      {"in null", {"in is NULL"}, [](Call& c) { c.in_pointer = nullptr; }},
      {"out null", {"out is NULL"}, [](Call& c) { c.out_pointer = nullptr; }},
      {"out is in, shifted by one value",
       {"in", "out", "overlap"},
       [](Call& c) { c.out_pointer = c.in.data() + 1; }},
      {"in behind out by one value",
       {"in", "out", "overlap"},
       [](Call& c) { c.in_pointer = c.out.data() + 1; }},
      {"out starts at the last value of in",
       {"in", "out", "overlap"},
       [](Call& c) {
         c.in_stride = c.out_stride = 0;
         c.batch = 1;
         const size_t last = c.params.i_desc.layout == BNNSDataLayoutVector ? 2 : 11;
         c.out_pointer = c.in.data() + last;
       }},
  };
  for (const size_t offset : {1, 2, 3}) {
    rows.push_back(
        {"in misaligned by " + std::to_string(offset), {"in is", "aligned to 4"}, [=](Call& c) {
           c.in_pointer = reinterpret_cast<char*>(c.in.data()) + offset;
           c.expect_pointer(c.in_pointer);
         }});
    rows.push_back(
        {"out misaligned by " + std::to_string(offset), {"out is", "aligned to 4"}, [=](Call& c) {
           c.out_pointer = reinterpret_cast<char*>(c.out.data()) + offset;
           c.expect_pointer(c.out_pointer);
         }});
  }
  return rows;
}

template <class Call>
std::vector<Row<Call>> batch_rows(size_t in_span, size_t out_span) {
  std::vector<Row<Call>> rows;
  const auto stride = [&](const char* name, size_t Call::*field, size_t span, size_t value) {
    rows.push_back({std::string(name) + "=" + std::to_string(value),
                    {name, "is " + std::to_string(value), std::to_string(span), "overlap"},
                    [=](Call& c) { c.*field = value; }});
  };
  stride("in_stride", &Call::in_stride, in_span, 1);
  stride("in_stride", &Call::in_stride, in_span, in_span - 1);
  stride("out_stride", &Call::out_stride, out_span, 1);
  stride("out_stride", &Call::out_stride, out_span, out_span - 1);
  for (const size_t huge : {SIZE_MAX, size_t{1} << 63, size_t{1} << 60}) {
    const std::string text = std::to_string(huge);
    rows.push_back({"in_stride=" + text, {"in_stride", text, "address space"}, [=](Call& c) {
                      c.in_stride = huge;
                      c.batch = 3;
                    }});
    rows.push_back({"out_stride=" + text, {"out_stride", text, "address space"}, [=](Call& c) {
                      c.out_stride = huge;
                      c.batch = 3;
                    }});
    rows.push_back({"batch_size=" + text, {"batch_size", text, "address space"}, [=](Call& c) {
                      c.batch = huge;
                    }});
    rows.push_back(
        {"packed batch_size=" + text, {"batch_size", text, "address space"}, [=](Call& c) {
           c.batch = huge;
           c.in_stride = c.out_stride = 0;
         }});
  }
  return rows;
}

TEST(BadPointer, Activation) {
  expect_refused(pointer_rows<ActivationApply>());
  expect_refused(batch_rows<ActivationApply>(12, 12));
}

TEST(BadPointer, FullyConnected) {
  auto rows = pointer_rows<FullyConnectedApply>();
  rows.push_back({"in place", {"in", "out", "overlap"}, [](FullyConnectedApply& c) {
                    c.out_pointer = c.in.data();
                  }});
  expect_refused(rows);
  expect_refused(batch_rows<FullyConnectedApply>(3, 2));
}

// In place is right only if input and output are the same elements.
TEST(BadPointer, ActivationInPlace) {
  using Call = ActivationApply;
  expect_refused<Call>({
      {"in place with another batch stride",
       {"in", "out", "overlap"},
       [](Call& c) {
         c.out_pointer = c.in.data();
         c.out_stride = 13;
       }},
      {"in place with other strides",
       {"in", "out", "overlap"},
       [](Call& c) {
         c.params.o_desc.stride[1] = 4;
         c.out_pointer = c.in.data();
         c.batch = 1;
       }},
      {"in place with a narrower type",
       {"in", "out", "overlap"},
       [](Call& c) {
         c.params.o_desc.data_type = BNNSDataTypeFloat16;
         c.out_pointer = c.in.data();
       }},
  });
  for (const size_t stride : {size_t{0}, size_t{15}}) {
    Call call;
    call.in_stride = call.out_stride = stride;
    call.out_pointer = call.in.data();
    const size_t step = stride == 0 ? 12 : stride;
    std::vector<float> before(call.in.data(), call.in.data() + 30);
    ASSERT_TRUE(call.run()) << OpenBNNSGetLastError();
    for (size_t i = 0; i < 12 + step; ++i) {
      const bool element = i % step < 12;
      const float x = before[i];
      EXPECT_EQ(call.in[i], element && x < 0 ? 0.5f * x : x) << i;
    }
  }
}

TEST(BadPointer, HalfPrecisionAlignment) {
  using Call = ActivationApply;
  expect_refused<Call>({
      {"half input misaligned by 1",
       {"in is", "aligned to 2"},
       [](Call& c) {
         c.params.i_desc.data_type = BNNSDataTypeFloat16;
         c.in_pointer = reinterpret_cast<char*>(c.in.data()) + 1;
       }},
      {"bfloat output misaligned by 1",
       {"out is", "aligned to 2"},
       [](Call& c) {
         c.params.o_desc.data_type = BNNSDataTypeBFloat16;
         c.out_pointer = reinterpret_cast<char*>(c.out.data()) + 1;
       }},
      {"Int64 output misaligned by 4",
       {"out is", "aligned to 8"},
       [](Call& c) {
         c.params.o_desc.data_type = BNNSDataTypeInt64;
         c.out_pointer = c.out.data() + 1;
         c.batch = 1;
       }},
  });
}

// The call for one sample has its own name in the reason.
struct ApplyOne : ActivationCall {
  const char* function = "BNNSFilterApply";
  bool run() {
    const Filter filter = make();
    return BNNSFilterApply(filter.get(), in_pointer, out_pointer) == 0;
  }
  bool correct() const {
    bool right = out.untouched_except([](size_t i) { return i < kCount; });
    for (size_t i = 0; i < kCount; ++i) right &= out[i] == (in[i] < 0 ? kSlope * in[i] : in[i]);
    return right;
  }
};

TEST(BadPointer, OneSample) {
  expect_refused(pointer_rows<ApplyOne>());
}

TEST(BadPointer, WhatMustWork) {
  // Strides of a batch of one are not read.
  for (const size_t stride : {size_t{0}, size_t{1}, SIZE_MAX}) {
    ActivationApply call;
    call.batch = 1;
    call.in_stride = call.out_stride = stride;
    EXPECT_TRUE(call.run()) << OpenBNNSGetLastError();
    FullyConnectedApply dense;
    dense.batch = 1;
    dense.in_stride = dense.out_stride = stride;
    EXPECT_TRUE(dense.run()) << OpenBNNSGetLastError();
    EXPECT_EQ(dense.out[0], 6.5f);
    EXPECT_EQ(dense.out[1], 14);
  }
}

// A batch of none does nothing, whatever the pointers are.
TEST(BadPointer, EmptyBatch) {
  ActivationApply call;
  call.batch = 0;
  call.in_pointer = nullptr;
  call.out_stride = 1;
  EXPECT_TRUE(call.run()) << OpenBNNSGetLastError();
  EXPECT_TRUE(call.out.untouched());
  FullyConnectedApply dense;
  dense.batch = 0;
  dense.out_pointer = nullptr;
  EXPECT_TRUE(dense.run()) << OpenBNNSGetLastError();
}

TEST(BadPointer, Direct) {
  using Call = ActivationDirect;
  auto rows = batch_rows<Call>(12, 12);
  append(rows, descriptor_rows<Call>(
                   "i_desc", 3, [](Call & c) -> auto& { return c.params.i_desc; }, false));
  append(rows, descriptor_rows<Call>(
                   "o_desc", 3, [](Call & c) -> auto& { return c.params.o_desc; }, true));
  append(rows,
         {
             {"input data null", {"in", "NULL"}, [](Call& c) { c.params.i_desc.data = nullptr; }},
             {"output data null", {"out", "NULL"}, [](Call& c) { c.params.o_desc.data = nullptr; }},
             {"input data misaligned",
              {"in", "aligned to 4"},
              [](Call& c) { c.params.i_desc.data = reinterpret_cast<char*>(c.in.data()) + 2; }},
             {"output data misaligned",
              {"out", "aligned to 4"},
              [](Call& c) { c.params.o_desc.data = reinterpret_cast<char*>(c.out.data()) + 1; }},
             {"partial overlap",
              {"in", "out", "overlap"},
              [](Call& c) { c.params.o_desc.data = c.in.data() + 3; }},
         });
  expect_refused(rows);
}

}  // namespace
}  // namespace bnns::test
