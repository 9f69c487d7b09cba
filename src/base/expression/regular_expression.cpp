#include "base/expression/regular_expression.h"

#include <re2/re2.h>
#include <regex.h>

#include "base/text.h"
#include "gprof/error.h"

namespace gprof {
namespace {

RE2::Options Quiet() {
  RE2::Options options;
  options.set_log_errors(false);
  return options;
}

std::string NotValid(std::string_view text, const std::string& why) {
  constexpr std::size_t kLongestShown = 160;  // columns
  return "'" + ShortenMiddle(Printable(text), kLongestShown) + "' is not a valid regular expression: " + Printable(why);
}

}  // namespace

RegularExpression::RegularExpression(std::string_view text, const std::string& example)
    : expression_(std::make_shared<const re2::RE2>(re2::StringPiece(text.data(), text.size()), Quiet())) {
  if (expression_->ok()) return;
  const re2::RE2::ErrorCode code = expression_->error_code();
  const bool is_of_other_engines = code == RE2::ErrorBadEscape || code == RE2::ErrorBadPerlOp;
  constexpr const char* kNotThere =
      "the syntax is that of RE2, without back references (\\1) and lookaround ((?=...), (?<!...)); ";
  throw Error(ExitCode::kUsage, NotValid(text, expression_->error()), (is_of_other_engines ? kNotThere : "") + example);
}

bool RegularExpression::operator()(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *expression_);
}

void RequirePosixExpression(std::string_view option, const std::string& text) {
  constexpr std::size_t kMostBytes = 1000;  // libc goes a few frames deeper with each parenthesis
  RE2::Options options = Quiet();
  options.set_posix_syntax(true);
  options.set_word_boundary(true);
  const re2::RE2 expression(text, options);
  std::string why = text.size() > kMostBytes ? "it is longer than 1000 bytes" : expression.error();
  if (why.empty()) {
    regex_t libc;
    const int code = regcomp(&libc, text.c_str(), REG_EXTENDED | REG_NOSUB);
    if (code == 0) return regfree(&libc);
    char words[128];
    regerror(code, &libc, words, sizeof words);
    why = words;
  }
  throw Error(ExitCode::kUsage, std::string(option) + ": " + NotValid(text, why),
              "write an extended regular expression of POSIX, without back references (\\1), and [[:alnum:]_] for \\w");
}

}  // namespace gprof
