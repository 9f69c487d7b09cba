// From the registers of a thread and a copy of its stack to the stack of its calls.
#pragma once

#include <cstdint>
#include <vector>

#include "unwind/address_space.h"
#include "unwind/cfi.h"
#include "unwind/registers.h"

namespace gprof {

struct UnwoundFrame {
  // Within the instruction that runs or that called, not behind it: the function of the latter may end with the call.
  uint64_t address = 0;
  const CodeMapping* mapping = nullptr;  // of the address space; null where no code is known to be
  bool is_guessed = false;               // found without unwind tables
  // As they are in that function: those that its callees keep, and where its part of the stack begins. Nothing where
  // the frame was found otherwise.
  Registers registers;
};

enum class StackEnd : uint8_t {
  kWhole,
  kCopyEnded,   // the rest of the stack was not copied
  kNotUnwound,  // nothing says where the caller is, or what says it is wrong
  kTooDeep,
};

class Unwinder {
 public:
  static constexpr std::size_t kMostFrames = 512;

  // The innermost frame first. Other address spaces must have other numbers, and one that has changed a new one.
  StackEnd Unwind(const AddressSpace& space, uint64_t space_number, const Registers& registers, const StackCopy& stack,
                  std::vector<UnwoundFrame>* frames);

 private:
  struct Cached {
    uint64_t address = 0, space = 0;
    const CodeMapping* mapping = nullptr;
    bool has_row = false;
    UnwindRow row;
  };
  const Cached& Look(const AddressSpace& space, uint64_t number, uint64_t address);

  std::vector<Cached> cache_;
};

}  // namespace gprof
