// What .eh_frame says: at an address of code, where the registers of the caller are. Of files, for stacks that were
// copied, and of modules in memory, for threads that walk their own: nothing is allocated, and nothing of libstdc++ is
// called.
#pragma once

#include <array>
#include <cstdint>

#include "unwind/byte_reader.h"
#include "unwind/registers.h"

namespace gprof {

enum class UnwindRuleKind : uint8_t {
  kSame,
  kUndefined,
  kAtOffset,  // in memory, from the CFA on
  kOffset,    // the CFA and so much
  kRegister,  // in another register
  kAtExpression,
  kExpression,
};

struct RegisterRule {
  UnwindRuleKind kind = UnwindRuleKind::kSame;
  uint8_t other = 0;
  int32_t offset = 0;
  Bytes expression;
};

// The CFA is what the stack pointer of the caller will be.
struct UnwindRow {
  RegisterRule cfa;  // kOffset from the register `other`, or kExpression
  std::array<RegisterRule, kRegisters> rules;
  uint32_t return_register = kReturnRegister;
  bool is_signal_frame = false;
};

struct UnwindTables {
  uint64_t index = 0;  // the address of .eh_frame_hdr, 0 for none
  const void* image = nullptr;
  Bytes (*at)(const void* image, uint64_t address) = nullptr;  // from an address on; empty where there is nothing
};

// False: the tables have nothing about that address.
bool FindUnwindRow(const UnwindTables& tables, uint64_t address, UnwindRow* row);

}  // namespace gprof
