// The registers of a thread, by the numbers that DWARF gives them, and the copy of its stack.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "unwind/byte_reader.h"

namespace gprof {

#ifdef __aarch64__
inline constexpr uint32_t kRegisters = 33, kFramePointer = 29, kReturnRegister = 30, kStackPointer = 31;
// Upper bits of a return address may hold its signature.
inline constexpr uint64_t kAddressMask = (uint64_t{1} << 48) - 1;
#else
inline constexpr uint32_t kRegisters = 17, kFramePointer = 6, kReturnRegister = 16, kStackPointer = 7;
inline constexpr uint64_t kAddressMask = ~uint64_t{0};
#endif

struct Registers {
  std::array<uint64_t, kRegisters> values = {};
  uint64_t known = 0;  // bit by number: whether the value is known
  uint64_t pc = 0;

  bool Knows(uint32_t number) const { return number < kRegisters && (known >> number & 1) != 0; }
  void Set(uint32_t number, uint64_t value) {
    values[number] = value;
    known |= uint64_t{1} << number;
  }
  void Forget(uint32_t number) { known &= ~(uint64_t{1} << number); }
};

struct StackCopy {
  uint64_t begin = 0;
  Bytes bytes;

  std::optional<uint64_t> Word(uint64_t address) const {
    const uint64_t into = address - begin;
    if (address < begin || into > bytes.size() || bytes.size() - into < sizeof(uint64_t)) return std::nullopt;
    uint64_t value;
    std::memcpy(&value, bytes.data() + into, sizeof value);
    return value;
  }
};

}  // namespace gprof
