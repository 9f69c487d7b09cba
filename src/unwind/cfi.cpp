// Call frame information, as the DWARF standard has it (6.4) and the Linux Standard Base changes it for .eh_frame.
//
// Every function has an entry (FDE) with a small program. Run from the first address of the function up to the one that
// is looked for, it says where the caller's registers are: each relative to the CFA, the address that the stack pointer
// of the caller had at the call. What the functions of a file have in common, above all the start of that program, is
// in another entry (CIE), which theirs point to.
#include "unwind/cfi.h"

#include <cstring>
#include <type_traits>

namespace gprof {
namespace {

constexpr std::size_t kMostSaved = 8;  // rows that a program may set aside

// Instructions, by the standard's names. Those that are frequent have six bits for a number beside their own two.
enum class Frequent : uint8_t { kExtended = 0, kAdvance = 1, kOffset = 2, kRestore = 3 };
enum class Extended : uint8_t {
  kNop = 0x00,
  kSetLocation = 0x01,
  kAdvance1 = 0x02,
  kAdvance2 = 0x03,
  kAdvance4 = 0x04,
  kOffset = 0x05,
  kRestore = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefCfa = 0x0c,
  kDefCfaRegister = 0x0d,
  kDefCfaOffset = 0x0e,
  kDefCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetSigned = 0x11,
  kDefCfaSigned = 0x12,
  kDefCfaOffsetSigned = 0x13,
  kValueOffset = 0x14,
  kValueOffsetSigned = 0x15,
  kValueExpression = 0x16,
  kGnuWindowSave = 0x2d,  // on aarch64: return addresses are signed from here on, which matters to nobody who looks
  kGnuArgsSize = 0x2e,
  kGnuNegativeOffset = 0x2f,
};

// What the entries of many functions have in common.
struct Cie {
  uint64_t code_factor = 1;
  int64_t data_factor = 1;
  uint8_t pointer_encoding = 0;
  bool has_augmentation = false;
  bool is_signal_frame = false;
  uint64_t return_register = 0;
  Bytes program;
};

struct Entry {
  Bytes body;  // behind the length
  uint64_t address = 0;
};

// False at the end, and at what is damaged.
bool TakeEntry(const UnwindTables& tables, uint64_t address, Entry* entry) {
  ByteReader reader(tables.at(tables.image, address), address);
  const auto short_size = reader.Take<uint32_t>();
  const uint64_t size = short_size == 0xffffffffu ? reader.Take<uint64_t>() : short_size;
  entry->address = reader.address();
  entry->body = reader.TakeBytes(size);
  return !reader.is_bad() && size >= sizeof(uint32_t);
}

void ReadAugmentation(std::string_view letters, Bytes data, uint64_t address, Cie* cie) {
  ByteReader reader(data, address);
  letters.remove_prefix(1);
  for (const char letter : letters) {
    switch (letter) {
      case 'R':
        cie->pointer_encoding = reader.Take<uint8_t>();
        break;
      case 'L':
        reader.Take<uint8_t>();
        break;
      case 'P': {
        const auto encoding = reader.Take<uint8_t>();
        reader.Pointer(encoding);
        break;
      }
      case 'B':  // on aarch64, return addresses may be signed
        break;
      case 'S':
        cie->is_signal_frame = true;
        break;
      default:
        return;
    }
  }
}

bool ReadCie(const UnwindTables& tables, uint64_t address, Cie* cie) {
  Entry entry;
  if (!TakeEntry(tables, address, &entry)) return false;
  ByteReader reader(entry.body, entry.address);
  if (reader.Take<uint32_t>() != 0) return false;
  const auto version = reader.Take<uint8_t>();
  const std::string_view letters = reader.TakeText();
  if (version == 4) reader.Take<uint16_t>();  // sizes of addresses and segments
  cie->code_factor = reader.Uleb();
  cie->data_factor = reader.Sleb();
  cie->return_register = version == 1 ? reader.Take<uint8_t>() : reader.Uleb();
  if (letters.starts_with('z')) {
    cie->has_augmentation = true;
    const uint64_t size = reader.Uleb();
    const uint64_t at = reader.address();
    ReadAugmentation(letters, reader.TakeBytes(size), at, cie);
  } else if (!letters.empty()) {
    return false;
  }
  cie->program = reader.Rest();
  return !reader.is_bad() && cie->return_register < kRegisters;
}

// Runs call frame instructions up to an address. The row that they leave holds there: they change it in the order of
// the addresses.
class Program {
 public:
  Program(const Cie& cie, UnwindRow* row) : cie_(cie), row_(*row) {}

  bool Run(Bytes instructions, uint64_t address, uint64_t until) {
    ByteReader reader(instructions);
    address_ = address;
    while (!reader.AtEnd() && address_ <= until && !is_bad_) Step(&reader);
    return !is_bad_ && !reader.is_bad();
  }
  void TakeInitial() { initial_ = row_; }

 private:
  void Set(uint64_t number, UnwindRuleKind kind, int64_t offset = 0, uint64_t other = 0, Bytes expression = {}) {
    if (number >= kRegisters) return;  // vector registers, which no frame is found by
    row_.rules[number] = {kind, static_cast<uint8_t>(other), static_cast<int32_t>(offset), expression};
  }
  int64_t Scaled(uint64_t factor) const {
    return static_cast<int64_t>(factor * static_cast<uint64_t>(cie_.data_factor));
  }
  void DefineCfa(uint64_t number, int64_t offset) {
    is_bad_ |= number >= kRegisters;
    row_.cfa = {UnwindRuleKind::kOffset, static_cast<uint8_t>(number), static_cast<int32_t>(offset), {}};
  }
  void Restore(uint64_t number) {
    if (number < kRegisters) row_.rules[number] = initial_.rules[number];
  }
  // An address beyond the one that is looked for ends the program before what holds from there on.
  void Advance(uint64_t steps) { address_ += steps * cie_.code_factor; }

  void Step(ByteReader* reader) {
    const auto byte = reader->Take<uint8_t>();
    const auto number = static_cast<uint8_t>(byte & 0x3fu);
    switch (Frequent{static_cast<uint8_t>(byte >> 6)}) {
      case Frequent::kAdvance:
        return Advance(number);
      case Frequent::kOffset:
        return Set(number, UnwindRuleKind::kAtOffset, Scaled(reader->Uleb()));
      case Frequent::kRestore:
        return Restore(number);
      case Frequent::kExtended:
        return StepExtended(Extended{number}, reader);
    }
  }

  void StepExtended(Extended instruction, ByteReader* reader) {
    switch (instruction) {
      case Extended::kNop:
      case Extended::kGnuWindowSave:
        return;
      case Extended::kSetLocation:
        address_ = reader->Pointer(cie_.pointer_encoding);
        return;
      case Extended::kAdvance1:
        return Advance(reader->Take<uint8_t>());
      case Extended::kAdvance2:
        return Advance(reader->Take<uint16_t>());
      case Extended::kAdvance4:
        return Advance(reader->Take<uint32_t>());
      case Extended::kRememberState:
        return Remember();
      case Extended::kRestoreState:
        return Recall();
      case Extended::kDefCfa:
      case Extended::kDefCfaRegister:
      case Extended::kDefCfaOffset:
      case Extended::kDefCfaExpression:
      case Extended::kDefCfaSigned:
      case Extended::kDefCfaOffsetSigned:
        return StepCfa(instruction, reader);
      case Extended::kGnuArgsSize:
        reader->Uleb();
        return;
      default:
        return StepRegister(instruction, reader);
    }
  }

  // Around what leaves a function early: behind it all is as before.
  void Remember() {
    is_bad_ |= saved_count_ == kMostSaved;
    if (!is_bad_) std::memcpy(saved_[saved_count_++], &row_, sizeof row_);
  }
  void Recall() {
    is_bad_ |= saved_count_ == 0;
    if (!is_bad_) std::memcpy(&row_, saved_[--saved_count_], sizeof row_);
  }

  // How the CFA is found: a register plus an offset, of which an instruction sets one or both.
  void StepCfa(Extended instruction, ByteReader* reader) {
    using enum Extended;
    if (instruction == kDefCfaExpression) {
      row_.cfa = {UnwindRuleKind::kExpression, 0, 0, reader->TakeBytes(reader->Uleb())};
      return;
    }
    const bool has_register = instruction == kDefCfa || instruction == kDefCfaRegister || instruction == kDefCfaSigned;
    const bool has_offset = instruction == kDefCfa || instruction == kDefCfaOffset;
    const bool has_signed_offset = instruction == kDefCfaSigned || instruction == kDefCfaOffsetSigned;
    const uint64_t number = has_register ? reader->Uleb() : row_.cfa.other;
    int64_t offset = row_.cfa.offset;
    if (has_offset) offset = static_cast<int64_t>(reader->Uleb());
    if (has_signed_offset) offset = Scaled(static_cast<uint64_t>(reader->Sleb()));
    DefineCfa(number, offset);
  }

  // Where the caller's value of a register is.
  void StepRegister(Extended instruction, ByteReader* reader) {
    const uint64_t number = reader->Uleb();
    switch (instruction) {
      case Extended::kOffset:
        return Set(number, UnwindRuleKind::kAtOffset, Scaled(reader->Uleb()));
      case Extended::kOffsetSigned:
        return Set(number, UnwindRuleKind::kAtOffset, Scaled(static_cast<uint64_t>(reader->Sleb())));
      case Extended::kGnuNegativeOffset:
        return Set(number, UnwindRuleKind::kAtOffset, -Scaled(reader->Uleb()));
      case Extended::kValueOffset:
        return Set(number, UnwindRuleKind::kOffset, Scaled(reader->Uleb()));
      case Extended::kValueOffsetSigned:
        return Set(number, UnwindRuleKind::kOffset, Scaled(static_cast<uint64_t>(reader->Sleb())));
      case Extended::kExpression:
        return Set(number, UnwindRuleKind::kAtExpression, 0, 0, reader->TakeBytes(reader->Uleb()));
      case Extended::kValueExpression:
        return Set(number, UnwindRuleKind::kExpression, 0, 0, reader->TakeBytes(reader->Uleb()));
      case Extended::kRestore:
        return Restore(number);
      case Extended::kUndefined:
        return Set(number, UnwindRuleKind::kUndefined);
      case Extended::kSameValue:
        return Set(number, UnwindRuleKind::kSame);
      case Extended::kRegister: {
        const uint64_t other = reader->Uleb();
        return Set(number, other < kRegisters ? UnwindRuleKind::kRegister : UnwindRuleKind::kUndefined, 0, other);
      }
      default:
        is_bad_ = true;
    }
  }

  const Cie& cie_;
  UnwindRow& row_;
  UnwindRow initial_;
  // As bytes, so that those that are not needed cost nothing.
  static_assert(std::is_trivially_copyable_v<UnwindRow>);
  unsigned char saved_[kMostSaved][sizeof(UnwindRow)];
  std::size_t saved_count_ = 0;
  uint64_t address_ = 0;
  bool is_bad_ = false;
};

bool ReadFde(const UnwindTables& tables, uint64_t fde_address, uint64_t address, UnwindRow* row) {
  Entry entry;
  if (!TakeEntry(tables, fde_address, &entry)) return false;
  ByteReader reader(entry.body, entry.address);
  const auto back = reader.Take<uint32_t>();
  Cie cie;
  if (back == 0 || back > entry.address || !ReadCie(tables, entry.address - back, &cie)) return false;
  const uint64_t first = reader.Pointer(cie.pointer_encoding);
  const uint64_t size = reader.Pointer(cie.pointer_encoding & 0x0fu);
  if (cie.has_augmentation) reader.TakeBytes(reader.Uleb());
  if (reader.is_bad() || address < first || address - first >= size) return false;
  *row = {};
  row->return_register = static_cast<uint32_t>(cie.return_register);
  row->is_signal_frame = cie.is_signal_frame;
  Program program(cie, row);
  if (!program.Run(cie.program, 0, UINT64_MAX)) return false;
  program.TakeInitial();
  return program.Run(reader.Rest(), first, address);
}

}  // namespace

// .eh_frame_hdr: pairs of the begin of a function and where its entry is, in order.
bool FindUnwindRow(const UnwindTables& tables, uint64_t address, UnwindRow* row) {
  constexpr uint8_t kUsualTable = 0x3b;  // four bytes each, relative to the table
  const uint64_t index = tables.index;
  if (index == 0) return false;
  ByteReader reader(tables.at(tables.image, index), index);
  const auto version = reader.Take<uint8_t>(), frame_encoding = reader.Take<uint8_t>(),
             count_encoding = reader.Take<uint8_t>(), table_encoding = reader.Take<uint8_t>();
  reader.Pointer(frame_encoding, index);
  const uint64_t count = reader.Pointer(count_encoding, index);
  const Bytes table = reader.Rest();
  if (version != 1 || table_encoding != kUsualTable || count == 0 || count > table.size() / 8) return false;
  const auto value = [&](uint64_t at) {
    int32_t relative;
    std::memcpy(&relative, table.data() + at * sizeof relative, sizeof relative);
    return index + static_cast<uint64_t>(int64_t{relative});
  };
  uint64_t low = 0, high = count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    value(2 * middle) <= address ? low = middle + 1 : high = middle;
  }
  return low != 0 && ReadFde(tables, value(2 * low - 1), address, row);
}

}  // namespace gprof
