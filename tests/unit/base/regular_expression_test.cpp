#include "base/expression/regular_expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gprof/error.h"

namespace gprof {
namespace {

using ::testing::HasSubstr;

Error ErrorOf(const std::string& text) {
  try {
    RegularExpression(text, "example: x");
  } catch (const Error& error) {
    return error;
  }
  return {ExitCode::kGood, "taken: " + text};
}

TEST(RegularExpression, MatchesAnywhere) {
  EXPECT_TRUE(RegularExpression("gemm|conv", "")("void my_conv<int>()"));
  EXPECT_TRUE(RegularExpression("^[a-z]+_\\d{2}$", "")("scale_12"));
  EXPECT_FALSE(RegularExpression("^gemm$", "")("gemm2"));
  EXPECT_TRUE(RegularExpression("gemm", "")("\xff gemm"));
  EXPECT_TRUE(RegularExpression("[[:upper:]]\\(", "")("aF("));
}

TEST(RegularExpression, WhatRe2DoesNotHaveIsAnErrorThatSaysSo) {
  for (const char* text : {"(a)\\1", "(?=a)", "(?!a)b", "(?<=a)b", "(?<!a)b", "\\cA", "\\u0041"}) {
    const Error error = ErrorOf(text);
    EXPECT_EQ(error.code(), ExitCode::kUsage) << text;
    EXPECT_THAT(error.what(), HasSubstr(std::string("'") + text + "' is not a valid regular expression")) << text;
    EXPECT_THAT(error.hint(), HasSubstr("without back references")) << text;
  }
  EXPECT_EQ(ErrorOf("[").hint(), "example: x");
  EXPECT_EQ(ErrorOf("\xff").code(), ExitCode::kUsage);
}

TEST(RegularExpression, WhatWouldTakeTooMuchIsAnError) {
  EXPECT_EQ(ErrorOf("a{1001}").code(), ExitCode::kUsage);
  EXPECT_EQ(ErrorOf("((a{100}){100}){100}").code(), ExitCode::kUsage);
  EXPECT_LT(std::string(ErrorOf("\\1" + std::string(100'000, 'a')).what()).size(), 400u);
  // Deep ones are no problem for RE2.
  EXPECT_TRUE(RegularExpression(std::string(10'000, '(') + "a" + std::string(10'000, ')'), "")("ba"));
}

// An engine that goes back takes 2^n steps for the first, one that recurses a frame for each character of the second.
TEST(RegularExpression, NeitherTimeNorDepthGrowBeyondTheText) {
  EXPECT_FALSE(RegularExpression("(x+x+)+y", "")(std::string(100'000, 'x')));
  EXPECT_TRUE(RegularExpression("(.|a)*b$", "")(std::string(10'000'000, 'a') + "b"));
}

bool IsPosix(const std::string& text) {
  try {
    RequirePosixExpression("-k", text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("-k: '"));
    return false;
  }
  return true;
}

TEST(PosixExpression, WhatTheMatcherOfLibcMayNeverEndWithIsRefused) {
  for (const char* text : {"", "gemm|conv", "^layer[0-9]+$", "[[:alnum:]_]{2,3}", "a\\.b", "(x+x+)+y", "\\bgemm\\b"})
    EXPECT_TRUE(IsPosix(text)) << text;
  for (const char* text : {"(a*)*\\1", "((a{255}){255}){255}", "[", "(", "a{2,1}", "\\w", "\\d", "(?:a)"})
    EXPECT_FALSE(IsPosix(text)) << text;
  EXPECT_FALSE(IsPosix(std::string(100'000, '(') + "a" + std::string(100'000, ')')));
}

}  // namespace
}  // namespace gprof
