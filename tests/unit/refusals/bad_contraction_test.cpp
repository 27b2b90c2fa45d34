// Contractions of tensors that must not be made. A mistake in the text is shown with its place.
#include <cmath>

#include "support/matmul_call.h"

namespace bnns::test {
namespace {

struct BadText {
  const char* operation;
  const char* place;
  const char* reason;
};

// Bytes that cannot be printed are not shown as they are.
size_t shown(const char* text) {
  size_t n = 0;
  while (text[n] >= ' ') ++n;
  return n;
}

TEST(BadContraction, Text) {
  using C = TwoInputCreate<ContractionCall>;
  const BadText texts[] = {
      {"", "character 1:", "name of an operand"},
      {"   ", "character 4:", "ends"},
      {"a", "character 2:", "'_'"},
      {"a_ik", "character 5:", "ends"},
      {"a ik, b_kj -> c_ij", "character 5:", "'_'"},
      {"_ik, b_kj -> c_ij", "character 1:", "'_' stands"},
      {"a_ik, -> c_ij", "character 7:", "name of an operand"},
      {"a_ik b_kj -> c_ij", "character 7:", "'_' stands"},
      {"a_ik; b_kj -> c_ij", "character 5:", "';'"},
      {"a_i1, b_1j -> c_ij", "character 4:", "'1'"},
      {"a1_ik, b_kj -> c_ij", "character 2:", "'1'"},
      {"a_ik, b_kj, d_jl -> c_il", "character 11:", "more than two"},
      {"a_ik, b_kj > c_ij", "character 12:", "'>'"},
      {"a_ik, b_kj - c_ij", "character 12:", "followed by '>'"},
      {"a_ik, b_kj - > c_ij", "character 12:", "followed by '>'"},
      {"a_ik, b_kj -> ", "character 15:", "ends"},
      {"a_ik, b_kj -> c_ij, d_ij", "character 19:", "the end"},
      {"a_ik, b_kj -> c_ij -> d_ij", "character 20:", "the end"},
      {"a_ii, b_kj -> c_ij", "character 4:", "index i stands twice in operand a"},
      {"a_ik, b_kj -> c_ijj", "character 19:", "index j stands twice in operand c"},
      {"a_ik, b_kj -> c_il", "character 18:", "index l is not on the left"},
      {"a_i*k, b_kj -> c_ij", "character 4:", "first or the last"},
      {"a_**ik, b_kj -> c_*ij", "character 4:", "twice"},
      {"a_*ik, b_kj -> c_ij", "character 3:", "missing on the right"},
      {"a_ik, b_kj -> c_*ij", "character 17:", "not on the left"},
      {"a_*ik, b_kj* -> c_*ij", "character 12:", "same end"},
      {"a_*ik, b_*kj -> c_ij*", "character 21:", "same end"},
      {"a_abcdefghi, b_kj -> c_ij", "character 11:", "more than 8"},
      {"w_ik -> c_ki", "character 1:", "only operand"},
      {"w_ik, w_kj -> c_ij", "character 7:", "w stands twice"},
      {"a_ik, b_kj -> c_ij\x01", "character 19:", "byte 1"},
  };
  std::vector<Row<C>> rows;
  for (const BadText& t : texts) {
    rows.push_back({t.operation,
                    {"operation", t.place, t.reason,
                     std::string("\"") + std::string(t.operation, shown(t.operation))},
                    [=](C& c) { c.params.operation = t.operation; }});
  }
  static const std::string long_name = std::string(40, 'x') + "_ik, b_kj -> c_ij";
  rows.push_back({"a long name", {"character 33:", "32 letters"}, [](C& c) {
                    c.params.operation = long_name.c_str();
                  }});
  rows.push_back({"none", {"operation is NULL"}, [](C& c) { c.params.operation = nullptr; }});
  expect_refused(rows);
}

TEST(BadContraction, Parameters) {
  using C = TwoInputCreate<ContractionCall>;
  using D = BNNSNDArrayDescriptor;
  std::vector<Row<C>> rows = {
      {"no parameters", {"layer_params", "NULL"}, [](C& c) { c.params_pointer = nullptr; }},
      {"alpha", {"alpha is", "finite"}, [](C& c) { c.params.alpha = NAN; }},
      {"beta", {"beta is 0.5", "0 or 1"}, [](C& c) { c.params.beta = 0.5f; }},
      {"too few indices",
       {"character 7:", "b has 1 index", "iB_desc is RowMajorMatrix {2, 2} with 2"},
       [](C& c) { c.params.operation = "a_ik, b_k -> c_i"; }},
      {"too many indices",
       {"character 1:", "a has 3 indices", "iA_desc"},
       [](C& c) { c.params.operation = "a_ikl, b_kj -> c_ij"; }},
      {"too many for '*'",
       {"character 1:", "a has 3 indices besides '*'", "iA_desc"},
       [](C& c) { c.params.operation = "a_*ikl, b_kj -> c_*ij"; }},
      {"sizes of an index",
       {"character 4: index k is 2 in iB_desc", "RowMajorMatrix {3, 2}", "3 in iA_desc"},
       [](C& c) {
         c.params.iA_desc.size[0] = 3;
         c.words = {"must be equal"};
       }},
      {"the result is too small",
       {"character 3: index i is 1 in o_desc", "2 in iA_desc", "as large"},
       [](C& c) { c.params.o_desc.size[1] = 1; }},
      {"'*' that would be summed",
       {"index 1 from the last of '*' is 2", "o_desc", "never summed"},
       [](C& c) { c.params.operation = "a_*, b_ij -> c_*ij"; }},
      {"weights without data",
       {"iB_desc.data is NULL"},
       [](C& c) { c.params.operation = "a_ik, w_kj -> c_ij"; }},
      {"letters for a scalar",
       {"character 15:", "c has 0 indices"},
       [](C& c) { c.params.operation = "a_ik, b_kj -> c_"; }},
      {"Int8", {"iA_desc.data_type is Int8"}, [](C& c) {
         c.params.iA_desc.data_type = BNNSDataTypeInt8;
       }}};
  append(rows, descriptor_rows<C>(
                   "iA_desc", 2, [](C& c) -> D& { return c.params.iA_desc; }, false));
  append(rows, descriptor_rows<C>(
                   "o_desc", 2, [](C& c) -> D& { return c.params.o_desc; }, true));
  expect_refused(rows);
}

TEST(BadContraction, Calls) {
  using F = TwoInputForward<ContractionCall>;
  expect_refused<F>({
      {"inA", {"inA is NULL"}, [](F& c) { c.a_pointer = nullptr; }},
      {"out", {"out is NULL"}, [](F& c) { c.c_pointer = nullptr; }},
      {"overlap", {"out and inB overlap"}, [](F& c) { c.c_pointer = c.b.data(); }},
      {"itself", {"one input"}, [](F& c) { c.params.operation = "a_ik, a_kj -> c_ij"; }},
      {"a copy", {"one input"}, [](F& c) { c.params.operation = "a_ik -> c_ki"; }},
  });
  using B = TwoInputBackward<ContractionCall>;
  expect_refused<B>({
      {"inB", {"inB is NULL"}, [](B& c) { c.b_pointer = nullptr; }},
      {"out_delta", {"out_delta is NULL"}, [](B& c) { c.c_delta_pointer = nullptr; }},
      {"dA is dB", {"inA_delta and inB_delta overlap"}, [](B& c) { c.a_delta.data = c.db.data(); }},
  });
}

}  // namespace
}  // namespace bnns::test
