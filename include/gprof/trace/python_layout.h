// Where CPython keeps what a stack of Python calls is read from, for whoever reads it: in the process (src/tracer) or
// from outside of it (src/collect).
//
// The offsets hold for builds with a GIL on 64-bit machines. Up to 3.12 they are fixed for each minor version; from
// 3.13 on `_PyRuntime` begins with a table of them. A version that is not here is refused, whatever its table says: the
// groups of the table grow with each minor version.
#pragma once

#include <cstdint>
#include <cstring>

namespace gprof::trace {

inline constexpr uint16_t kNoOffset = 0xFFFF;

// What a frame keeps of the instruction that it is at.
enum class PythonPlace : uint8_t { kByteNumber, kWordNumber, kPointer };

struct PythonLayout {
  uint16_t version = 0;  // 0x030b is 3.11; 0 is no layout
  PythonPlace place_kind = PythonPlace::kPointer;
  // From _PyRuntime to all threads.
  uint16_t runtime_interpreters = 0, interpreter_next = 0, interpreter_threads = 0;
  uint16_t thread_next = 0;
  uint16_t thread_id = 0;                 // pthread_t
  uint16_t thread_native_id = kNoOffset;  // tid
  uint16_t thread_chunk = kNoOffset;      // memory that most of its frames lie in
  uint16_t thread_frame = 0;              // the innermost frame, or where that is found
  uint16_t frame_in_holder = kNoOffset;   // thread_frame is a pointer to a struct that has the frame here
  uint16_t frame_back = 0, frame_code = 0;
  uint16_t frame_place = 0;          // see PythonPlace
  uint16_t frame_owner = kNoOffset;  // a byte; kPythonShim and more is no frame of Python code
  uint16_t code_file = 0, code_name = 0;
  uint16_t code_first_line = 0;             // 32 bits
  uint16_t code_line_table = 0;             // bytes: co_linetable, before 3.10 co_lnotab
  uint16_t code_instructions = kNoOffset;   // kPlacePointer: they lie in the code object from here
  uint16_t text_ascii = 0, text_other = 0;  // characters of a str

  constexpr bool IsKnown() const { return version != 0; }
};

inline constexpr uint8_t kPythonShim = 3;

// The same in all versions.
inline constexpr uint16_t kPythonType = 8, kPythonSize = 16;  // of any object, of one of variable size
inline constexpr uint16_t kPythonBytesData = 32;
inline constexpr uint16_t kPythonTextState = 32;  // 32 bits: 2 interned, 3 width in bytes, 1 compact, 1 ASCII

// clang-format off
inline constexpr PythonLayout kPythonLayouts[] = {
    // version, place, runtime, interpreter (2), thread (6), frame (4), code (5), text (2)
    {0x0308, PythonPlace::kByteNumber, 32, 0, 8, 8, 176, kNoOffset, kNoOffset, 24, kNoOffset,
     24, 32, 104, kNoOffset, 104, 112, 40, 120, kNoOffset, 48, 72},
    {0x0309, PythonPlace::kByteNumber, 32, 0, 8, 8, 176, kNoOffset, kNoOffset, 24, kNoOffset,
     24, 32, 104, kNoOffset, 104, 112, 40, 120, kNoOffset, 48, 72},
    {0x030a, PythonPlace::kWordNumber, 32, 0, 8, 8, 176, kNoOffset, kNoOffset, 24, kNoOffset,
     24, 32, 96, kNoOffset, 104, 112, 40, 120, kNoOffset, 48, 72},
    {0x030b, PythonPlace::kPointer, 40, 0, 16, 8, 152, 160, 296, 56, 8,
     48, 32, 56, 69, 112, 128, 72, 136, 184, 48, 72},
    {0x030c, PythonPlace::kPointer, 40, 0, 72, 8, 136, 144, 232, 56, 0,
     8, 0, 56, 70, 112, 128, 68, 136, 192, 40, 56},
    {0x030d, PythonPlace::kPointer, 632, 7264, 7344, 8, 152, 160, 232, 72, kNoOffset,
     8, 0, 56, 70, 112, 128, 68, 136, 200, 40, 56},
};
// clang-format on

// The begin of _PyRuntime from 3.13 on, as 3.13 has it.
struct PythonDebugOffsets {
  char cookie[8];
  uint64_t version, free_threaded;
  uint64_t runtime[3];       // size, finalizing, interpreters
  uint64_t interpreter[13];  // size, id, next, threads, …
  uint64_t thread[9];        // size, prev, next, interpreter, frame, id, native id, chunk, status
  uint64_t frame[6];         // size, back, code, place, locals, owner
  uint64_t code[10];         // size, file, name, qualified name, line table, first line, …, instructions at the end
  bool IsThere() const { return std::memcmp(cookie, "xdebugpy", sizeof cookie) == 0; }
};

// `version` is PY_VERSION_HEX; `runtime` the first bytes of _PyRuntime, as many as PythonDebugOffsets has. The layout
// is not known for a version without one, and for builds without a GIL.
inline PythonLayout LayoutOfPython(uint32_t version, const void* runtime) {
  PythonLayout layout;
  for (const PythonLayout& known : kPythonLayouts) {
    if (known.version == version >> 16) layout = known;
  }
  if (version >> 16 != 0x030d) return layout;
  PythonDebugOffsets told;
  std::memcpy(&told, runtime, sizeof told);
  if (!told.IsThere() || told.version >> 16 != 0x030d || told.free_threaded != 0) return {};
  const auto at = [](uint64_t offset) { return static_cast<uint16_t>(offset < kNoOffset ? offset : kNoOffset); };
  layout.runtime_interpreters = at(told.runtime[2]);
  layout.interpreter_next = at(told.interpreter[2]);
  layout.interpreter_threads = at(told.interpreter[3]);
  layout.thread_next = at(told.thread[2]);
  layout.thread_frame = at(told.thread[4]);
  layout.thread_id = at(told.thread[5]);
  layout.thread_native_id = at(told.thread[6]);
  layout.thread_chunk = at(told.thread[7]);
  layout.frame_back = at(told.frame[1]);
  layout.frame_code = at(told.frame[2]);
  layout.frame_place = at(told.frame[3]);
  layout.frame_owner = at(told.frame[5]);
  layout.code_file = at(told.code[1]);
  layout.code_name = at(told.code[3]);
  layout.code_line_table = at(told.code[4]);
  layout.code_first_line = at(told.code[5]);
  layout.code_instructions = at(told.code[9]);
  return layout;
}

}  // namespace gprof::trace
