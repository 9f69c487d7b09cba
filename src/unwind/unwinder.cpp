#include "unwind/unwinder.h"

#include <cstddef>
#include <utility>

#include "unwind/expression.h"

namespace gprof {
namespace {

constexpr std::size_t kCacheEntries = 4096;
constexpr unsigned kCacheBits = 12;
static_assert(kCacheEntries == std::size_t{1} << kCacheBits);

enum class Step : uint8_t { kCaller, kOutermost, kCopyEnded, kUnknown };

// Where a rule says that the caller's register is.
enum class Value : uint8_t { kKnown, kUnknown, kBeyondCopy };

Value Apply(const RegisterRule& rule, uint32_t number, const Registers& now, const StackCopy& stack, uint64_t cfa,
            uint64_t* value) {
  std::optional<uint64_t> result;
  switch (rule.kind) {
    case UnwindRuleKind::kSame:
      if (now.Knows(number)) result = now.values[number];
      break;
    case UnwindRuleKind::kUndefined:
      break;
    case UnwindRuleKind::kAtOffset:
      result = stack.Word(cfa + static_cast<uint64_t>(int64_t{rule.offset}));
      // Behind `leave` and `pop`, tables go on naming the slot: the register has its value again.
      if (!result && cfa + static_cast<uint64_t>(int64_t{rule.offset}) < now.values[kStackPointer] &&
          now.Knows(number)) {
        result = now.values[number];
      }
      if (!result) return Value::kBeyondCopy;
      break;
    case UnwindRuleKind::kOffset:
      result = cfa + static_cast<uint64_t>(int64_t{rule.offset});
      break;
    case UnwindRuleKind::kRegister:
      if (now.Knows(rule.other)) result = now.values[rule.other];
      break;
    case UnwindRuleKind::kAtExpression:
      if (const auto at = Evaluate(rule.expression, now, stack, cfa)) {
        result = stack.Word(*at);
        if (!result) return Value::kBeyondCopy;
      }
      break;
    case UnwindRuleKind::kExpression:
      result = Evaluate(rule.expression, now, stack, cfa);
      break;
  }
  *value = result.value_or(0);
  return result ? Value::kKnown : Value::kUnknown;
}

std::optional<uint64_t> CfaOf(const UnwindRow& row, const Registers& now, const StackCopy& stack) {
  if (row.cfa.kind == UnwindRuleKind::kExpression) return Evaluate(row.cfa.expression, now, stack, std::nullopt);
  if (row.cfa.kind != UnwindRuleKind::kOffset || !now.Knows(row.cfa.other)) return std::nullopt;
  return now.values[row.cfa.other] + static_cast<uint64_t>(int64_t{row.cfa.offset});
}

Step FollowRow(const UnwindRow& row, const StackCopy& stack, Registers* registers) {
  const RegisterRule& return_rule = row.rules[row.return_register];
  if (return_rule.kind == UnwindRuleKind::kUndefined) return Step::kOutermost;
  const std::optional<uint64_t> cfa = CfaOf(row, *registers, stack);
  if (!cfa) return Step::kUnknown;
  // The frame of a signal may be on a stack of its own.
  if (!row.is_signal_frame && *cfa < registers->values[kStackPointer]) return Step::kUnknown;
  Registers caller;
  uint64_t value = 0;
  for (uint32_t number = 0; number < kRegisters; ++number) {
    if (number == row.return_register) continue;
    const Value found = Apply(row.rules[number], number, *registers, stack, *cfa, &value);
    if (found == Value::kKnown) caller.Set(number, value);
  }
  // Where nothing else is said of it, the CFA.
  if (row.rules[kStackPointer].kind == UnwindRuleKind::kSame) caller.Set(kStackPointer, *cfa);
  const Value found = Apply(return_rule, row.return_register, *registers, stack, *cfa, &caller.pc);
  if (found == Value::kBeyondCopy) return Step::kCopyEnded;
  if (found == Value::kUnknown) return Step::kUnknown;
  caller.pc &= kAddressMask;
  if (caller.pc == 0) return Step::kOutermost;
  const bool is_stuck = caller.pc == registers->pc && caller.values[kStackPointer] == registers->values[kStackPointer];
  if (is_stuck) return Step::kUnknown;
  *registers = caller;
  return Step::kCaller;
}

// As code with frame pointers leaves it: the caller's one, and behind it the address to return to.
Step FollowFramePointer(const AddressSpace& space, const StackCopy& stack, Registers* registers) {
  constexpr uint64_t kWord = sizeof(uint64_t);
  if (!registers->Knows(kFramePointer)) return Step::kUnknown;
  const uint64_t frame = registers->values[kFramePointer];
  if (frame % kWord != 0 || frame < registers->values[kStackPointer]) return Step::kUnknown;
  const std::optional<uint64_t> callers = stack.Word(frame), pc = stack.Word(frame + kWord);
  if (!callers || !pc) return frame - stack.begin < (uint64_t{1} << 20) ? Step::kCopyEnded : Step::kUnknown;
  const uint64_t address = *pc & kAddressMask;
  if (address == 0) return Step::kOutermost;
  if (space.Find(address - 1) == nullptr) return Step::kUnknown;
  Registers caller;
  caller.Set(kFramePointer, *callers);
  caller.Set(kStackPointer, frame + 2 * kWord);
  caller.pc = address;
  *registers = caller;
  return Step::kCaller;
}

// Whether the code before an address calls something, so that it may be returned to.
bool IsBehindCall(const CodeMapping& mapping, uint64_t address) {
  const ElfImage* const image = mapping.file == nullptr ? nullptr : mapping.file->Image();
#ifdef __aarch64__
  const Bytes code = image == nullptr ? Bytes() : image->At(address - mapping.Bias() - 4);
  return code.size() >= 4 && ((code[3] & 0xfcu) == 0x94 || (code[3] == 0xd6 && code[2] == 0x3f));  // bl, blr
#else
  constexpr std::size_t kLongest = 7;
  const Bytes code = image == nullptr ? Bytes() : image->At(address - mapping.Bias() - kLongest);
  if (code.size() < kLongest) return false;
  if (code[kLongest - 5] == 0xe8) return true;  // call of a place that lies so far away
  for (const std::size_t size : {2, 3, 4, 6, 7}) {
    const bool is_call = (code[kLongest - size + 1] >> 3 & 7u) == 2;
    if (code[kLongest - size] == 0xff && is_call) return true;  // of what a register or memory holds
  }
  return false;
#endif
}

// A thread that was not stopped has told no frame pointer. The first place on its stack that may have one of a caller
// is taken: behind it lies an address that code returns to.
Step FindFrame(const AddressSpace& space, const StackCopy& stack, Registers* registers) {
  constexpr uint64_t kWord = sizeof(uint64_t), kFarthest = 4096;
  if (registers->Knows(kFramePointer) || !registers->Knows(kStackPointer)) return Step::kUnknown;
  const uint64_t begin = registers->values[kStackPointer] / kWord * kWord;
  for (uint64_t at = begin; at < begin + kFarthest; at += kWord) {
    const std::optional<uint64_t> callers = stack.Word(at), pc = stack.Word(at + kWord);
    if (!callers || !pc) return Step::kCopyEnded;
    const uint64_t address = *pc & kAddressMask;
    const CodeMapping* const mapping = address == 0 ? nullptr : space.Find(address - 1);
    if (mapping == nullptr || !IsBehindCall(*mapping, address)) continue;
    Registers caller;
    caller.Set(kFramePointer, *callers);
    caller.Set(kStackPointer, at + 2 * kWord);
    caller.pc = address;
    *registers = caller;
    return Step::kCaller;
  }
  return Step::kUnknown;
}

StackEnd EndOf(Step step) {
  return step == Step::kOutermost   ? StackEnd::kWhole
         : step == Step::kCopyEnded ? StackEnd::kCopyEnded
                                    : StackEnd::kNotUnwound;
}

}  // namespace

const Unwinder::Cached& Unwinder::Look(const AddressSpace& space, uint64_t number, uint64_t address) {
  if (cache_.empty()) cache_.resize(kCacheEntries);
  Cached& cached = cache_[((address + number) * 0x9E3779B97F4A7C15u) >> (64 - kCacheBits)];
  if (cached.address == address && cached.space == number) return cached;
  cached.address = address;
  cached.space = number;
  cached.mapping = space.Find(address);
  const bool is_file = cached.mapping != nullptr && cached.mapping->file != nullptr;
  const ElfImage* const image = is_file ? cached.mapping->file->Image() : nullptr;
  cached.has_row =
      image != nullptr && FindUnwindRow(image->unwind_tables(), address - cached.mapping->Bias(), &cached.row);
  return cached;
}

StackEnd Unwinder::Unwind(const AddressSpace& space, uint64_t space_number, const Registers& registers,
                          const StackCopy& stack, std::vector<UnwoundFrame>* frames) {
  Registers now = registers;
  bool is_exact = true;  // the instruction that runs, not the one behind a call
  bool is_guessed = false;
  const bool was_stopped = registers.Knows(kFramePointer);
  while (frames->size() < kMostFrames) {
    const uint64_t address = is_exact ? now.pc : now.pc - 1;
    const Cached& here = Look(space, space_number, address);
    frames->push_back({address, here.mapping, is_guessed, now});
    Step step = here.has_row ? FollowRow(here.row, stack, &now) : FollowFramePointer(space, stack, &now);
    is_guessed = !here.has_row;
    is_exact = here.has_row && here.row.is_signal_frame;
    if (step == Step::kUnknown && !was_stopped) {
      step = FindFrame(space, stack, &now);
      is_guessed = true, is_exact = false;
    }
    if (step != Step::kCaller) return EndOf(step);
  }
  return StackEnd::kTooDeep;
}

}  // namespace gprof
