// Reasons and the log: who receives which message, when, in which form; and that the library prints
// nothing unless asked. Run with --child the program fails a few calls and prints nothing itself;
// with "--child locale" it prints numbers as messages contain them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/child.h"
#include "core/text.h"
#include "openbnns/openbnns.h"
#include "support/workload.h"

namespace {

struct Message {
  uint32_t level;
  std::string text;
  std::thread::id thread;
};

void collect(OpenBNNSLogLevel level, const char* message, void* user) {
  static_cast<std::vector<Message>*>(user)->push_back({level, message, std::this_thread::get_id()});
}

// Two refusals and one thing that is not there yet.
void fail_with_null() {
  BNNSFilterApply(nullptr, nullptr, nullptr);
}
void fail_with_size() {
  BNNSLayerParametersActivation p = {};
  p.i_desc = p.o_desc = test::vector(0);
  p.activation.function = BNNSActivationFunctionTanh;
  BNNSFilterCreateLayerActivation(&p, nullptr);
}
constexpr const char* kNullReason = "BNNSFilterApply: filter is NULL";
constexpr const char* kSizeReason =
    "BNNSFilterCreateLayerActivation: i_desc.size[0] is 0; it must be at least 1";

// A combination that is valid but not supported, an integer function of sparse weights:
// information, not an error.
void fail_unsupported() {
  int8_t data[4] = {};
  BNNSLayerParametersFullyConnected p = {};
  p.i_desc = p.o_desc = test::vector(2, nullptr, BNNSDataTypeInt8);
  p.w_desc = test::array(BNNSDataLayoutFullyConnectedSparse, {2, 2}, data, BNNSDataTypeInt8);
  p.activation.function = BNNSActivationFunctionIntegerLinearSaturate;
  BNNSFilterCreateLayerFullyConnected(&p, nullptr);
}

class LogCallback : public testing::Test {
 protected:
  LogCallback() { OpenBNNSSetLogCallback(collect, &messages_); }
  ~LogCallback() override { OpenBNNSSetLogCallback(nullptr, nullptr); }
  std::vector<Message> messages_;
};

// Runs first: nothing has failed on this thread.
TEST(LastError, IsEmptyAtFirst) {
  EXPECT_STREQ(OpenBNNSGetLastError(), "");
  std::string other = "?";
  std::thread([&] { other = OpenBNNSGetLastError(); }).join();
  EXPECT_EQ(other, "");
}

TEST(LastError, HasFunctionFieldValueAndRule) {
  fail_with_size();
  EXPECT_STREQ(OpenBNNSGetLastError(), kSizeReason);
}

TEST(LastError, StaysUntilTheNextFailure) {
  fail_with_null();
  EXPECT_STREQ(OpenBNNSGetLastError(), kNullReason);
  EXPECT_EQ(OpenBNNSSetDefaultThreads(2), 0);
  EXPECT_EQ(OpenBNNSSetDefaultThreads(0), 0);
  EXPECT_STREQ(OpenBNNSGetLastError(), kNullReason) << "a success must not change it";
  fail_with_size();
  EXPECT_STREQ(OpenBNNSGetLastError(), kSizeReason);
}

TEST(LastError, BelongsToItsThread) {
  fail_with_null();
  std::string at_first, later;
  std::thread([&] {
    at_first = OpenBNNSGetLastError();
    fail_with_size();
    later = OpenBNNSGetLastError();
  }).join();
  EXPECT_EQ(at_first, "");
  EXPECT_EQ(later, kSizeReason);
  EXPECT_STREQ(OpenBNNSGetLastError(), kNullReason);
}

// "Function: field is value; rule" for a call of each kind.
TEST(LastError, EveryReasonStartsWithItsFunction) {
  BNNSNDArrayDescriptor d = {};
  BNNSCopy(&d, &d, nullptr);
  EXPECT_EQ(std::string_view(OpenBNNSGetLastError()).rfind("BNNSCopy: ", 0), 0u);
  BNNSDataLayoutGetRank(static_cast<BNNSDataLayout>(5));
  EXPECT_STREQ(OpenBNNSGetLastError(),
               "BNNSDataLayoutGetRank: layout is 5; that is no BNNSDataLayout");
  OpenBNNSSetDefaultThreads(1000);
  EXPECT_STREQ(OpenBNNSGetLastError(),
               "OpenBNNSSetDefaultThreads: n_threads is 1000; it must be at most 256");
  BNNSFilterDestroy(reinterpret_cast<void*>(8));
  EXPECT_STREQ(
      OpenBNNSGetLastError(),
      "BNNSFilterDestroy: filter is 0x8; that is no live filter (destroyed, or never made)");
}

TEST(LastError, LongTextsAreCut) {
  for (size_t length : {100, 400, 480, 500, 510, 511, 512, 513, 639, 640, 641, 1000, 100000}) {
    const std::string name(length, 'x');
    EXPECT_EQ(OpenBNNSSetTarget(name.c_str()), -1);
    const std::string reason = OpenBNNSGetLastError();
    const std::string head = "OpenBNNSSetTarget: name is \"x";
    EXPECT_EQ(reason.compare(0, head.size(), head), 0) << reason;
    EXPECT_LE(reason.size(), 1024u);
    if (length > 1024) {
      EXPECT_EQ(reason.back(), 'x') << "cut behind as much as fits";
    }
  }
  fail_with_null();
  EXPECT_STREQ(OpenBNNSGetLastError(), kNullReason) << "nothing is left of the long one";
}

TEST_F(LogCallback, ReceivesLevelAndText) {
  fail_with_size();
  ASSERT_EQ(messages_.size(), 1u);
  EXPECT_EQ(messages_[0].level, OpenBNNSLogLevelError);
  EXPECT_EQ(messages_[0].text, kSizeReason);
  EXPECT_EQ(messages_[0].text, OpenBNNSGetLastError());
  fail_unsupported();
  ASSERT_EQ(messages_.size(), 2u);
  EXPECT_EQ(messages_[1].level, OpenBNNSLogLevelInfo);
  EXPECT_EQ(messages_[1].text, OpenBNNSGetLastError());
}

TEST_F(LogCallback, RunsOnTheThreadThatFailed) {
  std::thread::id id;
  std::thread([&] {
    id = std::this_thread::get_id();
    fail_with_null();
  }).join();
  ASSERT_EQ(messages_.size(), 1u);
  EXPECT_EQ(messages_[0].thread, id);
}

TEST_F(LogCallback, NullSilences) {
  OpenBNNSSetLogCallback(nullptr, &messages_);
  fail_with_null();
  fail_unsupported();
  EXPECT_TRUE(messages_.empty());
  EXPECT_NE(std::strlen(OpenBNNSGetLastError()), 0u);
}

TEST_F(LogCallback, SuccessLogsNoError) {
  OpenBNNSSetDefaultThreads(0);
  BNNSFilterDestroy(nullptr);
  for (const Message& m : messages_) EXPECT_NE(m.level, OpenBNNSLogLevelError) << m.text;
}

// A callback may use the library: no lock is held while it runs.
TEST_F(LogCallback, MayCallTheLibrary) {
  std::string inside;
  OpenBNNSSetLogCallback(
      [](OpenBNNSLogLevel, const char*, void* user) {
        OpenBNNSSetLogCallback(nullptr, nullptr);
        fail_with_size();
        *static_cast<std::string*>(user) = OpenBNNSGetLastError();
      },
      &inside);
  fail_with_null();
  EXPECT_EQ(inside, kSizeReason);
}

TEST(LogEnvironment, NothingIsPrintedUnasked) {
  for (const char* variable : {"OPENBNNS_LOG=", "OPENBNNS_UNUSED=error"}) {
    const test::Output child = test::run_self({"--child"}, {variable});
    EXPECT_EQ(child.code, 0);
    EXPECT_EQ(child.out, "") << variable;
    EXPECT_EQ(child.err, "") << variable;
  }
}

TEST(LogEnvironment, UnknownValuesAreReportedOnce) {
  for (const std::string value : {"loud", "errors", "err", "warn", "2", " info", "INFOS"}) {
    const test::Output child = test::run_self({"--child"}, {"OPENBNNS_LOG=" + value});
    EXPECT_EQ(child.code, 0);
    EXPECT_EQ(child.out, "");
    EXPECT_EQ(child.err, "openbnns warning: OPENBNNS_LOG is \"" + value +
                             "\"; it must be error, warning or info; it is ignored\n");
  }
}

// No call of the child is worth a warning, so both levels show its errors.
TEST(LogEnvironment, ErrorAndWarningShowErrors) {
  for (const char* value : {"error", "Error", "ERROR", "warning", "WarNing"}) {
    const test::Output child = test::run_self({"--child"}, {std::string("OPENBNNS_LOG=") + value});
    EXPECT_EQ(child.code, 0);
    EXPECT_EQ(child.out, "");
    EXPECT_EQ(child.err, std::string("openbnns error: ") + kNullReason +
                             "\nopenbnns error: " + kSizeReason + "\n")
        << value;
  }
}

TEST(LogEnvironment, InfoShowsAll) {
  for (const char* value : {"info", "Info", "INFO"}) {
    const test::Output child = test::run_self({"--child"}, {std::string("OPENBNNS_LOG=") + value});
    EXPECT_EQ(child.out, "");
    EXPECT_NE(child.err.find(kNullReason), std::string::npos) << child.err;
    EXPECT_NE(child.err.find("openbnns info: BNNSFilterCreateLayerFullyConnected: "),
              std::string::npos)
        << child.err;
  }
}

TEST(LogEnvironment, ACallbackReplacesStderr) {
  const test::Output child = test::run_self({"--child", "silent"}, {"OPENBNNS_LOG=info"});
  EXPECT_EQ(child.err, "");
}

// Exit code of a child that has no locale with a decimal comma.
constexpr int kNoLocale = 77;

int print_with_comma_locale() {
  if (std::setlocale(LC_NUMERIC, "de_DE.UTF-8") == nullptr) return kNoLocale;
  if (std::strcmp(std::localeconv()->decimal_point, ",") != 0) return kNoLocale;
  std::fputs(bnns::impl::Text("alpha is ", 0.5, ", beta is ", -1234.25).c_str(), stdout);
  return 0;
}

// Numbers in messages are written with a point whatever the program's locale. If none with a comma
// is installed, one is made, where the C library has the tool for it.
TEST(LogLocale, NoDecimalComma) {
  test::Output child = test::run_self({"--child", "locale"}, {});
  if (child.code == kNoLocale) {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("openbnns_locale_" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    std::ofstream(folder / "source")
        << "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n";
    // -c: the other categories are missing, which is not the end of it.
    const std::string command = "cd " + folder.string() +
                                " && localedef -c -i ./source -f UTF-8 ./de_DE.UTF-8 "
                                "> /dev/null 2>&1";
    static_cast<void>(!std::system(command.c_str()));  // a failure shows in the child
    child = test::run_self({"--child", "locale"}, {"LOCPATH=" + folder.string()});
    std::filesystem::remove_all(folder);
  }
  if (child.code == kNoLocale) GTEST_SKIP() << "there is no locale with a decimal comma";
  EXPECT_EQ(child.code, 0);
  EXPECT_EQ(child.out, "alpha is 0.5, beta is -1234.25");
}

TEST(Text, WritesEveryKindOfValue) {
  using bnns::impl::Text;
  EXPECT_STREQ(Text("a ", 'b', ' ', -3, ' ', size_t{7}, ' ', true, ' ', 1.5).c_str(),
               "a b -3 7 true 1.5");
  EXPECT_STREQ(Text(INT64_MIN, ' ', UINT64_MAX).c_str(),
               "-9223372036854775808 18446744073709551615");
  EXPECT_STREQ(Text(static_cast<const char*>(nullptr)).c_str(), "NULL");
  EXPECT_STREQ(Text(BNNSDataTypeFloat32).c_str(), "65568");
  EXPECT_STREQ(Text(std::numeric_limits<double>::quiet_NaN()).c_str(), "nan");
  EXPECT_STREQ(Text(-std::numeric_limits<double>::infinity()).c_str(), "-inf");
}

TEST(Text, IsCutAtItsCapacity) {
  using bnns::impl::Text;
  for (size_t length = Text::kCapacity - 3; length < Text::kCapacity + 3; ++length) {
    const std::string piece(length, 'y');
    const Text text(piece.c_str(), 12345, "tail");
    EXPECT_EQ(std::strlen(text.c_str()), Text::kCapacity - 1);
    EXPECT_EQ(std::string_view(text.c_str()).substr(0, Text::kCapacity - 3),
              std::string_view(piece).substr(0, Text::kCapacity - 3));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--child") == 0) {
    if (argc > 2 && std::strcmp(argv[2], "locale") == 0) return print_with_comma_locale();
    if (argc > 2) OpenBNNSSetLogCallback(nullptr, nullptr);
    fail_with_null();
    fail_unsupported();
    fail_with_size();
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
