#include "html/page/page.h"

#include <gtest/gtest.h>

#include <string>

#include "../analysis/trace_maker.h"
#include "gprof/error.h"
#include "html/page/base64.h"
#include "html/view/browser.h"

namespace gprof::test {
namespace {

std::string Base64Of(std::string_view first, std::string_view second = "") {
  Base64 base64;
  std::string out;
  base64.Add(first, &out);
  base64.Add(second, &out);
  base64.Finish(&out);
  return out;
}

TEST(Base64, IsThatOfTheStandard) {
  EXPECT_EQ(Base64Of(""), "");
  EXPECT_EQ(Base64Of("f"), "Zg==");
  EXPECT_EQ(Base64Of("fo"), "Zm8=");
  EXPECT_EQ(Base64Of("foo"), "Zm9v");
  EXPECT_EQ(Base64Of("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64Of("\xFF\xFE\xFD"), "//79");
}

TEST(Base64, PiecesDoNotShow) {
  const std::string text = "any carnal pleasure";
  for (std::size_t i = 0; i <= text.size(); ++i) EXPECT_EQ(Base64Of(text.substr(0, i), text.substr(i)), Base64Of(text));
}

std::string SeptetsOf(std::string_view first, std::string_view second = "") {
  Septets septets;
  std::string out;
  septets.Add(first, &out);
  septets.Add(second, &out);
  septets.Finish(&out);
  return out;
}

// The same as in tests/web/maths.test.ts, which reads them.
TEST(Septets, ReservedCharactersArePaired) {
  EXPECT_EQ(SeptetsOf(""), "");
  EXPECT_EQ(SeptetsOf("\x03"), "\x01@");
  EXPECT_EQ(SeptetsOf(std::string_view("\0", 1)), "\u0100");
  EXPECT_EQ(SeptetsOf("ab`"), "0XL\u0280");
  EXPECT_EQ(SeptetsOf("\x01\xFC\xFF\xFF"), "\u017F\x1F\x7Fx");
  EXPECT_EQ(SeptetsOf(std::string(6, '\xFF') + '\xBC'), std::string(7, '\x7F') + "\u02BC");
}

TEST(Septets, PiecesDoNotShow) {
  std::string text;
  for (int i = 0; i < 600; ++i) text += static_cast<char>(i * 31 % 257);
  for (std::size_t i = 0; i <= text.size(); ++i)
    EXPECT_EQ(SeptetsOf(text.substr(0, i), text.substr(i)), SeptetsOf(text));
  EXPECT_EQ(SeptetsOf(text).find_first_of(std::string_view("\0\r<", 3)), std::string::npos);
}

TEST(Escape, TextStaysText) { EXPECT_EQ(EscapeForText("<b>&\"x\"'"), "&lt;b&gt;&amp;&quot;x&quot;'"); }

TEST(FileUrl, SpecialCharactersAreEncoded) {
  EXPECT_EQ(FileUrl("/tmp/a b%#?ü.html"), "file:///tmp/a%20b%25%23%3F%C3%BC.html");
}

std::string Write(const PageContents& contents) {
  std::string text;
  OutputStream stream([&text](std::string_view bytes) { text += bytes; }, false);
  WritePage(contents, stream);
  stream.Finish();
  return text;
}

std::size_t CountOf(std::string_view text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(Page, HostileNamesAddNoElements) {
  if (!HasPage()) {
    PageContents contents;
    EXPECT_THROW(Write(contents), Error);
    GTEST_SKIP() << "this build has no page";
  }
  const std::string hostile = "</script><script>alert(1)</script><!--\"'&\xE2\x80\xAE\xFF{{script}}{{events}}";
  const auto page = [](const std::string& name) {
    TraceMaker maker;
    maker.Launch(0, 10, 20, 30).name = maker.Name(name);
    maker.AddRange(0, 50, name);
    const Trace trace = maker.Finish();
    PageContents contents;
    contents.title = name;
    contents.verdict = name;
    contents.report = "{\"findings\":[]}";
    contents.places.push_back({0, "name:\"" + name + "\""});
    contents.timelines.push_back({AnalysisInput(trace), name, ""});
    return Write(contents);
  };
  const std::string good = page("good"), bad = page(hostile);
  for (const std::string_view tag : {"<script", "</script", "<style", "</style", "<title", "</title", "<!--"})
    EXPECT_EQ(CountOf(bad, tag), CountOf(good, tag)) << tag;
  EXPECT_EQ(bad.find("alert(1)</"), std::string::npos);
  EXPECT_EQ(bad.find('\xFF'), std::string::npos);
  EXPECT_EQ(CountOf(good, "{{"), CountOf(page("other"), "{{"));
}

}  // namespace
}  // namespace gprof::test
