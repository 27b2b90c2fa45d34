// Descriptors that filters must refuse at creation: unknown layouts and types, sizes and strides
// that are zero, huge, overflowing, decreasing or overlapping, tensors that do not fit each other.
#include "support/call_activation.h"
#include "support/call_fully_connected.h"

#include <cmath>
#include <limits>

namespace bnns::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <class Call>
BNNSNDArrayDescriptor& i_desc(Call& c) {
  return c.params.i_desc;
}
template <class Call>
BNNSNDArrayDescriptor& o_desc(Call& c) {
  return c.params.o_desc;
}
BNNSNDArrayDescriptor& w_desc(FullyConnectedCreate& c) {
  return c.params.w_desc;
}
BNNSNDArrayDescriptor& bias(FullyConnectedCreate& c) {
  return c.params.bias;
}

// Layouts that exist, but are no plain arrays; scales that are no numbers; tables that are missing.
template <class Call, class Get>
std::vector<Row<Call>> type_rows(const std::string& field, const Get& get) {
  using D = BNNSNDArrayDescriptor;
  const auto row = [&](const std::string& name, std::vector<std::string> words, auto damage) {
    return Row<Call>{field + name, words, [=](Call& c) { damage(get(c)); }};
  };
  static float table[16] = {};
  return {
      row(".layout sparse", {field + ".layout", "FullyConnectedSparse"},
          [](D& d) {
            d.layout = BNNSDataLayoutFullyConnectedSparse;
            d.size[0] = d.size[1] = 1;
          }),
      row(".layout packed", {field + ".layout", "Pack32"},
          [](D& d) {
            d = array(BNNSDataLayoutConvolutionWeightsOIHW_Pack32, {1, 1, 1, 1}, d.data);
          }),
      row(".data_scale NaN", {field + ".data_scale", "nan", "finite"},
          [](D& d) {
            d.data_type = BNNSDataTypeInt8;
            d.data_scale = kNan;
          }),
      row(".data_bias Inf", {field + ".data_bias", "-inf", "finite"},
          [](D& d) {
            d.data_type = BNNSDataTypeUInt16;
            d.data_bias = -kInf;
          }),
      row(".table_data NULL", {field + ".table_data", "NULL", "256"},
          [](D& d) { d.data_type = BNNSDataTypeIndexed8; }),
      row(".table_data_type integer",
          {field + ".table_data_type", std::to_string(BNNSDataTypeInt8)},
          [](D& d) {
            d.data_type = BNNSDataTypeIndexed4;
            d.table_data = table;
            d.table_data_type = BNNSDataTypeInt8;
          }),
      row(".table_data misaligned", {field + ".table_data", "aligned to 4"},
          [](D& d) {
            d.data_type = BNNSDataTypeIndexed4;
            d.table_data = reinterpret_cast<char*>(table) + 2;
            d.table_data_type = BNNSDataTypeFloat32;
          }),
  };
}

TEST(BadDescriptor, ActivationInput) {
  using Call = ActivationCreate;
  auto rows = descriptor_rows<Call>("i_desc", 3, i_desc<Call>, false);
  append(rows, type_rows<Call>("i_desc", i_desc<Call>));
  rows.push_back({"2^32 elements for 12",
                  {"i_desc", "o_desc", "4294967296", "same number"},
                  [](Call& c) { c.params.i_desc = vector_of(size_t{1} << 32); }});
  rows.push_back({"one element more than the output",
                  {"Vector {13}", "ImageCHW {3, 2, 2}"},
                  [](Call& c) { c.params.i_desc = vector_of(13); }});
  rows.push_back({"both 2^61 values: more than an address space",
                  {"i_desc", "address space"},
                  [](Call& c) { c.params.i_desc = c.params.o_desc = vector_of(size_t{1} << 61); }});
  rows.push_back({"15 * 2^60 elements that overlap",
                  {"i_desc has 17293822569102704640 elements"},
                  [](Call& c) {
                    c.params.i_desc = matrix_of(size_t{1} << 60, 15);
                    c.params.i_desc.stride[0] = c.params.i_desc.stride[1] = 1;
                  }});
  expect_refused(rows);
}

TEST(BadDescriptor, ActivationOutput) {
  using Call = ActivationCreate;
  auto rows = descriptor_rows<Call>("o_desc", 3, o_desc<Call>, true);
  append(rows, type_rows<Call>("o_desc", o_desc<Call>));
  for (const auto type :
       {BNNSDataTypeInt1, BNNSDataTypeInt2, BNNSDataTypeInt4, BNNSDataTypeUInt1, BNNSDataTypeUInt2,
        BNNSDataTypeUInt3, BNNSDataTypeUInt4, BNNSDataTypeUInt6}) {
    rows.push_back({"output below a byte", {"o_desc.data_type", "cannot be written"}, [=](Call& c) {
                      c.params.o_desc.data_type = type;
                    }});
  }
  rows.push_back(
      {"overlap across an axis of extent 1", {"o_desc.stride[2]", "is 1", "overlap"}, [](Call& c) {
         c.params.o_desc = array(BNNSDataLayoutImageCHW, {3, 1, 4});
         std::fill_n(c.params.o_desc.stride, 3, size_t{1});
       }});
  rows.push_back(
      {"indexed output", {"o_desc.data_type", "Indexed8", "cannot be written"}, [](Call& c) {
         static float table[256];
         c.params.o_desc.data_type = BNNSDataTypeIndexed8;
         c.params.o_desc.table_data = table;
         c.params.o_desc.table_data_type = BNNSDataTypeFloat32;
       }});
  expect_refused(rows);
}

TEST(BadDescriptor, FullyConnected) {
  using Call = FullyConnectedCreate;
  auto rows = descriptor_rows<Call>("i_desc", 1, i_desc<Call>, false);
  append(rows, descriptor_rows<Call>("o_desc", 1, o_desc<Call>, true));
  append(rows, descriptor_rows<Call>("w_desc", 2, w_desc, false));
  append(rows, descriptor_rows<Call>("bias", 1, bias, false));
  append(rows, type_rows<Call>("i_desc", i_desc<Call>));
  append(rows, type_rows<Call>("o_desc", o_desc<Call>));
  append(rows, type_rows<Call>("w_desc", w_desc));
  append(rows, type_rows<Call>("bias", bias));
  expect_refused(rows);
}

// Weights and bias that fit no matrix of two rows and three columns.
TEST(BadDescriptor, FullyConnectedShapes) {
  using Call = FullyConnectedCreate;
  std::vector<Row<Call>> rows = {
      {"weights transposed",
       {"w_desc", "3 rows", "2 elements"},
       [](Call& c) { c.params.w_desc = matrix_of(2, 3, c.weights.data()); }},
      {"weights one column short",
       {"w_desc", "2 columns", "3 elements"},
       [](Call& c) { c.params.w_desc = matrix_of(2, 2, c.weights.data()); }},
      {"weights as a vector",
       {"w_desc.layout", "Vector", "two-dimensional"},
       [](Call& c) { c.params.w_desc = vector_of(6, c.weights.data()); }},
      {"weights of rank 3",
       {"w_desc.layout", "ImageCHW", "two-dimensional"},
       [](Call& c) {
         c.params.w_desc = array(BNNSDataLayoutImageCHW, {3, 2, 1}, c.weights.data());
       }},
      {"weights null", {"w_desc.data", "NULL"}, [](Call& c) { c.params.w_desc.data = nullptr; }},
      {"weights of 2^32 rows",
       {"w_desc", "4294967296 rows"},
       [](Call& c) { c.params.w_desc.size[1] = size_t{1} << 32; }},
      {"input of 2^32",
       {"w_desc", "3 columns", "4294967296 elements"},
       [](Call& c) { c.params.i_desc.size[0] = size_t{1} << 32; }},
      {"output of 2^32",
       {"w_desc", "2 rows", "4294967296 elements"},
       [](Call& c) { c.params.o_desc.size[0] = size_t{1} << 32; }},
      {"bias too short",
       {"bias", "1 elements", "o_desc", "2"},
       [](Call& c) { c.params.bias.size[0] = 1; }},
      {"bias too long",
       {"bias", "3 elements", "o_desc", "2"},
       [](Call& c) { c.params.bias.size[0] = 3; }},
      {"bias Boolean",
       {"bias.data_type", "Boolean"},
       [](Call& c) { c.params.bias.data_type = BNNSDataTypeBoolean; }},
      {"bias Int64",
       {"bias.data_type", "Int64"},
       [](Call& c) { c.params.bias.data_type = BNNSDataTypeInt64; }},
  };
  for (const auto type : {BNNSDataTypeInt64, BNNSDataTypeUInt64, BNNSDataTypeBoolean}) {
    rows.push_back(
        {"input type", {"i_desc.data_type"}, [=](Call& c) { c.params.i_desc.data_type = type; }});
    rows.push_back(
        {"output type", {"o_desc.data_type"}, [=](Call& c) { c.params.o_desc.data_type = type; }});
    rows.push_back(
        {"weights type", {"w_desc.data_type"}, [=](Call& c) { c.params.w_desc.data_type = type; }});
  }
  for (const size_t offset : {1, 2, 3}) {
    rows.push_back({"weights misaligned", {"w_desc.data", "aligned to 4"}, [=](Call& c) {
                      c.params.w_desc.data = reinterpret_cast<char*>(c.weights.data()) + offset;
                      c.expect_pointer(c.params.w_desc.data);
                    }});
    rows.push_back({"bias misaligned", {"bias.data", "aligned to 4"}, [=](Call& c) {
                      c.params.bias.data = reinterpret_cast<char*>(c.bias.data()) + offset;
                      c.expect_pointer(c.params.bias.data);
                    }});
  }
  expect_refused(rows);
}

// Only what counts is read: entries beyond the rank, absent descriptors, flags of no gradient.
TEST(BadDescriptor, GarbageThatIsNotRead) {
  const auto spoil = [](BNNSNDArrayDescriptor& d, size_t rank) {
    for (size_t k = rank; k < BNNS_MAX_TENSOR_DIMENSION; ++k)
      d.size[k] = d.stride[k] = SIZE_MAX - k;
    d.flags = static_cast<BNNSNDArrayFlags>(77);
    d.table_data = reinterpret_cast<void*>(1);
    d.table_data_type = static_cast<BNNSDataType>(UINT32_MAX);
    d.data_scale = kNan;
    d.data_bias = kInf;
  };
  expect_accepted<ActivationCreate>({{"activation", {}, [&](ActivationCreate& c) {
                                        spoil(c.params.i_desc, 3);
                                        spoil(c.params.o_desc, 3);
                                        c.params.i_desc.data = reinterpret_cast<void*>(1);
                                      }}});
  expect_accepted<FullyConnectedCreate>({{"fully connected", {}, [&](FullyConnectedCreate& c) {
                                            spoil(c.params.i_desc, 1);
                                            spoil(c.params.o_desc, 1);
                                            spoil(c.params.w_desc, 2);
                                            spoil(c.params.bias, 1);
                                          }}});
  FullyConnectedCreate call;
  std::memset(&call.params.bias, 0xFF, sizeof call.params.bias);
  call.params.bias.data = nullptr;
  EXPECT_TRUE(call.run()) << OpenBNNSGetLastError();
  EXPECT_EQ(call.out[0], 6);
  EXPECT_EQ(call.out[1], 15);
}

}  // namespace
}  // namespace bnns::test
