// CSV files: how they are cut, what columns become, what is refused with which words.
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <locale>

#include "files.h"

namespace bnns::train {
namespace {

using Texts = std::vector<std::string>;
using Values = std::vector<float>;

Data open(const std::string& text, const TableOptions& options = {}) {
  Folder folder;
  return open_table(folder.write("t.csv", text), options);
}

void expect_refused(const std::string& text, const Texts& parts, const TableOptions& options = {},
                    Error::Kind kind = Error::Kind::data) {
  expect_error([&] { open(text, options); }, kind, parts);
}

Texts names(const Data& data) {
  Texts result;
  for (const TableColumn& column : data.description().columns) result.push_back(column.name);
  return result;
}

TEST(Table, NumbersAndRegression) {
  const Data data = open("height,width,price\n1.5,-2,10.25\n+3,4e1,-1e-3\n.5,0,7\n");
  EXPECT_EQ(data.description().task, Task::regression);
  EXPECT_EQ(data.description().kind, SampleKind::table);
  EXPECT_EQ(data.description().shape, (SampleShape{.width = 2}));
  EXPECT_EQ(data.description().target_names, Texts{"price"});
  EXPECT_EQ(names(data), (Texts{"height", "width"}));
  ASSERT_EQ(data.size(), 3u);
  EXPECT_EQ(sample(data, 1).values, (Values{3, 40}));
  EXPECT_EQ(sample(data, 1).targets, Values{-0.001f});
  EXPECT_EQ(sample(data, 0).targets, Values{10.25f});
}

TEST(Table, TextBecomesCategoriesAndClasses) {
  const Data data = open("colour,size,kind\nred,1,cat\nblue,2,dog\nred,3,ant\n?,4,cat\n");
  EXPECT_EQ(data.description().task, Task::classification);
  EXPECT_EQ(data.description().class_names, (Texts{"ant", "cat", "dog"}));
  EXPECT_EQ(data.description().columns[0].categories, (Texts{"blue", "red"}));
  EXPECT_EQ(sample(data, 0).values, (Values{0, 1, 1}));
  EXPECT_EQ(sample(data, 1).values, (Values{1, 0, 2}));
  EXPECT_EQ(sample(data, 3).values, (Values{0, 0, 4}));
  EXPECT_EQ(sample(data, 2).targets, Values{0});
  EXPECT_EQ(data.class_counts(), (std::vector<std::size_t>{1, 2, 1}));
}

TEST(Table, WholeNumbersAreClassesIfTheyAreFew) {
  const Data few = open("1.5,10\n2.5,9\n3.5,9.0\n4.5,10\n");
  EXPECT_EQ(few.description().task, Task::classification);
  EXPECT_EQ(few.description().class_names, (Texts{"9", "10"}));
  EXPECT_EQ(sample(few, 2).targets, Values{0});
  EXPECT_EQ(open("1,10\n2,9\n3,8\n").description().task, Task::regression);
  EXPECT_EQ(open("1,1\n2,1\n3,1.5\n4,1\n").description().task, Task::regression);
  EXPECT_EQ(open("1,1\n2,1\n3,2\n4,2\n", {.task = Task::regression}).description().task,
            Task::regression);
  EXPECT_EQ(open("1,10\n2,9\n3,8\n", {.task = Task::classification}).description().class_names,
            (Texts{"8", "9", "10"}));
}

TEST(Table, QuotesLineEndsAndMarks) {
  const Data data =
      open("\xEF\xBB\xBFname, \"a \"\"b\"\"\" ,y\r\n\"x, or\r\ny\",1,2.5\r\n\r\n z ,2 , 3\r\n");
  EXPECT_EQ(names(data), (Texts{"name", "a \"b\""}));
  EXPECT_EQ(data.description().columns[0].categories, (Texts{"x, or\r\ny", "z"}));
  ASSERT_EQ(data.size(), 2u);
  EXPECT_EQ(sample(data, 0).values, (Values{1, 0, 1}));
  EXPECT_EQ(sample(data, 1).values, (Values{0, 1, 2}));
  EXPECT_EQ(sample(data, 1).targets, Values{3});
  EXPECT_EQ(open("1,2\r3,4.5\r").size(), 2u);
  EXPECT_EQ(open("1,2\n3,4.5").size(), 2u);
}

TEST(Table, MissingNumbersAreNaN) {
  const Data data = open("a,b,y\n1,,1\nNA,2,2\nnan,?,3\nn/a,NULL,4\n");
  for (std::size_t n = 1; n < 4; ++n) EXPECT_TRUE(std::isnan(sample(data, n).values[0]));
  EXPECT_TRUE(std::isnan(sample(data, 0).values[1]));
  EXPECT_EQ(sample(data, 1).values[1], 2);
}

TEST(Table, DelimitersAndHeaders) {
  EXPECT_EQ(names(open("a;b;c\n1;2;3\n")), (Texts{"a", "b"}));
  EXPECT_EQ(names(open("a\tb, c\ty\n1\t\t3\n")), (Texts{"a", "b, c"}));
  EXPECT_EQ(names(open("a|b\n1|2\n", {.delimiter = '|'})), Texts{"a"});
  EXPECT_EQ(names(open("1,2,3\n4,5,6\n")), (Texts{"column 1", "column 2"}));
  EXPECT_EQ(names(open("2019,2020\n4,5\n", {.header = TableHeader::present})), Texts{"2019"});
  EXPECT_EQ(open("a,b\nc,d\n", {.header = TableHeader::absent}).size(), 2u);
  EXPECT_EQ(names(open(",b,y\n1,2,3\n")), (Texts{"column 1", "b"}));
}

TEST(Table, OptionsChooseColumns) {
  const std::string text = "id,y,zip,x\n7,0,10115,0.5\n8,1,80331,1.5\n9,0,10115,2\n6,1,80331,1\n";
  const Data data =
      open(text, {.target = "y", .ignored_columns = {"id"}, .category_columns = {"zip"}});
  EXPECT_EQ(names(data), (Texts{"zip", "x"}));
  EXPECT_EQ(data.description().class_names, (Texts{"0", "1"}));
  EXPECT_EQ(data.description().target_column, "y");
  EXPECT_EQ(sample(data, 1).values, (Values{0, 1, 1.5f}));
  expect_refused(text, {"target:", "no column \"z\"", "id, y, zip, x"}, {.target = "z"},
                 Error::Kind::usage);
  expect_refused(text, {"ignored_columns", "\"q\""}, {.ignored_columns = {"q"}},
                 Error::Kind::usage);
  expect_refused(text, {"ignored_columns", "is the target"}, {.ignored_columns = {"x"}},
                 Error::Kind::usage);
}

TEST(Table, RefusesBadForm) {
  expect_refused("", {"/t.csv:", "no row"});
  expect_refused("\n \n", {"no row"});
  expect_refused("a,b\n", {"no row below the header"});
  expect_refused("a,b\n1,2\n3\n", {"/t.csv:", "line 3", "1 fields", "first row has 2"});
  expect_refused("a,b\n\"1\n\n2\",3\n4,5,6\n", {"line 5", "3 fields"});
  expect_refused("a,b\n1,\"2\n3,4\n", {"line 2", "quote", "not closed"});
  expect_refused("a,b\n1,\"2\"x\n", {"line 2, field 2", "\"x\" follows a closing quote"});
  expect_refused("a,b,a\n1,2,3\n", {"columns 1 and 3", "\"a\""});
  expect_refused(std::string("a,b\n1,\0\n", 8), {"line 2", "zero byte"});
  expect_refused(
      "\xFF\xFE"
      "a",
      {"UTF-16"});
  expect_refused("a,y\n1,caf\xE9\n2,tea\n", {"line 2", "caf", "UTF-8"});
  expect_refused("caf\xE9,y\n1,2\n", {"line 1", "UTF-8"});
  expect_refused("y\n1\n2\n", {"beside the target", "0 input values"});
  expect_refused("a,b\n1," + std::string(17 << 20, 'x'), {"line 2", "more than 16777216 bytes"});
  expect_refused(std::string(100'001, ','), {"line 1", "more than 100000 fields"});
}

TEST(Table, RefusesBadValues) {
  std::string text = "age,y\n";
  for (int i = 0; i < 20; ++i) text += std::to_string(i) + ",0.5\n";
  expect_refused(text + "12a,1\n",
                 {"/t.csv: line 22, column \"age\"", "\"12a\" is no number", "20 of the 21"});
  expect_refused(text + "inf,1\n", {"line 22", "\"inf\"", "not finite"});
  expect_refused("a,y\n1,1\ninf,2\n3,3\n", {"line 3", "\"inf\"", "not finite"});
  expect_refused(text + "1e39,1\n", {"line 22", "\"1e39\"", "not finite"});
  expect_refused(text + "1e999,1\n", {"line 22", "\"1e999\"", "not finite"});
  expect_refused(text + "1,\n", {"line 22, column \"y\"", "target is missing"});
  expect_refused(text + "1,NaN\n", {"line 22, column \"y\"", "target is \"NaN\""});
  expect_refused("a;y\n1,5;2\n2,5;3\n", {"line 2, column \"a\"", "\"1,5\"", "decimal comma"});
  expect_refused("a,y\n1,x\n2,y\n", {"line 2, column \"y\"", "\"x\"", "regression needs numbers"},
                 {.task = Task::regression});
  expect_refused("a,y\n1,0.5\n2,1\n", {"column \"y\"", "fractions"},
                 {.task = Task::classification});
  std::string many = "name,y\n";
  for (int i = 0; i < 300; ++i) many += "n" + std::to_string(i) + ",1.5\n";
  expect_refused(many, {"line 258, column \"name\"", "\"n256\"", "at most 256 categories"});
}

TEST(Table, TheChecksumSeesEveryByte) {
  std::string text = "a,b\n";
  for (int row = 0; row < 300; ++row) text += "1,2\n";
  const std::uint64_t sum = open(text).checksum();
  EXPECT_EQ(open(text).checksum(), sum);
  text[text.size() - 4] = '3';
  EXPECT_NE(open(text).checksum(), sum);
}

TEST(Table, SmallNumbersAreZero) {
  const Data data = open("a,y\n1e-999,1.5\n0.1e-50,2\n");
  EXPECT_EQ(sample(data, 0).values[0], 0);
  EXPECT_EQ(sample(data, 1).values[0], 0);
}

TEST(Table, TheLocaleDoesNotMatter) {
  struct DecimalComma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
  };
  // For C++ always; for C where such a locale is installed or can be made.
  const std::locale before = std::locale::global(std::locale(std::locale(), new DecimalComma));
  Folder folder;
  const std::string command =
      "localedef -f UTF-8 -i de_DE " + folder.path("de_DE.UTF-8") + " >/dev/null 2>&1";
  if (std::system(command.c_str()) == 0) setenv("LOCPATH", folder.path().c_str(), 1);
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr) {
    EXPECT_EQ(std::strtod("1,5", nullptr), 1.5);
  }
  const Data data = open("a,y\n1.5,2.25\n3,4.5\n");
  EXPECT_EQ(sample(data, 0).values, Values{1.5f});
  EXPECT_EQ(sample(data, 0).targets, Values{2.25f});
  expect_refused("a,y\n1.5,0.5\n2,1\n", {"column \"y\"", "fractions"},
                 {.task = Task::classification});
  std::setlocale(LC_ALL, "C");
  std::locale::global(before);
}

TEST(Table, AChangedFileIsNoticed) {
  Folder folder;
  const std::string path = folder.write("t.csv", "a,y\n1,2.5\n3,4.5\n");
  const Data first = open_table(path), second = open_table(path), third = open_table(path);
  folder.write("t.csv", "a,y\n1;2.5\n3,4.5\n");
  expect_error([&] { sample(first, 0); }, Error::Kind::data, {"row 1 has 1 fields", "opened"});
  folder.write("t.csv", "a,y\nx,2.5\n3,4.5\n");
  expect_error([&] { sample(second, 0); }, Error::Kind::data, {"line 2, column \"a\"", "\"x\""});
  folder.write("t.csv", "a,y\n");
  expect_error([&] { sample(third, 1); }, Error::Kind::file, {"t.csv", "shorter"});
}

// A file of 40 MB: rows in any order, and no more memory than the places of its rows.
TEST(Table, LargeFilesAreNotKeptInMemory) {
  Folder folder;
  const std::string path = folder.path("t.csv");
  constexpr int kRows = kMeasuresMemory ? 400'000 : 40'000;
  {
    std::ofstream file(path);
    file << "number,text,filler,y\n";
    for (int i = 0; i < kRows; ++i) {
      file << i << ",t" << i % 7 << ',' << std::string(80, '1' + i % 9).insert(2, ".") << ','
           << i % 3 << '\n';
    }
  }
  const long before = peak_kilobytes();
  const Data data = open_table(path);
  ASSERT_EQ(data.size(), static_cast<std::size_t>(kRows));
  for (std::size_t i = 0; i < 4000; ++i) {
    const std::size_t n = i % 2 == 0 ? i : i * 7919 % kRows;
    const Sample s = sample(data, n);
    ASSERT_EQ(s.values[0], static_cast<float>(n));
    ASSERT_EQ(s.values[1 + n % 7], 1);
    ASSERT_EQ(s.targets[0], static_cast<float>(n % 3));
  }
  EXPECT_EQ(data.class_counts()[0], (kRows + 2) / 3u);
  if (kMeasuresMemory) {
    EXPECT_LT(peak_kilobytes() - before, 20 << 10);
  }
}

TEST(OpenData, Table) {
  Folder folder;
  std::string text = "x,y\n";
  for (int i = 0; i < 50; ++i) text += std::to_string(i) + (i % 2 == 0 ? ",even\n" : ",odd\n");
  const DataSplit parts = open_data(folder.write("T.CSV", text));
  EXPECT_EQ(parts.training.size(), 38u);
  EXPECT_EQ(parts.test.class_counts(), (std::vector<std::size_t>{3, 3}));
}

}  // namespace
}  // namespace bnns::train
