#include "gate/budget/commented_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "gprof/error.h"

namespace gprof {
namespace {

using testing::HasSubstr;

std::string JsonProblemOf(std::string_view text) {
  try {
    ParseCommentedJson(text, "b.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "none";
}

TEST(CommentedJson, ReadsCommentsTrailingCommasAndLines) {
  const JsonValue value = ParseCommentedJson(
      "\xEF\xBB\xBF// first\n{\n  \"a\": [1, -2.5e3, true, null,], /* x\n y */\n  \"b\": \"c\",\n}\n//", "b.json");
  ASSERT_EQ(value.kind, JsonValue::Kind::kObject);
  EXPECT_EQ(value.line, 2u);
  const JsonMember* list = value.Find("a");
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->line, 3u);
  ASSERT_EQ(list->value.items.size(), 4u);
  EXPECT_EQ(list->value.items[1].number, -2500);
  EXPECT_TRUE(list->value.items[2].boolean);
  EXPECT_EQ(list->value.items[3].kind, JsonValue::Kind::kNull);
  EXPECT_EQ(value.Find("b")->value.text, "c");
  EXPECT_EQ(value.Find("b")->line, 5u);
  EXPECT_EQ(value.Find("c"), nullptr);
}

TEST(CommentedJson, ReadsEscapes) {
  EXPECT_EQ(ParseCommentedJson(R"("\u00B5s \uD83D\uDE00 \" \\ \/ \n \uD83D")", "b.json").text,
            "\u00B5s \U0001F600 \" \\ / \n \uFFFD");
}

TEST(CommentedJson, SaysWhereItIsBroken) {
  EXPECT_EQ(JsonProblemOf("{\n\"a\": 1\n\"b\": 2}"), "b.json:3: expected a comma or '}', not '\"b\": 2}'");
  EXPECT_EQ(JsonProblemOf("{\n\"a\": 5ms}"), "b.json:2: a value with a unit needs quotes, like \"200us\"");
  EXPECT_EQ(JsonProblemOf("{\"a\": 1,\n\"a\": 2}"), "b.json:2: \"a\" is a duplicate of line 1");
  EXPECT_EQ(JsonProblemOf("{\n\"a\": [1, 2"), "b.json:2: the file ends without the ']' that closes line 2");
  EXPECT_EQ(JsonProblemOf("{\n\"a: 1}\n"), "b.json:2: string without a closing quote");
  EXPECT_EQ(JsonProblemOf("/* a\n\n"), "b.json:1: unterminated comment");
  EXPECT_EQ(JsonProblemOf(""), "b.json:1: expected a value, not the end of the file");
  EXPECT_EQ(JsonProblemOf("{} x"), "b.json:1: unexpected text after the end: 'x'");
  EXPECT_THAT(JsonProblemOf("{\"a\" 1}"), HasSubstr("expected a colon after \"a\""));
  EXPECT_THAT(JsonProblemOf("{,}"), HasSubstr("expected a key in quotes"));
  EXPECT_THAT(JsonProblemOf(R"({"kernel:/a\d/": 1})"), HasSubstr("double it in regular expressions"));
  EXPECT_THAT(JsonProblemOf(R"("\u12G4")"), HasSubstr("four hexadecimal digits"));
  EXPECT_THAT(JsonProblemOf("1e999"), HasSubstr("expected a value"));
  EXPECT_THAT(JsonProblemOf(std::string(100'000, '[')), HasSubstr("nested too deeply"));
}

// Whatever somebody writes, there is a value or an Error.
TEST(CommentedJson, BearsAnything) {
  const std::string good =
      "{\"schema\": \"gprof.budget/1\", /* c */ \"rules\": {\"a@b\": [{\"max\": \"5ms\",}, -1.5e-3]}} // x\n";
  for (std::size_t size = 0; size <= good.size(); ++size) JsonProblemOf(good.substr(0, size));
  std::mt19937 random(7);
  const std::string alphabet = "{}[]\":,/*\\un0129.eE-+ \n\xC3\xFFtrufalse";
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (int i = 0; i < 4; ++i) text[random() % text.size()] = alphabet[random() % alphabet.size()];
    JsonProblemOf(text);
    std::string noise;
    for (std::size_t i = random() % 40; i > 0; --i) noise += alphabet[random() % alphabet.size()];
    JsonProblemOf(noise);
  }
}

}  // namespace
}  // namespace gprof
