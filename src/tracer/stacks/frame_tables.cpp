// The part of call frame information (src/unwind/cfi.cpp explains it) that compilers use for ordinary functions on
// x86-64: the CFA by the stack or the frame pointer, or through a saved pointer where a function aligns its stack, and
// the frame pointer. What needs more is left unknown, and a stack ends there.
#include "tracer/stacks/frame_tables.h"

#include <dlfcn.h>

#include <cstring>

namespace gprof::tracer {
namespace {

// As glibc declares it from 2.35 on, for machines with older headers.
struct FoundObject {
  unsigned long long flags;
  void *begin, *end;
  link_map* map;
  void* index;
  unsigned long long reserved[7];
};
using FindFunction = int (*)(void*, FoundObject*);
constinit FindFunction find_object = nullptr;

constexpr uint64_t kFramePointer = 6, kStackPointer = 7, kReturnAddress = 16;
constexpr uint8_t kFramePointerBase = 0x70 + kFramePointer, kDereference = 0x06;  // DW_OP_breg6, DW_OP_deref
constexpr uint32_t kMostSaved = 8;

// Reads between two addresses. Beyond them everything is 0, and the reader is bad.
class Reader {
 public:
  Reader(uintptr_t at, uintptr_t end) : at_(at), end_(end) {}
  bool is_bad() const { return is_bad_; }
  bool AtEnd() const { return is_bad_ || at_ >= end_; }
  uintptr_t at() const { return at_; }
  template <class T>
  T Take() {
    T value{};
    if (end_ < at_ || end_ - at_ < sizeof value) {
      is_bad_ = true;
      return value;
    }
    std::memcpy(&value, reinterpret_cast<const void*>(at_), sizeof value);
    at_ += sizeof value;
    return value;
  }
  uint64_t Uleb() { return Leb(nullptr); }
  int64_t Sleb() {
    uint32_t bits = 0;
    const uint64_t value = Leb(&bits);
    const bool is_negative = bits != 0 && bits < 64 && (value >> (bits - 1) & 1) != 0;
    return static_cast<int64_t>(is_negative ? value | ~uint64_t{0} << bits : value);
  }
  void Skip(uint64_t bytes) {
    if (end_ < at_ || bytes > end_ - at_) {
      is_bad_ = true;
      return;
    }
    at_ += bytes;
  }
  // A part of it; this one goes on behind.
  Reader Part(uint64_t bytes) {
    const uintptr_t begin = at_;
    Skip(bytes);
    return {begin, is_bad_ ? begin : at_};
  }

 private:
  uint64_t Leb(uint32_t* bits) {
    uint64_t value = 0;
    uint32_t shift = 0;
    for (uint8_t byte = 0x80; (byte & 0x80) != 0 && !is_bad_; shift += 7) {
      byte = Take<uint8_t>();
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
    }
    if (bits != nullptr) *bits = shift;
    return value;
  }

  uintptr_t at_, end_;
  bool is_bad_ = false;
};

// The encodings that linkers use here: four or eight bytes, absolute or relative to where they are or to the table.
uint64_t Pointer(Reader* reader, uint8_t encoding, uintptr_t table) {
  const uintptr_t here = reader->at();
  uint64_t value = 0;
  switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
      value = reader->Take<uint64_t>();
      break;
    case 0x03:
      value = reader->Take<uint32_t>();
      break;
    case 0x0b:
      value = static_cast<uint64_t>(int64_t{reader->Take<int32_t>()});
      break;
    default:
      reader->Skip(~uint64_t{0});
  }
  if ((encoding & 0x70) == 0x10) value += here;
  if ((encoding & 0x70) == 0x30) value += table;
  return value;
}

struct Cie {
  uint64_t code_factor = 1;
  int64_t data_factor = 1;
  uint8_t encoding = 0;
  bool has_augmentation = false;
  Reader program{0, 0};
};

// False for what is no ordinary function: above all the frames of signals.
bool ReadCie(Reader reader, Cie* cie) {
  if (reader.Take<uint32_t>() != 0) return false;
  const auto version = reader.Take<uint8_t>();
  char letters[8] = {};
  for (uint32_t i = 0; i < sizeof letters; ++i) {
    letters[i] = static_cast<char>(reader.Take<uint8_t>());
    if (letters[i] == 0) break;
  }
  if (version != 1 || letters[sizeof letters - 1] != 0) return false;
  cie->code_factor = reader.Uleb();
  cie->data_factor = reader.Sleb();
  if (reader.Take<uint8_t>() != kReturnAddress) return false;
  if (letters[0] == 'z') {
    cie->has_augmentation = true;
    Reader data = reader.Part(reader.Uleb());
    for (const char* letter = letters + 1; *letter != 0; ++letter) {
      if (*letter == 'R') cie->encoding = data.Take<uint8_t>();
      if (*letter == 'L') data.Take<uint8_t>();
      if (*letter == 'P') Pointer(&data, data.Take<uint8_t>(), 0);
      if (*letter == 'S') return false;
    }
  } else if (letters[0] != 0) {
    return false;
  }
  cie->program = reader;
  return !reader.is_bad();
}

// Of the registers that rows are about.
struct State {
  FrameRow row;
  // Where the return address is, in bytes from the CFA; 0: the function has no caller.
  int64_t return_offset = -8;
  bool is_return_known = true;
};

// Runs the program of a function up to an address.
class Program {
 public:
  Program(const Cie& cie, State* state) : cie_(cie), state_(*state) {}

  bool Run(Reader reader, uint64_t address, uint64_t until) {
    address_ = address;
    while (!reader.AtEnd() && address_ <= until && !is_bad_) Step(&reader);
    return !is_bad_ && !reader.is_bad();
  }
  void TakeInitial() { initial_ = state_; }

 private:
  void Advance(uint64_t steps) { address_ += steps * cie_.code_factor; }
  // Without signs, for what is damaged may be too large for them.
  int64_t Scaled(uint64_t factor) const {
    return static_cast<int64_t>(factor * static_cast<uint64_t>(cie_.data_factor));
  }

  void Step(Reader* reader) {
    const auto byte = reader->Take<uint8_t>();
    const uint8_t number = byte & 0x3f;
    if (byte >> 6 == 1) return Advance(number);
    if (byte >> 6 == 2) return SaveAt(number, Scaled(reader->Uleb()));
    if (byte >> 6 == 3) return Restore(number);
    if (number <= 0x04) return Move(number, reader);
    if ((number >= 0x0c && number <= 0x0f) || number == 0x12 || number == 0x13) return StepCfa(number, reader);
    StepRegister(number, reader);
  }

  void Move(uint8_t instruction, Reader* reader) {
    if (instruction == 0x01) address_ = Pointer(reader, cie_.encoding, 0);
    if (instruction == 0x02) Advance(reader->Take<uint8_t>());
    if (instruction == 0x03) Advance(reader->Take<uint16_t>());
    if (instruction == 0x04) Advance(reader->Take<uint32_t>());
  }

  // DW_CFA_def_cfa and those that set a part of it; an expression that is a saved pointer.
  void StepCfa(uint8_t instruction, Reader* reader) {
    FrameRow& row = state_.row;
    if (instruction == 0x0f) {
      Reader expression = reader->Part(reader->Uleb());
      const bool is_saved = expression.Take<uint8_t>() == kFramePointerBase;
      row.cfa_offset = static_cast<int32_t>(expression.Sleb());
      const bool is_simple = is_saved && expression.Take<uint8_t>() == kDereference && expression.AtEnd();
      row.cfa = is_simple && !expression.is_bad() ? FrameRow::Cfa::kAtFramePointer : FrameRow::Cfa::kUnknown;
      return;
    }
    const bool is_signed = instruction == 0x12 || instruction == 0x13;
    if (instruction != 0x0e && instruction != 0x13) {
      const uint64_t number = reader->Uleb();
      row.cfa = number == kStackPointer   ? FrameRow::Cfa::kStackPointer
                : number == kFramePointer ? FrameRow::Cfa::kFramePointer
                                          : FrameRow::Cfa::kUnknown;
    }
    if (instruction == 0x0d) return;
    row.cfa_offset = static_cast<int32_t>(is_signed ? Scaled(static_cast<uint64_t>(reader->Sleb()))
                                                    : static_cast<int64_t>(reader->Uleb()));
  }

  void StepRegister(uint8_t instruction, Reader* reader) {
    switch (instruction) {
      case 0x05: {
        const uint64_t number = reader->Uleb();
        return SaveAt(number, Scaled(reader->Uleb()));
      }
      case 0x11: {  // signed
        const uint64_t number = reader->Uleb();
        return SaveAt(number, Scaled(static_cast<uint64_t>(reader->Sleb())));
      }
      case 0x06:
        return Restore(reader->Uleb());
      case 0x07:
      case 0x08:
        return Forget(reader->Uleb(), instruction == 0x07);
      case 0x0a:
        return Remember();
      case 0x0b:
        return Recall();
      case 0x10:
        return SaveByExpression(reader);
      case 0x09:  // in another register
      case 0x14:  // the CFA and so much, which takes as many bytes whether it has a sign or not
      case 0x15:
        Lose(reader->Uleb());
        reader->Uleb();
        return;
      case 0x16:  // what an expression gives
        Lose(reader->Uleb());
        reader->Skip(reader->Uleb());
        return;
      case 0x2e:  // the size of arguments on the stack
        reader->Uleb();
        return;
      default:
        is_bad_ = true;
    }
  }

  void SaveAt(uint64_t number, int64_t offset) {
    if (number == kFramePointer) {
      state_.row.frame_pointer = FrameRow::Saved::kAtCfa;
      state_.row.frame_pointer_offset = static_cast<int32_t>(offset);
    } else if (number == kReturnAddress) {
      state_.return_offset = offset;
      state_.is_return_known = true;
    }
  }
  void SaveByExpression(Reader* reader) {
    const uint64_t number = reader->Uleb();
    Reader expression = reader->Part(reader->Uleb());
    const bool is_simple = expression.Take<uint8_t>() == kFramePointerBase;
    const int64_t offset = expression.Sleb();
    if (number == kReturnAddress) state_.is_return_known = false;
    if (number != kFramePointer) return;
    const bool is_good = is_simple && expression.AtEnd() && !expression.is_bad();
    state_.row.frame_pointer = is_good ? FrameRow::Saved::kAtFramePointer : FrameRow::Saved::kLost;
    state_.row.frame_pointer_offset = static_cast<int32_t>(offset);
  }
  void Restore(uint64_t number) {
    if (number == kFramePointer) {
      state_.row.frame_pointer = initial_.row.frame_pointer;
      state_.row.frame_pointer_offset = initial_.row.frame_pointer_offset;
    } else if (number == kReturnAddress) {
      state_.return_offset = initial_.return_offset;
      state_.is_return_known = initial_.is_return_known;
    }
  }
  void Forget(uint64_t number, bool is_undefined) {
    if (number == kFramePointer)
      state_.row.frame_pointer = is_undefined ? FrameRow::Saved::kLost : FrameRow::Saved::kSame;
    if (number == kReturnAddress) {
      state_.return_offset = 0;
      state_.is_return_known = is_undefined;
    }
  }
  // What rows cannot say. Only the rows that it holds in are lost: the function may go on as before behind them, as
  // _Unwind_Resume of libgcc does.
  void Lose(uint64_t number) {
    if (number == kFramePointer) state_.row.frame_pointer = FrameRow::Saved::kLost;
    if (number == kReturnAddress) state_.is_return_known = false;
  }
  void Remember() {
    is_bad_ |= saved_count_ == kMostSaved;
    if (!is_bad_) saved_[saved_count_++] = state_;
  }
  void Recall() {
    is_bad_ |= saved_count_ == 0;
    if (!is_bad_) state_ = saved_[--saved_count_];
  }

  const Cie& cie_;
  State& state_;
  State initial_, saved_[kMostSaved];
  uint32_t saved_count_ = 0;
  uint64_t address_ = 0;
  bool is_bad_ = false;
};

// The entry of a function or what entries have in common, behind its length. Damaged tables may point anywhere, before
// the object too.
bool Entry(const LoadedObject& object, uintptr_t at, Reader* out) {
  if (at < object.begin || at >= object.end) return false;
  Reader reader(at, object.end);
  const auto size = reader.Take<uint32_t>();
  if (size < sizeof(uint32_t) || size == 0xffffffffu) return false;
  *out = reader.Part(size);
  return !reader.is_bad();
}

FrameRow RowOf(const LoadedObject& object, uintptr_t entry, uintptr_t address) {
  Reader reader(0, 0), common(0, 0);
  if (!Entry(object, entry, &reader)) return {};
  const uintptr_t here = reader.at();
  const auto back = reader.Take<uint32_t>();
  Cie cie;
  if (back == 0 || !Entry(object, here - back, &common) || !ReadCie(common, &cie)) return {};
  const uint64_t first = Pointer(&reader, cie.encoding, 0);
  const uint64_t size = Pointer(&reader, cie.encoding & 0x0f, 0);
  if (cie.has_augmentation) reader.Skip(reader.Uleb());
  if (reader.is_bad() || address < first || address - first >= size) return {};
  State state;
  Program program(cie, &state);
  if (!program.Run(cie.program, 0, ~uint64_t{0})) return {};
  program.TakeInitial();
  if (!program.Run(reader, first, address)) return {};
  if (!state.is_return_known || (state.return_offset != 0 && state.return_offset != -8)) return {};
  if (state.return_offset == 0) state.row.cfa = FrameRow::Cfa::kOutermost;
  return state.row;
}

}  // namespace

bool CanFindObjects() {
#ifdef __x86_64__
  if (find_object == nullptr) find_object = reinterpret_cast<FindFunction>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
#endif
  return find_object != nullptr;
}

bool FindObject(uintptr_t address, LoadedObject* object) {
  FoundObject found{};
  if (find_object(reinterpret_cast<void*>(address), &found) != 0) return false;
  *object = {reinterpret_cast<uintptr_t>(found.begin), reinterpret_cast<uintptr_t>(found.end), found.map,
             reinterpret_cast<uintptr_t>(found.index)};
  return true;
}

// .eh_frame_hdr: pairs of the begin of a function and where its entry is, in order.
FrameRow FindFrameRow(const LoadedObject& object, uintptr_t address) {
  constexpr uint8_t kUsualTable = 0x3b;  // four bytes each, relative to the table
  if (object.index < object.begin || object.index >= object.end) return {};
  Reader reader(object.index, object.end);
  const auto version = reader.Take<uint8_t>(), frames = reader.Take<uint8_t>(), counts = reader.Take<uint8_t>(),
             table = reader.Take<uint8_t>();
  Pointer(&reader, frames, object.index);
  const uint64_t count = Pointer(&reader, counts, object.index);
  if (reader.is_bad() || version != 1 || table != kUsualTable || count > (object.end - reader.at()) / 8) return {};
  const auto value = [&](uint64_t at) {
    int32_t relative;
    std::memcpy(&relative, reinterpret_cast<const void*>(reader.at() + at * sizeof relative), sizeof relative);
    return object.index + static_cast<uintptr_t>(int64_t{relative});
  };
  uint64_t low = 0, high = count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    value(2 * middle) <= address ? low = middle + 1 : high = middle;
  }
  return low == 0 ? FrameRow{} : RowOf(object, value(2 * low - 1), address);
}

}  // namespace gprof::tracer
