// Where CPython keeps what a stack of Python calls is read from, for whoever reads it: in the process (src/tracer) or
// from outside of it (src/collect).
//
// The offsets hold for 64-bit machines. Up to 3.12 they are fixed for each minor version, for builds with a GIL; from
// 3.13 on `_PyRuntime` begins with a table of them, which free-threaded builds have as well. A version that is not here
// is refused, whatever its table says: the groups of the table grow with each minor version.
#pragma once

#include <cstddef>
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

  // The same in all builds with a GIL.
  uint16_t object_type = 8, object_size = 16;  // of any object, of one of variable size
  uint16_t bytes_data = 32;
  uint16_t text_state = 32;   // 32 bits: some, then 3 width in bytes, 1 compact, 1 ASCII
  uint8_t text_state_at = 2;  // which bit the width begins at
  // Free-threaded builds from 3.14 on run a copy of the instructions for each thread: the number of the copy in the
  // frame (32 bits), and where the code object has the pointer to an array that has them behind its first word.
  uint16_t frame_copy = kNoOffset, code_copies = kNoOffset;

  constexpr bool IsKnown() const { return version != 0; }
  // How much of a code object is read.
  constexpr std::size_t CodeBytes() const {
    std::size_t most = 0;
    const uint16_t fields[] = {object_size, code_file, code_name, code_first_line, code_line_table};
    for (const uint16_t at : fields) {
      if (at > most) most = at;
    }
    if (code_copies != kNoOffset && code_copies > most) most = code_copies;
    return most + sizeof(uint64_t);
  }
};

inline constexpr uint8_t kPythonShim = 3;

// From 3.14 on the reference of a frame to its code has flags in the lowest bits, where no object has any.
inline constexpr uint64_t kPythonFlags = 3;

inline uint64_t WithoutPythonFlags(uint64_t reference) { return reference & ~kPythonFlags; }

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
};
// clang-format on

// The table that _PyRuntime begins with from 3.13 on, in words: a cookie, the version, whether it is free-threaded, and
// groups of offsets, each with the size of its struct first. Groups grow and come in between from one minor version to
// the next, so for each it is said where those begin that are read.
inline constexpr std::size_t kPythonTableWords = 81;
struct PythonTable {
  uint64_t words[kPythonTableWords];
  bool IsThere() const { return std::memcmp(words, "xdebugpy", sizeof words[0]) == 0; }
  uint64_t version() const { return words[1]; }
  bool is_free_threaded() const { return words[2] != 0; }
};
struct PythonGroups {
  uint16_t version;
  uint8_t thread, frame, code, object, bytes, text;
};
inline constexpr uint8_t kPythonRuntimeGroup = 3, kPythonInterpreterGroup = 6;
inline constexpr PythonGroups kPythonGroups[] = {{0x030d, 19, 28, 34, 44, 64, 67}, {0x030e, 22, 31, 39, 50, 74, 77}};

inline uint16_t PythonOffset(const PythonTable& table, std::size_t group, std::size_t field) {
  const uint64_t offset = table.words[group + field];
  return static_cast<uint16_t>(offset < kNoOffset ? offset : kNoOffset);
}

// What objects look like, which differs where there is no GIL.
inline void TakePythonObjects(const PythonTable& table, const PythonGroups& groups, PythonLayout* layout) {
  layout->object_type = PythonOffset(table, groups.object, 1);
  layout->object_size = PythonOffset(table, groups.bytes, 1);
  layout->bytes_data = PythonOffset(table, groups.bytes, 2);
  layout->text_state = PythonOffset(table, groups.text, 1);
  layout->text_ascii = PythonOffset(table, groups.text, 3);
  layout->text_other = static_cast<uint16_t>(layout->text_ascii + 16);  // behind a length and a pointer
  if (!table.is_free_threaded() || groups.version < 0x030e) return;
  layout->text_state_at = 8;
  layout->frame_copy = PythonOffset(table, groups.frame, 7);
  layout->code_copies = PythonOffset(table, groups.code, 10);
}

inline PythonLayout PythonLayoutIn(const PythonTable& table, const PythonGroups& groups) {
  constexpr uint64_t kCandidate = 0xC0;  // of a release: before it the table may be another one
  if (!table.IsThere() || table.version() >> 16 != groups.version || (table.version() & 0xF0) < kCandidate) return {};
  PythonLayout layout;
  layout.version = groups.version;
  layout.place_kind = PythonPlace::kPointer;
  layout.runtime_interpreters = PythonOffset(table, kPythonRuntimeGroup, 2);
  layout.interpreter_next = PythonOffset(table, kPythonInterpreterGroup, 2);
  layout.interpreter_threads = PythonOffset(table, kPythonInterpreterGroup, 3);
  layout.thread_next = PythonOffset(table, groups.thread, 2);
  layout.thread_frame = PythonOffset(table, groups.thread, 4);
  layout.thread_id = PythonOffset(table, groups.thread, 5);
  layout.thread_native_id = PythonOffset(table, groups.thread, 6);
  layout.thread_chunk = PythonOffset(table, groups.thread, 7);
  layout.frame_back = PythonOffset(table, groups.frame, 1);
  layout.frame_code = PythonOffset(table, groups.frame, 2);
  layout.frame_place = PythonOffset(table, groups.frame, 3);
  layout.frame_owner = PythonOffset(table, groups.frame, 5);
  layout.code_file = PythonOffset(table, groups.code, 1);
  layout.code_name = PythonOffset(table, groups.code, 3);
  layout.code_line_table = PythonOffset(table, groups.code, 4);
  layout.code_first_line = PythonOffset(table, groups.code, 5);
  layout.code_instructions = PythonOffset(table, groups.code, 9);
  TakePythonObjects(table, groups, &layout);
  return layout;
}

// `version` is PY_VERSION_HEX; `runtime` the first bytes of _PyRuntime, as many as PythonTable has. The layout is not
// known for a version without one.
inline PythonLayout LayoutOfPython(uint32_t version, const void* runtime) {
  for (const PythonGroups& groups : kPythonGroups) {
    if (groups.version != version >> 16) continue;
    PythonTable table;
    std::memcpy(&table, runtime, sizeof table);
    return PythonLayoutIn(table, groups);
  }
  for (const PythonLayout& known : kPythonLayouts) {
    if (known.version == version >> 16) return known;
  }
  return {};
}

}  // namespace gprof::trace
