// What BNNSCopy, BNNSTranspose and the queries of sizes and ranks must refuse.
#include <limits>

#include "support/call_table.h"

namespace bnns::test {
namespace {

// Three columns, two rows, turned from a padded row-major into a packed column-major matrix.
struct MoveCall : CallBase {
  Guarded<float> from{1, 2, 3, 77, 4, 5, 6, 77, 77, 77}, to{Space{10}};
  BNNSNDArrayDescriptor src = matrix_of(3, 2, from.data());
  BNNSNDArrayDescriptor dest = array(BNNSDataLayoutColumnMajorMatrix, {2, 3}, to.data());
  BNNSNDArrayDescriptor* dest_pointer = &dest;
  const BNNSNDArrayDescriptor* src_pointer = &src;
  BNNSFilterParameters options = {};

  MoveCall() { src.stride[1] = 4; }
  MoveCall(const MoveCall&) = delete;
  template <class F>
  void for_outputs(const F& f) {
    f(from);
    f(to);
  }
  bool correct() const {
    constexpr float kExpected[6] = {1, 4, 2, 5, 3, 6};
    return from.untouched() && to.untouched_except([](size_t i) { return i < 6; }) &&
           std::equal(kExpected, kExpected + 6, to.data());
  }
};

struct Copy : MoveCall {
  const char* function = "BNNSCopy";
  bool run() { return BNNSCopy(dest_pointer, src_pointer, &options) == 0; }
};

struct Transpose : MoveCall {
  const char* function = "BNNSTranspose";
  size_t axis0 = 0, axis1 = 1;
  Transpose() { dest = matrix_of(2, 3, to.data()); }
  bool run() { return BNNSTranspose(dest_pointer, src_pointer, axis0, axis1, &options) == 0; }
};

template <class Call>
std::vector<Row<Call>> common_rows() {
  auto rows = descriptor_rows<Call>(
      "dest", 2, [](Call & c) -> auto& { return c.dest; }, true);
  append(rows, descriptor_rows<Call>(
                   "src", 2, [](Call & c) -> auto& { return c.src; }, false));
  append(rows,
         {
             {"dest null", {"dest", "NULL"}, [](Call& c) { c.dest_pointer = nullptr; }},
             {"src null", {"src", "NULL"}, [](Call& c) { c.src_pointer = nullptr; }},
             {"dest without data", {"dest.data", "NULL"}, [](Call& c) { c.dest.data = nullptr; }},
             {"src without data", {"src.data", "NULL"}, [](Call& c) { c.src.data = nullptr; }},
             {"in place",
              {"dest.data", "src.data", "overlap"},
              [](Call& c) { c.dest.data = c.from.data(); }},
             {"partial overlap",
              {"dest.data", "src.data", "overlap"},
              [](Call& c) { c.dest.data = c.from.data() + 6; }},
             {"src over dest",
              {"dest.data", "src.data", "overlap"},
              [](Call& c) { c.src.data = c.to.data() + 5; }},
             {"unknown flags", {"filter_params->flags", "4"}, [](Call& c) { c.options.flags = 4; }},
             {"257 threads",
              {"filter_params->n_threads", "257"},
              [](Call& c) { c.options.n_threads = 257; }},
             {"another rank",
              {"dest", "Vector {6}", "src", "{3, 2}"},
              [](Call& c) { c.dest = vector_of(6, c.to.data()); }},
             {"one row more", {"dest", "src", "{3, 3}"}, [](Call& c) { c.src.size[1] = 3; }},
             {"sparse dest",
              {"dest.layout", "FullyConnectedSparse"},
              [](Call& c) { c.dest.layout = BNNSDataLayoutFullyConnectedSparse; }},
             {"sparse src",
              {"src.layout", "FullyConnectedSparse"},
              [](Call& c) { c.src.layout = BNNSDataLayoutFullyConnectedSparse; }},
             {"dest below a byte",
              {"dest.data_type", "Int4", "cannot be written"},
              [](Call& c) { c.dest.data_type = c.src.data_type = BNNSDataTypeInt4; }},
             {"scale NaN",
              {"src.data_scale", "nan", "finite"},
              [](Call& c) {
                c.src.data_type = c.dest.data_type = BNNSDataTypeInt8;
                c.src.data_scale = std::numeric_limits<float>::quiet_NaN();
              }},
         });
  for (const size_t offset : {1, 2, 3}) {
    rows.push_back({"dest misaligned", {"dest.data", "aligned to 4"}, [=](Call& c) {
                      c.dest.data = reinterpret_cast<char*>(c.to.data()) + offset;
                      c.expect_pointer(c.dest.data);
                    }});
    rows.push_back({"src misaligned", {"src.data", "aligned to 4"}, [=](Call& c) {
                      c.src.data = reinterpret_cast<char*>(c.from.data()) + offset;
                      c.expect_pointer(c.src.data);
                    }});
  }
  return rows;
}

TEST(BadCopy, Copy) {
  auto rows = common_rows<Copy>();
  rows.push_back({"transposed", {"dest", "{3, 2}", "src", "logical shape"}, [](Copy& c) {
                    c.dest = array(BNNSDataLayoutColumnMajorMatrix, {3, 2}, c.to.data());
                  }});
  rows.push_back({"indexed dest", {"dest.data_type", "Indexed8", "cannot be written"}, [](Copy& c) {
                    static float table[256];
                    c.dest.data_type = BNNSDataTypeIndexed8;
                    c.dest.table_data = table;
                    c.dest.table_data_type = BNNSDataTypeFloat32;
                  }});
  rows.push_back(
      {"packed dest with a stride", {"dest.stride[0]", "is 2", "contiguous"}, [](Copy& c) {
         c.dest = array(BNNSDataLayoutConvolutionWeightsOIHW_Pack32, {1, 1, 1, 1}, c.to.data());
         c.dest.stride[0] = c.dest.stride[1] = c.dest.stride[2] = c.dest.stride[3] = 2;
       }});
  expect_refused(rows);
}

TEST(BadCopy, Transpose) {
  auto rows = common_rows<Transpose>();
  for (const size_t axis : {size_t{2}, size_t{8}, SIZE_MAX}) {
    rows.push_back({"axis0", {"axis0", std::to_string(axis), "2 axes"}, [=](Transpose& c) {
                      c.axis0 = axis;
                    }});
    rows.push_back({"axis1", {"axis1", std::to_string(axis), "2 axes"}, [=](Transpose& c) {
                      c.axis1 = axis;
                    }});
  }
  append(rows, {
                   {"sizes not swapped",
                    {"dest", "src", "{3, 2}", "same sizes"},
                    [](Transpose& c) { c.dest = matrix_of(3, 2, c.to.data()); }},
                   {"sizes swapped, axes not",
                    {"dest", "{2, 3}", "src", "axes 1 and 1"},
                    [](Transpose& c) { c.axis0 = 1; }},
                   {"other type",
                    {"dest.data_type", "Float16", "src.data_type", "Float32", "equal"},
                    [](Transpose& c) { c.dest.data_type = BNNSDataTypeFloat16; }},
               });
  expect_refused(rows);
}

// A query fails with 0 or SIZE_MAX.
void expect_query_refused(const char* function, size_t failure, size_t got,
                          const std::vector<std::string>& words) {
  EXPECT_EQ(got, failure);
  expect_reason(OpenBNNSGetLastError(), function, words);
  ++refused_inputs;
}

TEST(BadQuery, DataSize) {
  float data[6] = {};
  const auto refused = [&](const std::vector<std::string>& words, auto damage) {
    BNNSNDArrayDescriptor d = matrix_of(3, 2, data);
    EXPECT_EQ(BNNSNDArrayGetDataSize(&d), sizeof data);
    damage(d);
    forget_reason();
    expect_query_refused("BNNSNDArrayGetDataSize", 0, BNNSNDArrayGetDataSize(&d), words);
  };
  using D = BNNSNDArrayDescriptor;
  forget_reason();
  expect_query_refused("BNNSNDArrayGetDataSize", 0, BNNSNDArrayGetDataSize(nullptr),
                       {"array", "NULL"});
  refused({"array", "data", "NULL"}, [](D& d) { d.data = nullptr; });
  refused({"array.size[1]", "is 0"}, [](D& d) { d.size[1] = 0; });
  refused({"array", "overflow"}, [](D& d) { d.size[0] = SIZE_MAX; });
  refused({"array", "address space"}, [](D& d) { d.size[0] = size_t{1} << 60; });
  refused({"array.stride[1]", "is 1", "is 2", "decrease"}, [](D& d) {
    d.stride[0] = 2;
    d.stride[1] = 1;
  });
  for (const uint32_t bad : {0u, UINT32_MAX, uint32_t{INT32_MAX}, 0x88002u}) {
    refused({"array.layout", std::to_string(bad)},
            [=](D& d) { d.layout = static_cast<BNNSDataLayout>(bad); });
    refused({"array.data_type", std::to_string(bad)},
            [=](D& d) { d.data_type = static_cast<BNNSDataType>(bad); });
  }
}

TEST(BadQuery, AllocationSize) {
  const auto refused = [](const std::vector<std::string>& words, auto damage) {
    BNNSTensor t = {};
    t.data_type = BNNSDataTypeFloat32;
    t.rank = 2;
    t.shape[0] = 2;
    t.shape[1] = 3;
    t.stride[0] = 4;
    t.stride[1] = 1;
    EXPECT_EQ(BNNSTensorGetAllocationSize(&t), 28u);
    damage(t);
    forget_reason();
    expect_query_refused("BNNSTensorGetAllocationSize", SIZE_MAX, BNNSTensorGetAllocationSize(&t),
                         words);
  };
  using T = BNNSTensor;
  forget_reason();
  expect_query_refused("BNNSTensorGetAllocationSize", SIZE_MAX,
                       BNNSTensorGetAllocationSize(nullptr), {"tensor", "NULL"});
  refused({"tensor->rank", "is 9", "at most 8"}, [](T& t) { t.rank = 9; });
  refused({"tensor->rank", "is 255", "at most 8"}, [](T& t) { t.rank = 255; });
  refused({"tensor->shape[0]", "is -1"}, [](T& t) { t.shape[0] = -1; });
  refused({"tensor->shape[1]", "is -9223372036854775808"}, [](T& t) { t.shape[1] = INT64_MIN; });
  refused({"tensor->stride[1]", "is -1"}, [](T& t) { t.stride[1] = -1; });
  refused({"tensor", "overflow"}, [](T& t) { t.shape[0] = t.stride[0] = INT64_MAX; });
  refused({"tensor", "overflow"}, [](T& t) { t.shape[1] = INT64_MAX; });
  for (const uint32_t bad : {0u, UINT32_MAX, uint32_t{INT32_MAX}, 0x100009u}) {
    refused({"tensor->data_type", std::to_string(bad), "BNNSDataType"},
            [=](T& t) { t.data_type = static_cast<BNNSDataType>(bad); });
  }
}

TEST(BadQuery, LayoutRank) {
  for (const uint32_t bad : {0u, 1u, 0x10001u, 0x20002u, 0x21000u, 0x30004u, 0x40003u, 0x88002u,
                             0x98000u, 0x90000u, 0xF8000u, uint32_t{INT32_MAX}, UINT32_MAX}) {
    forget_reason();
    expect_query_refused("BNNSDataLayoutGetRank", SIZE_MAX,
                         BNNSDataLayoutGetRank(static_cast<BNNSDataLayout>(bad)),
                         {"layout", std::to_string(bad), "BNNSDataLayout"});
  }
}

}  // namespace
}  // namespace bnns::test
