// Reads JSON without a copy and without a tree: values are pieces of the text.
//
// As forgiving as readers of traces have to be: bytes that are no UTF-8, control characters in strings, NaN and
// Infinity, a comma too many. A parser that checks all of it refuses whole traces for one such byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gprof {

// A value, as a piece of the text.
struct JsonPiece {
  enum class Kind : uint8_t { kMissing, kString, kNumber, kObject, kArray, kTrue, kFalse, kNull };
  std::string_view text;  // strings: what is between the quotes, as it is written; else all of it
  Kind kind = Kind::kMissing;
  bool has_escapes = false;

  bool IsText() const { return kind == Kind::kString; }
  // Some tools write numbers as strings.
  bool IsNumber() const { return kind == Kind::kNumber || kind == Kind::kString; }
};

// The string without its escapes; `buffer` holds it where there are any.
std::string_view Unescaped(const JsonPiece& value, std::string* buffer);

class JsonScanner {
 public:
  enum class Status : uint8_t {
    kGood,
    kCut,  // the text ends within a value
    kBad,
  };
  static constexpr std::size_t kMaxDepth = 512;

  explicit JsonScanner(std::string_view text)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  Status status() const { return status_; }
  std::size_t position() const { return static_cast<std::size_t>(at_ - begin_); }
  void SetPosition(std::size_t position) {
    at_ = begin_ + position;
    status_ = Status::kGood;
  }

  // The next character that is not blank, 0 at the end of the text.
  char Peek() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
    return at_ < end_ ? *at_ : '\0';
  }
  // Takes that character if it is this one.
  bool Take(char c) {
    if (Peek() != c || at_ == end_) return false;
    ++at_;
    return true;
  }

  // False: see status(). Containers are taken as a whole.
  bool ReadValue(JsonPiece* value);
  // Calls f(key, value) for every member of the object that comes next.
  template <class F>
  bool ReadObject(F&& f);
  // Calls f(value) for every element of the array that comes next.
  template <class F>
  bool ReadArray(F&& f);

 private:
  bool Fail() {
    status_ = at_ >= end_ ? Status::kCut : Status::kBad;
    return false;
  }
  bool ReadString(JsonPiece* value);
  bool ReadWord(JsonPiece* value);
  bool SkipContainer();
  bool ReadKey(JsonPiece* key) { return (Peek() == '"' && ReadString(key) && Take(':')) || Fail(); }

  const char* begin_;
  const char* at_;
  const char* end_;
  Status status_ = Status::kGood;
};

template <class F>
bool JsonScanner::ReadObject(F&& f) {
  if (!Take('{')) return Fail();
  while (!Take('}')) {
    JsonPiece key, value;
    if (!ReadKey(&key) || !ReadValue(&value)) return false;
    f(key.text, value);
    if (!Take(',') && Peek() != '}') return Fail();
  }
  return true;
}

template <class F>
bool JsonScanner::ReadArray(F&& f) {
  if (!Take('[')) return Fail();
  while (!Take(']')) {
    JsonPiece value;
    if (!ReadValue(&value)) return false;
    f(value);
    if (!Take(',') && Peek() != ']') return Fail();
  }
  return true;
}

}  // namespace gprof
