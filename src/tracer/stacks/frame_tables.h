// Where the frame of the caller is, by the unwind tables of the modules in memory. For threads that look at their own
// stack: nothing is allocated, nothing is locked, and libc is asked for nothing but which module an address is in.
#pragma once

#include <cstdint>

struct link_map;

namespace gprof::tracer {

// What libc (2.35 and newer) knows of a module.
struct LoadedObject {
  uintptr_t begin = 0, end = 0;
  const link_map* map = nullptr;
  uintptr_t index = 0;  // of .eh_frame_hdr
};

// Whether libc can be asked. [starting thread]
bool CanFindObjects();
// The module that has an address; it stays while the caller of a live frame is in it.
bool FindObject(uintptr_t address, LoadedObject* object);

// How an address in code leaves the frame of its caller. Addresses are relative to the CFA, the value that the stack
// pointer of the caller will have, or to the frame pointer.
struct FrameRow {
  enum class Cfa : uint8_t { kUnknown, kStackPointer, kFramePointer, kAtFramePointer, kOutermost };
  enum class Saved : uint8_t { kSame, kAtCfa, kAtFramePointer, kLost };
  Cfa cfa = Cfa::kUnknown;
  Saved frame_pointer = Saved::kSame;
  int32_t cfa_offset = 0, frame_pointer_offset = 0;
};

// Rows that frames of compiled code have; others are left unknown: `cfa` says so. An object may hold anything between
// its begin and its end, all of which can be read.
FrameRow FindFrameRow(const LoadedObject& object, uintptr_t address);

}  // namespace gprof::tracer
