#include "gate/budget/commented_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "gprof/error.h"

namespace gprof {
namespace {

constexpr int kDeepest = 32;

void AppendUtf8(uint32_t code, std::string* out) {
  const auto add = [&](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | code >> 6);
    add(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    add(0xE0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  } else {
    add(0xF0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3F));
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  }
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& path) : text_(text), path_(path) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  JsonValue Parse() {
    JsonValue value = Value(0);
    SkipBlanks();
    if (at_ < text_.size()) Fail("unexpected text after the end: " + Seen());
    return value;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const { FailAt(line_, what); }

  [[noreturn]] void FailAt(uint32_t line, const std::string& what) const {
    throw Error(ExitCode::kUsage, path_ + ":" + std::to_string(line) + ": " + what);
  }

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool Take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  // What stands here, for messages.
  std::string Seen() const {
    if (at_ >= text_.size()) return "the end of the file";
    const std::string_view rest = text_.substr(at_, std::min<std::size_t>(20, text_.find_first_of("\r\n", at_) - at_));
    return "'" + Printable(rest) + "'";
  }

  void SkipBlanks() {
    for (;;) {
      while (at_ < text_.size() && (Peek() == ' ' || Peek() == '\t' || Peek() == '\r' || Peek() == '\n')) Step();
      if (Take("//")) {
        while (at_ < text_.size() && Peek() != '\n') ++at_;
      } else if (Take("/*")) {
        const uint32_t begun = line_;
        while (at_ < text_.size() && !text_.substr(at_).starts_with("*/")) Step();
        if (!Take("*/")) FailAt(begun, "unterminated comment");
      } else {
        return;
      }
    }
  }

  void Step() {
    if (Peek() == '\n') ++line_;
    ++at_;
  }

  JsonValue Value(int depth) {
    SkipBlanks();
    if (depth > kDeepest) Fail("nested too deeply");
    JsonValue value;
    value.line = line_;
    const char first = Peek();
    if (first == '{') {
      Object(depth, &value);
    } else if (first == '[') {
      List(depth, &value);
    } else if (first == '"') {
      value.kind = JsonValue::Kind::kText;
      value.text = Text();
    } else if (Take("true") || Take("false")) {
      value.kind = JsonValue::Kind::kBool;
      value.boolean = first == 't';
    } else if (!Take("null")) {
      value.kind = JsonValue::Kind::kNumber;
      value.number = Number();
    }
    return value;
  }

  void Object(int depth, JsonValue* value) {
    value->kind = JsonValue::Kind::kObject;
    ++at_;
    for (bool is_first = true;; is_first = false) {
      if (AtEndOf('}', is_first, value->line)) return;
      JsonMember member;
      member.line = line_;
      if (Peek() != '"') Fail("expected a key in quotes, not " + Seen());
      member.key = Text();
      SkipBlanks();
      if (!Take(":")) Fail("expected a colon after \"" + Printable(member.key) + "\", not " + Seen());
      if (const JsonMember* before = value->Find(member.key)) {
        FailAt(member.line, "\"" + Printable(member.key) + "\" is a duplicate of line " + std::to_string(before->line));
      }
      member.value = Value(depth + 1);
      value->members.push_back(std::move(member));
    }
  }

  void List(int depth, JsonValue* value) {
    value->kind = JsonValue::Kind::kList;
    ++at_;
    for (bool is_first = true;; is_first = false) {
      if (AtEndOf(']', is_first, value->line)) return;
      value->items.push_back(Value(depth + 1));
    }
  }

  // Takes the comma before the next element, or the bracket that ends them; a comma before that bracket is fine.
  bool AtEndOf(char bracket, bool is_first, uint32_t begun) {
    SkipBlanks();
    if (Take(std::string_view(&bracket, 1))) return true;
    if (at_ >= text_.size()) {
      Fail(std::string("the file ends without the '") + bracket + "' that closes line " + std::to_string(begun));
    }
    if (is_first) return false;
    if (!Take(",")) Fail(std::string("expected a comma or '") + bracket + "', not " + Seen());
    SkipBlanks();
    return Take(std::string_view(&bracket, 1));
  }

  double Number() {
    const char* const begin = text_.data() + at_;
    double number = 0;
    const auto [stop, error] = std::from_chars(begin, text_.data() + text_.size(), number);
    if (error != std::errc() || !std::isfinite(number)) Fail("expected a value, not " + Seen());
    at_ += static_cast<std::size_t>(stop - begin);
    const char next = Peek();
    if ((next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') || next == '%') {
      Fail("a value with a unit needs quotes, like \"200us\"");
    }
    return number;
  }

  std::string Text() {
    const uint32_t begun = line_;
    std::string out;
    for (++at_;; ++at_) {
      const char c = Peek();
      if (at_ >= text_.size() || c == '\n') FailAt(begun, "string without a closing quote");
      if (c == '"') break;
      if (c == '\\') {
        Escape(&out);
      } else {
        out += c;
      }
    }
    ++at_;
    return out;
  }

  void Escape(std::string* out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    ++at_;
    const std::size_t known = kLetters.find(Peek());
    if (at_ < text_.size() && known != std::string_view::npos) {
      *out += kMeanings[known];
    } else if (Peek() == 'u') {
      uint32_t code = Hex();
      if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_ + 1, 2) == "\\u") {
        at_ += 2;
        const uint32_t low = Hex();
        code = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : 0xFFFD;
      }
      AppendUtf8(code >= 0xD800 && code < 0xE000 ? 0xFFFD : code, out);
    } else {
      Fail("invalid escape; use \\ before \" \\ / b f n r t u only, and double it in regular expressions");
    }
  }

  // The four digits after the u; stays on the last of them.
  uint32_t Hex() {
    uint32_t code = 0;
    const std::string_view digits = text_.substr(std::min(at_ + 1, text_.size()), 4);
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (error != std::errc() || digits.size() != 4 || stop != digits.data() + 4)
      Fail("\\u needs four hexadecimal digits");
    at_ += 4;
    return code;
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t at_ = 0;
  uint32_t line_ = 1;
};

}  // namespace

const JsonMember* JsonValue::Find(std::string_view key) const {
  const auto found =
      std::find_if(members.begin(), members.end(), [key](const JsonMember& member) { return member.key == key; });
  return found == members.end() ? nullptr : &*found;
}

std::string_view NameOf(JsonValue::Kind kind) {
  switch (kind) {
    case JsonValue::Kind::kNull:
      return "null";
    case JsonValue::Kind::kBool:
      return "true or false";
    case JsonValue::Kind::kNumber:
      return "a number";
    case JsonValue::Kind::kText:
      return "a string";
    case JsonValue::Kind::kList:
      return "a list";
    case JsonValue::Kind::kObject:
      break;
  }
  return "an object";
}

JsonValue ParseCommentedJson(std::string_view text, const std::string& path) { return Parser(text, path).Parse(); }

}  // namespace gprof
