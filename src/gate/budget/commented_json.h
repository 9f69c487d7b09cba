// JSON as people write it: with // and /* */ comments and commas before closing brackets, and every value with the line
// that it stands in, so that a message about a budget can say where.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gprof {

struct JsonMember;

struct JsonValue {
  enum class Kind : uint8_t { kNull, kBool, kNumber, kText, kList, kObject };
  Kind kind = Kind::kNull;
  bool boolean = false;
  double number = 0;
  std::string text;
  std::vector<JsonValue> items;
  std::vector<JsonMember> members;  // in the order of the file; no key twice
  uint32_t line = 0;

  const JsonMember* Find(std::string_view key) const;
};

struct JsonMember {
  std::string key;
  JsonValue value;
  uint32_t line = 0;
};

// "a number", "a list": for messages.
std::string_view NameOf(JsonValue::Kind kind);

// Throws Error(kUsage), "path:12: …", for what is no such JSON, or nested too deeply, or has a key twice.
JsonValue ParseCommentedJson(std::string_view text, const std::string& path);

}  // namespace gprof
