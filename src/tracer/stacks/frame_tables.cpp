// What compilers need of call frame information (unwind/cfi.h) for ordinary functions on x86-64: the CFA by the stack
// or the frame pointer, or through a saved pointer where a function aligns its stack, and the frame pointer. What needs
// more is left unknown, and a stack ends there.
#include "tracer/stacks/frame_tables.h"

#include "tracer/system/loaded_module.h"
#include "unwind/cfi.h"
#include "unwind/registers.h"

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

// "breg6 offset", and behind it nothing or `deref`: what the frame pointer points to, or what lies there.
bool IsFramePointerPlus(Bytes expression, bool is_saved, int32_t* offset) {
  constexpr uint8_t kFramePointerBase = 0x70 + kFramePointer, kDereference = 0x06;  // DW_OP_breg6, DW_OP_deref
  ByteReader reader(expression);
  if (reader.Take<uint8_t>() != kFramePointerBase) return false;
  *offset = static_cast<int32_t>(reader.Sleb());
  if (is_saved && reader.Take<uint8_t>() != kDereference) return false;
  return reader.AtEnd() && !reader.is_bad();
}

void TakeCfa(const RegisterRule& cfa, FrameRow* row) {
  if (cfa.kind == UnwindRuleKind::kExpression) {
    if (IsFramePointerPlus(cfa.expression, true, &row->cfa_offset)) row->cfa = FrameRow::Cfa::kAtFramePointer;
    return;
  }
  row->cfa_offset = cfa.offset;
  if (cfa.other == kStackPointer) row->cfa = FrameRow::Cfa::kStackPointer;
  if (cfa.other == kFramePointer) row->cfa = FrameRow::Cfa::kFramePointer;
}

void TakeFramePointer(const RegisterRule& saved, FrameRow* row) {
  if (saved.kind == UnwindRuleKind::kSame) return;
  row->frame_pointer = FrameRow::Saved::kLost;
  if (saved.kind == UnwindRuleKind::kAtOffset) {
    row->frame_pointer = FrameRow::Saved::kAtCfa;
    row->frame_pointer_offset = saved.offset;
  } else if (saved.kind == UnwindRuleKind::kAtExpression &&
             IsFramePointerPlus(saved.expression, false, &row->frame_pointer_offset)) {
    row->frame_pointer = FrameRow::Saved::kAtFramePointer;
  }
}

Bytes BytesAt(const void* object, uint64_t address) {
  const auto& within = *static_cast<const LoadedObject*>(object);
  if (address < within.begin || address >= within.end) return {};
  return {reinterpret_cast<const unsigned char*>(address), within.end - address};
}

}  // namespace

bool CanFindObjects() {
#ifdef __x86_64__
  if (find_object == nullptr) find_object = reinterpret_cast<FindFunction>(AddressOfGlobal("_dl_find_object"));
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

FrameRow FindFrameRow(const LoadedObject& object, uintptr_t address) {
  constexpr int32_t kReturnOffset = -8;  // from the CFA, where a call leaves the address
  UnwindRow found;
  if (!FindUnwindRow({object.index, &object, BytesAt}, address, &found)) return {};
  if (found.is_signal_frame || found.return_register != kReturnRegister) return {};
  FrameRow row;
  const RegisterRule& back = found.rules[kReturnRegister];
  if (back.kind == UnwindRuleKind::kUndefined) {
    row.cfa = FrameRow::Cfa::kOutermost;
    return row;
  }
  if (back.kind != UnwindRuleKind::kAtOffset || back.offset != kReturnOffset) return {};
  TakeCfa(found.cfa, &row);
  TakeFramePointer(found.rules[kFramePointer], &row);
  return row;
}

}  // namespace gprof::tracer
