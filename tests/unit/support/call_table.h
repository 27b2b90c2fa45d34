// Tables of bad inputs. A row takes a valid call, damages it, and names words of the reason: the
// field, its value, the rule. Every row is checked for the failure value, for the reason, for
// outputs and paddings left as they were, and for a valid call that works afterwards.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/call_builder.h"

namespace bnns::test {

template <class Call>
struct Row {
  std::string name;
  std::vector<std::string> words;
  std::function<void(Call&)> damage;
};

// A call: `function` is its C name, run() returns whether it was accepted, for_outputs(f) hands all
// memory the call may write to f, correct() checks the results of the valid call.
struct CallBase {
  std::vector<std::string> words;  // of the reason, known only after the damage was done
  void expect_pointer(const void* p) {
    char text[32];
    std::snprintf(text, sizeof text, "%p", p);
    words.emplace_back(text);
  }
};

inline std::atomic<int> refused_inputs{0};

inline void expect_reason(const std::string& reason, const std::string& function,
                          const std::vector<std::string>& words) {
  EXPECT_EQ(reason.rfind(function + ": ", 0), 0u) << reason;
  for (const std::string& word : words)
    EXPECT_NE(reason.find(word), std::string::npos) << "no \"" << word << "\" in: " << reason;
}

// So that a reason found later cannot be one of an earlier call.
inline void forget_reason() {
  OpenBNNSSetTarget("no such target");
}

template <class Call>
void expect_works() {
  Call call;
  EXPECT_TRUE(call.run()) << OpenBNNSGetLastError();
  EXPECT_TRUE(call.correct());
}

template <class Call>
void expect_refused(const std::vector<Row<Call>>& rows) {
  expect_works<Call>();
  for (const Row<Call>& row : rows) {
    SCOPED_TRACE(row.name);
    const auto call = std::make_unique<Call>();
    row.damage(*call);
    call->for_outputs([](auto& memory) { memory.remember(); });
    forget_reason();
    EXPECT_FALSE(call->run());
    expect_reason(OpenBNNSGetLastError(), call->function, row.words);
    expect_reason(OpenBNNSGetLastError(), call->function, call->words);
    call->for_outputs([](auto& memory) { EXPECT_TRUE(memory.untouched()); });
    expect_works<Call>();
    ++refused_inputs;
  }
}

// Unusual, but right: results must be those of the valid call.
template <class Call>
void expect_accepted(const std::vector<Row<Call>>& rows) {
  for (const Row<Call>& row : rows) {
    SCOPED_TRACE(row.name);
    const auto call = std::make_unique<Call>();
    row.damage(*call);
    EXPECT_TRUE(call->run()) << OpenBNNSGetLastError();
    EXPECT_TRUE(call->correct());
  }
}

template <class Call>
void append(std::vector<Row<Call>>& to, const std::vector<Row<Call>>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// -1, one past the last and 2^31 - 1 in an enumeration that `set` writes.
template <class Call, class Set>
std::vector<Row<Call>> enum_rows(const std::string& field, uint32_t last, const Set& set) {
  std::vector<Row<Call>> rows;
  for (const uint32_t value : {UINT32_MAX, last + 1, uint32_t{INT32_MAX}}) {
    const std::string text = std::to_string(value);
    rows.push_back({field + "=" + text, {field, text}, [=](Call& c) { set(c, value); }});
  }
  return rows;
}

// Faults any descriptor can have. get(call) yields the descriptor; its valid form has `rank` axes,
// at most three, whose sizes and strides go together in ascending order.
template <class Call, class Get>
std::vector<Row<Call>> descriptor_rows(const std::string& field, size_t rank, const Get& get,
                                       bool output) {
  std::vector<Row<Call>> rows =
      enum_rows<Call>(field + ".layout", BNNSDataLayout8DFirstMajor,
                      [=](Call& c, uint32_t v) { get(c).layout = static_cast<BNNSDataLayout>(v); });
  append(rows, enum_rows<Call>(field + ".data_type", BNNSDataTypeBoolean, [=](Call& c, uint32_t v) {
           get(c).data_type = static_cast<BNNSDataType>(v);
         }));
  const auto layout = [&](const char* name, uint32_t value) {
    rows.push_back({field + name,
                    {field + ".layout", std::to_string(value), "BNNSDataLayout"},
                    [=](Call& c) { get(c).layout = static_cast<BNNSDataLayout>(value); }});
  };
  layout(".layout zero", 0);
  layout(".layout of rank 0", 0x08000);
  layout(".layout of rank 9", 0x98000);
  for (const uint32_t bits : {uint32_t{BNNSDataTypeFloatBit}, uint32_t{0}, 0x10040u}) {
    rows.push_back({field + ".data_type that is none",
                    {field + ".data_type", std::to_string(bits), "BNNSDataType"},
                    [=](Call& c) { get(c).data_type = static_cast<BNNSDataType>(bits); }});
  }
  for (size_t k = 0; k < rank; ++k) {
    const std::string entry = std::string("[").append(std::to_string(k)).append("]");
    rows.push_back({field + ".size" + entry + "=0",
                    {field + ".size" + entry, "is 0", "at least 1"},
                    [=](Call& c) { get(c).size[k] = 0; }});
    for (const size_t huge : {size_t{1} << 63, SIZE_MAX}) {
      rows.push_back({field + ".size" + entry + "=" + std::to_string(huge),
                      {field, std::to_string(huge), "overflow"},
                      [=](Call& c) { get(c).size[k] = huge; }});
    }
    rows.push_back({field + ".stride" + entry + " overflows", {field, "overflow"}, [=](Call& c) {
                      get(c).stride[k] = SIZE_MAX / 2;
                      for (size_t a = k + 1; a < rank; ++a) get(c).stride[a] = SIZE_MAX;
                    }});
    if (k == 0) continue;
    rows.push_back({field + ".stride" + entry + " decreases",
                    {field + ".stride" + entry, "is 3", "must not decrease"},
                    [=](Call& c) {
                      for (size_t a = 0; a < k; ++a) get(c).stride[a] = a == 0 ? 10 : 100;
                      get(c).stride[k] = 3;
                    }});
    if (!output) continue;
    rows.push_back({field + ".stride" + entry + " overlaps",
                    {field + ".stride" + entry, "overlap"},
                    [=](Call& c) {
                      get(c).size[0] = get(c).size[k] = 3;
                      get(c).stride[k] = k == 1 ? 2 : get(c).size[0] * get(c).size[1] - 1;
                    }});
  }
  if (rank > 1) {
    rows.push_back({field + " product of sizes overflows", {field, "overflow"}, [=](Call& c) {
                      get(c).size[0] = get(c).size[1] = size_t{1} << 32;
                    }});
  }
  rows.push_back({field + " product with the element size overflows",
                  {field, "overflow"},
                  [=](Call& c) { get(c).size[0] = (size_t{1} << 62) + 1; }});
  return rows;
}

}  // namespace bnns::test
