#include "import/shared/json_scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace gprof {
namespace {

using Kind = JsonPiece::Kind;
using Status = JsonScanner::Status;
using testing::ElementsAre;
using testing::Pair;

Status StatusOf(std::string_view text) {
  JsonScanner scanner(text);
  JsonPiece value;
  return scanner.ReadValue(&value) ? Status::kGood : scanner.status();
}

std::string Text(std::string_view json) {
  JsonScanner scanner(json);
  JsonPiece value;
  std::string buffer;
  return scanner.ReadValue(&value) ? std::string(Unescaped(value, &buffer)) : "(not read)";
}

std::vector<std::pair<std::string, std::string>> Members(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> members;
  JsonScanner(text).ReadObject(
      [&](std::string_view key, const JsonPiece& value) { members.emplace_back(key, value.text); });
  return members;
}

TEST(JsonScanner, ReadsMembersAsTheyAreWritten) {
  EXPECT_THAT(Members(R"( { "a" : 1.50, "b":"x\"y" ,"c": [1, {"d": "]}"}], "e":null,"f":true } )"),
              ElementsAre(Pair("a", "1.50"), Pair("b", R"(x\"y)"), Pair("c", R"([1, {"d": "]}"}])"), Pair("e", "null"),
                          Pair("f", "true")));
  EXPECT_THAT(Members("{}"), testing::IsEmpty());
  EXPECT_THAT(Members(R"({"a": 1,})"), ElementsAre(Pair("a", "1")));
}

TEST(JsonScanner, TakesNumbersThatJsonDoesNotHave) {
  for (const char* text : {"NaN ", "-Infinity ", "inf ", "-nan ", "+1 ", "-.5 "})
    EXPECT_EQ(StatusOf(text), Status::kGood) << text;
  for (const char* text : {"Nah ", "truth ", "undefined ", "- ", "' ", ": "})
    EXPECT_EQ(StatusOf(text), Status::kBad) << text;
}

TEST(JsonScanner, KnowsWhatIsCutFromWhatIsWrong) {
  const std::string whole = R"({"a": ["b\\", {"c": -1.5e3}], "d": {"e": "é\n"}} )";
  for (std::size_t size = 0; size + 1 < whole.size(); ++size)
    EXPECT_EQ(StatusOf(whole.substr(0, size)), Status::kCut) << size;
  EXPECT_EQ(StatusOf(whole), Status::kGood);
  EXPECT_EQ(StatusOf(R"({"a": [1} ])"), Status::kBad);
  EXPECT_EQ(StatusOf("]"), Status::kBad);
}

TEST(JsonScanner, FindsTheEndOfStringsOfEveryLength) {
  for (std::size_t size = 0; size < 40; ++size) {
    for (std::size_t escape = 0; escape <= size; ++escape) {
      const std::string inside = std::string(escape, 'x') + R"(\")" + std::string(size - escape, '\x80');
      const std::string text = "\"" + inside + "\"!";
      JsonScanner again(text);
      JsonPiece value;
      ASSERT_TRUE(again.ReadValue(&value));
      EXPECT_EQ(value.text, inside);
      EXPECT_EQ(again.Peek(), '!');
    }
  }
}

TEST(JsonScanner, EscapesAreUndone) {
  EXPECT_EQ(Text(R"("a\"b\\c\/d\b\f\n\r\t")"), "a\"b\\c/d\b\f\n\r\t");
  EXPECT_EQ(Text(R"("\u0041\u00e9\u20ac\ud83d\ude00")"), "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(Text(R"("\ud83d \ude00 \ud83dx")"), "\xEF\xBF\xBD \xEF\xBF\xBD \xEF\xBF\xBDx");
  EXPECT_EQ(Text(R"("C:\data\u12")"), R"(C:\data\u12)");
  EXPECT_EQ(Text("\"\xFF\xFE\""), "\xFF\xFE");  // no UTF-8: as it is
}

TEST(JsonScanner, DepthIsBounded) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(StatusOf(nested(JsonScanner::kMaxDepth)), Status::kGood);
  EXPECT_EQ(StatusOf(nested(JsonScanner::kMaxDepth + 1)), Status::kBad);
  EXPECT_EQ(StatusOf(std::string(10'000'000, '[')), Status::kBad);
}

}  // namespace
}  // namespace gprof
