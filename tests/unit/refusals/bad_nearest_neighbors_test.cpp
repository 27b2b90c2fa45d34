// What tables of nearest neighbours must refuse.
#include <climits>

#include "support/call_table.h"

namespace bnns::test {
namespace {

struct TableCall : CallBase {
  unsigned samples = 5, features = 1, neighbors = 3, count = 5;
  BNNSDataType type = BNNSDataTypeFloat32;
  BNNSFilterParameters options = {};
  Guarded<float> x{0, 1, 2, 10, 11, 77};
  Guarded<int> indices{Space{17}};
  Guarded<float> distances{Space{17}};
  const void* data = x.data();
  int sample = 3;
  int* to_indices = indices.data();
  void* to_distances = distances.data();
  BNNSNearestNeighbors knn = nullptr;

  TableCall() = default;
  TableCall(const TableCall&) = delete;
  ~TableCall() { BNNSDestroyNearestNeighbors(knn); }
  template <class F>
  void for_outputs(const F& f) {
    f(x);
    f(indices);
    f(distances);
  }
  bool make() {
    knn = BNNSCreateNearestNeighbors(samples, features, neighbors, type, &options);
    return knn != nullptr;
  }
  bool load() const { return BNNSNearestNeighborsLoad(knn, count, data) == 0; }
  bool ask() const {
    return BNNSNearestNeighborsGetInfo(knn, sample, to_indices, to_distances) == 0;
  }
  bool correct() const {
    const auto written = [](size_t i) { return i < 3; };
    return x.untouched() && indices.untouched_except(written) &&
           distances.untouched_except(written) && indices[0] == 3 && indices[1] == 4 &&
           indices[2] == 2 && distances[0] == 0 && distances[1] == 1 && distances[2] == 8;
  }
};

struct Create : TableCall {
  const char* function = "BNNSCreateNearestNeighbors";
  bool run() { return make() && load() && ask(); }
};

struct Load : TableCall {
  const char* function = "BNNSNearestNeighborsLoad";
  bool run() {
    EXPECT_TRUE(make()) << OpenBNNSGetLastError();
    return load() && ask();
  }
};

struct Ask : TableCall {
  const char* function = "BNNSNearestNeighborsGetInfo";
  bool run() {
    EXPECT_TRUE(make() && load()) << OpenBNNSGetLastError();
    return ask();
  }
};

TEST(BadNearestNeighbors, Creation) {
  using Call = Create;
  std::vector<Row<Call>> rows = {
      {"no room", {"max_n_samples is 0", "from 1 to"}, [](Call& c) { c.samples = 0; }},
      {"more samples than indices",
       {"max_n_samples is 2147483648", "int"},
       [](Call& c) { c.samples = unsigned{INT_MAX} + 1; }},
      {"no features", {"n_features is 0", "at least 1"}, [](Call& c) { c.features = 0; }},
      {"no neighbours", {"n_neighbors is 0", "at least 1"}, [](Call& c) { c.neighbors = 0; }},
      {"more than an address space",
       {"max_n_samples", "n_features", "overflows"},
       [](Call& c) {
         c.samples = INT_MAX;
         c.features = UINT_MAX;
       }},
      {"more than there is",
       {"memory"},
       [](Call& c) {
         c.samples = INT_MAX;
         c.features = 1u << 28;
       }},
      {"flags", {"filter_params->flags", "2"}, [](Call& c) { c.options.flags = 2; }},
      {"threads", {"n_threads", "257"}, [](Call& c) { c.options.n_threads = 257; }},
  };
  append(rows, enum_rows<Call>("data_type", BNNSDataTypeBoolean,
                               [](Call& c, uint32_t v) { c.type = static_cast<BNNSDataType>(v); }));
  for (const auto bad : {BNNSDataTypeInt32, BNNSDataTypeBoolean, BNNSDataTypeIndexed8}) {
    rows.push_back({"no floating-point type",
                    {"data_type", "Float32, Float16 or BFloat16"},
                    [=](Call& c) { c.type = bad; }});
  }
  expect_refused(rows);
}

TEST(BadNearestNeighbors, Load) {
  using Call = Load;
  expect_refused<Call>({
      {"no data", {"data_ptr is NULL"}, [](Call& c) { c.data = nullptr; }},
      {"misaligned",
       {"data_ptr", "aligned to 4"},
       [](Call& c) { c.data = reinterpret_cast<const char*>(c.x.data()) + 1; }},
      {"misaligned halves",
       {"data_ptr", "aligned to 2"},
       [](Call& c) {
         c.type = BNNSDataTypeFloat16;
         c.data = reinterpret_cast<const char*>(c.x.data()) + 1;
       }},
      {"more than there is room for",
       {"n_new_samples is 5", "max_n_samples 4", "only 4 are left"},
       [](Call& c) { c.samples = 4; }},
      {"far more",
       {"n_new_samples is 4294967295", "only 5 are left"},
       [](Call& c) { c.count = UINT_MAX; }},
  });
}

TEST(BadNearestNeighbors, Ask) {
  using Call = Ask;
  std::vector<Row<Call>> rows = {
      {"misaligned indices",
       {"indices", "aligned to 4"},
       [](Call& c) {
         c.to_indices = reinterpret_cast<int*>(reinterpret_cast<char*>(c.indices.data()) + 1);
       }},
      {"misaligned distances",
       {"distances", "aligned to 4"},
       [](Call& c) { c.to_distances = reinterpret_cast<char*>(c.distances.data()) + 2; }},
      {"overlap",
       {"indices", "distances", "overlap"},
       [](Call& c) { c.to_distances = c.indices.data() + 2; }},
      {"overlap of all",
       {"indices", "distances", "overlap"},
       [](Call& c) {
         c.sample = -1;
         c.to_distances = c.indices.data() + 14;
       }},
  };
  for (const int bad : {5, INT_MAX}) {
    rows.push_back({"sample_number",
                    {"sample_number is " + std::to_string(bad), "5 samples are loaded"},
                    [=](Call& c) { c.sample = bad; }});
  }
  expect_refused(rows);
}

// A full table stays as it is.
TEST(BadNearestNeighbors, FullTable) {
  TableCall call;
  ASSERT_TRUE(call.make() && call.load());
  call.count = 1;
  EXPECT_FALSE(call.load());
  expect_reason(OpenBNNSGetLastError(), "BNNSNearestNeighborsLoad", {"only 0 are left"});
  EXPECT_TRUE(call.ask() && call.correct());
}

TEST(BadNearestNeighbors, Handles) {
  TableCall live;
  ASSERT_TRUE(live.make() && live.load());
  BNNSNearestNeighbors dead = nullptr;
  {
    TableCall dying;
    ASSERT_TRUE(dying.make());
    dead = dying.knn;
  }
  static int foreign;
  const Filter filter = make_activation(vector_of(1), vector_of(1),
                                        activation(BNNSActivationFunctionRectifiedLinear));
  const std::string words = "no live table of neighbours";
  for (void* bad : {dead, static_cast<void*>(&foreign), filter.get()}) {
    live.indices.remember();
    const BNNSNearestNeighbors good = live.knn;
    live.knn = bad;
    EXPECT_FALSE(live.load());
    expect_reason(OpenBNNSGetLastError(), "BNNSNearestNeighborsLoad", {"knn is", words});
    EXPECT_FALSE(live.ask());
    expect_reason(OpenBNNSGetLastError(), "BNNSNearestNeighborsGetInfo", {"knn is", words});
    BNNSDestroyNearestNeighbors(bad);
    expect_reason(OpenBNNSGetLastError(), "BNNSDestroyNearestNeighbors", {"knn is", words});
    live.knn = good;
    EXPECT_TRUE(live.indices.untouched());
  }
  EXPECT_EQ(BNNSNearestNeighborsLoad(nullptr, 1, live.data), -1);
  expect_reason(OpenBNNSGetLastError(), "BNNSNearestNeighborsLoad", {"knn is NULL"});
  EXPECT_EQ(BNNSNearestNeighborsGetInfo(nullptr, 0, live.to_indices, nullptr), -1);
  expect_reason(OpenBNNSGetLastError(), "BNNSNearestNeighborsGetInfo", {"knn is NULL"});
  BNNSDestroyNearestNeighbors(nullptr);
  // A table is no filter and no generator.
  BNNSFilterDestroy(live.knn);
  BNNSDestroyRandomGenerator(live.knn);
  EXPECT_TRUE(live.ask() && live.correct());
}

}  // namespace
}  // namespace bnns::test
