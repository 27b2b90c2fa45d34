// JSON of unknown origin: what is accepted is what the grammar says, and every other text is
// refused with its place.
#include "train/files/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <sys/stat.h>

#include "files/support.h"
#include "train/files/input_file.h"
#include "train/files/text.h"

namespace bnns::train::impl {
namespace {

using nlohmann::json;
using test::expect_error;

json parse(std::string_view text, const JsonLimits& limits = {}) {
  return parse_json(text, "net.json", Error::Kind::network, limits);
}

TEST(Json, ReadsEveryKindOfValue) {
  const json value = parse(R"( { "a" : [ 1 , -2, 3.5e-1, true, false, null, "x\n\"\u00e9" ],
                               "b":{}, "c":[], "" : "" } )");
  EXPECT_EQ(value["a"], json::parse(R"([1,-2,0.35,true,false,null,"x\n\"\u00e9"])"));
  EXPECT_TRUE(value["b"].is_object() && value["b"].empty());
  EXPECT_TRUE(value["c"].is_array() && value["c"].empty());
  EXPECT_EQ(value[""], "");
}

TEST(Json, KeepsNumbersExact) {
  EXPECT_EQ(parse("18446744073709551615").get<std::uint64_t>(), ~std::uint64_t{0});
  EXPECT_EQ(parse("-9223372036854775808").get<std::int64_t>(),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse("0.1").get<double>(), 0.1);
  EXPECT_EQ(parse("1E+2").get<double>(), 100);
  EXPECT_EQ(parse("-0").get<std::int64_t>(), 0);
}

TEST(Json, DecodesEscapes) {
  EXPECT_EQ(parse(R"("\"\\\/\b\f\n\r\t\u0041\u00E9\u20ac\ud83d\ude00")").get<std::string>(),
            "\"\\/\b\f\n\r\tA\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(parse(R"("\u0000")").get<std::string>(), std::string(1, '\0'));
}

TEST(Json, RefusesWhatIsNoJson) {
  const std::string texts[] = {"",
                               " ",
                               "{",
                               "[",
                               "}",
                               "]",
                               "[1,]",
                               "{\"a\":1,}",
                               "{,}",
                               "[,]",
                               "{\"a\"}",
                               "{\"a\" 1}",
                               "{a:1}",
                               "{'a':1}",
                               "{1:1}",
                               "[1 2]",
                               "[1;2]",
                               "1 2",
                               "{} {}",
                               "01",
                               "-",
                               "+1",
                               ".5",
                               "1.",
                               "1e",
                               "1e+",
                               "-01",
                               "0x10",
                               "1_0",
                               "NaN",
                               "Infinity",
                               "-Infinity",
                               "nul",
                               "nulll",
                               "tru",
                               "True",
                               "falsee",
                               "\"",
                               "\"a",
                               "\"\\\"",
                               "\"\\x41\"",
                               "\"\\u12\"",
                               "\"\\u12G4\"",
                               "\"\\u-123\"",
                               "\"\\ud800\"",
                               "\"\\ud800x\"",
                               "\"\\udc00\"",
                               "\"\\ud800\\u0041\"",
                               "\"\n\"",
                               "\"\t\"",
                               "/* */ 1",
                               "1 // x",
                               "[1]]",
                               "{\"a\":}",
                               "{\"a\":1 \"b\":2}",
                               "{{}}"};
  for (const std::string& text : texts) {
    SCOPED_TRACE(text);
    expect_error([&] { parse(text); }, Error::Kind::network, {"net.json: line "});
    EXPECT_FALSE(json::accept(text));
  }
  using namespace std::string_literals;
  for (const std::string& text : {"{}\0"s, "\0"s, "[1,\0 2]"s, "\"\0\""s, "\xEF\xBB\xBF{}"s}) {
    expect_error([&] { parse(text); }, Error::Kind::network, {"net.json: line 1"});
  }
}

TEST(Json, RefusesBytesThatAreNoUtf8) {
  for (const char* bytes : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80",
                            "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF",
                            "\xC3", "\xE2\x82", "\xF0\x9F\x98", "\xC3(", "\xE2\x28\xA1"}) {
    const std::string text = "\n[\"" + std::string(bytes) + "\"]";
    expect_error([&] { parse(text); }, Error::Kind::network,
                 {"line 2, column 3: this is not UTF-8"});
  }
}

TEST(Json, RefusesDuplicateKeysAlsoInOtherSpelling) {
  expect_error([] { parse("{\"a\": 1,\n \"b\": 2, \"a\": 1}"); }, Error::Kind::network,
               {"line 2", "key \"a\" appears twice"});
  expect_error([] { parse(R"([{"x":{"a":1,"\u0061":2}}])"); }, Error::Kind::network,
               {"key \"a\" appears twice"});
  EXPECT_EQ(parse(R"([{"a":1},{"a":2}])").size(), 2u);
}

TEST(Json, RefusesNumbersThatDoNotFit) {
  for (const char* text : {"18446744073709551616", "-9223372036854775809", "1e400", "-1e400",
                           "1e-400", "99999999999999999999999"}) {
    expect_error([&] { parse(text); }, Error::Kind::network, {"net.json", text, "does not fit"});
  }
}

TEST(Json, LimitsDepthAndSize) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_NO_THROW(parse(nested(32)));
  expect_error([&] { parse(nested(33)); }, Error::Kind::network,
               {"column 33", "more than 32 levels"});
  expect_error([&] { parse(std::string(1000000, '[')); }, Error::Kind::network, {"levels"});
  std::string bomb;
  for (int i = 0; i < 1000; ++i) bomb += "{\"a\":";
  expect_error([&] { parse(bomb); }, Error::Kind::network, {"levels"});
  expect_error([&] { parse("[1, 2, 3]", {.bytes = 8}); }, Error::Kind::network,
               {"it has 9 bytes; at most 8"});
}

TEST(Json, ReadsFilesAndRefusesWhatIsNone) {
  const test::TemporaryFolder folder;
  test::write_bytes(folder / "a.json", "{\"k\": [1, 2");
  expect_error([&] { read_json_file(folder / "a.json", Error::Kind::network); },
               Error::Kind::network, {"a.json: line 1, column 12: ',' or ']'"});
  test::write_bytes(folder / "b.json", "{\"k\": [1, 2]}");
  EXPECT_EQ(read_json_file(folder / "b.json", Error::Kind::network)["k"][1], 2);
  expect_error([&] { read_json_file(folder / "b.json", Error::Kind::network, {.bytes = 4}); },
               Error::Kind::file, {"b.json", "it has 13 bytes; at most 4"});
  expect_error([&] { read_json_file(folder / "none", Error::Kind::network); }, Error::Kind::file,
               {"none: cannot read: No such file"});
  expect_error([&] { read_json_file(folder.path(), Error::Kind::network); }, Error::Kind::file,
               {"it is a folder"});
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_error([&] { read_json_file(folder / "pipe", Error::Kind::network); }, Error::Kind::file,
               {"no regular file"});
}

TEST(Text, InQuotesShowsNoControlCharacters) {
  EXPECT_EQ(in_quotes("a\x1B[31m\xC2\x9B\xFF\xC3\xA9"), "\"a\\x1B[31m\\xC2\\x9B\\xFF\xC3\xA9\"");
  EXPECT_EQ(in_quotes(std::string(100, 'x')), "\"" + std::string(60, 'x') + "...\"");
  EXPECT_EQ(make_utf8("a\xFF\xC3\xA9"), "a\xEF\xBF\xBD\xC3\xA9");
}

}  // namespace
}  // namespace bnns::train::impl
