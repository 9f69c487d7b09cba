// Columns of numbers as bytes: what src/web/shared/data.ts calls varint, delta and byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gprof/trace/bytes.h"

namespace gprof {

enum class Coding : uint8_t { kVarint, kDelta, kByte };

constexpr std::string_view CodingName(Coding coding) {
  constexpr std::string_view kNames[] = {"varint", "delta", "byte"};
  return kNames[static_cast<uint8_t>(coding)];
}

class ColumnWriter {
 public:
  ColumnWriter(std::string_view name, Coding coding) : name_(name), coding_(coding) {}

  void Add(uint64_t value) {
    has_values_ = has_values_ || value != 0;
    if (coding_ == Coding::kByte) {
      bytes_ += static_cast<char>(value);
    } else if (coding_ == Coding::kVarint) {
      AddVarint(value);
    } else {
      // Differences wrap around, as do the sums of those who read them.
      const uint64_t difference = value - before_;
      before_ = value;
      AddVarint(trace::ZigZag(static_cast<int64_t>(difference)));
    }
  }

  std::string_view name() const { return name_; }
  Coding coding() const { return coding_; }
  const std::string& bytes() const { return bytes_; }
  bool HasValues() const { return has_values_; }  // not all of them are zero
  void Clear() {
    bytes_.clear();
    before_ = 0;
    has_values_ = false;
  }

 private:
  void AddVarint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string_view name_;
  Coding coding_;
  std::string bytes_;
  uint64_t before_ = 0;
  bool has_values_ = false;
};

}  // namespace gprof
