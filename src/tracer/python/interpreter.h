// The CPython of the process: where it is, which version, and whether its structures are what we take them for.
#pragma once

#include <cstdint>

#include "gprof/trace/python_layout.h"

namespace gprof::tracer {

struct Interpreter {
  trace::PythonLayout layout;
  const char* runtime = nullptr;  // _PyRuntime
  const char* (*this_thread)() = nullptr;
  int (*is_finalizing)() = nullptr;
  // Types of the objects that are read, by which they are known.
  const char *code_type = nullptr, *text_type = nullptr, *bytes_type = nullptr;
};

enum class Found : uint8_t { kNothing, kUnknown, kGood };

// `unknown`: the version of one that is there and cannot be read.
Found FindInterpreter(Interpreter* out, char (&unknown)[32]);

template <class T>
T ReadAt(const char* object, uint16_t offset) {
  return *reinterpret_cast<const T*>(object + offset);
}

// The innermost frame of a thread, null without one.
inline const char* InnermostFrame(const trace::PythonLayout& layout, const char* thread) {
  const char* frame = ReadAt<const char*>(thread, layout.thread_frame);
  if (layout.frame_in_holder == trace::kNoOffset || frame == nullptr) return frame;
  return ReadAt<const char*>(frame, layout.frame_in_holder);
}

inline bool IsShim(const trace::PythonLayout& layout, const char* frame) {
  return layout.frame_owner != trace::kNoOffset && ReadAt<uint8_t>(frame, layout.frame_owner) >= trace::kPythonShim;
}

inline const char* CodeOf(const trace::PythonLayout& layout, const char* frame) {
  return reinterpret_cast<const char*>(trace::WithoutPythonFlags(ReadAt<uint64_t>(frame, layout.frame_code)));
}

// Where the instructions begin that the frame runs.
inline const char* InstructionsOf(const trace::PythonLayout& layout, const char* frame, const char* code) {
  if (layout.code_copies == trace::kNoOffset) return code + layout.code_instructions;
  const char* const copies = ReadAt<const char*>(code, layout.code_copies);
  return *reinterpret_cast<const char* const*>(copies + 8 + int64_t{ReadAt<int32_t>(frame, layout.frame_copy)} * 8);
}

// Goes through the frames of the calling thread with great care: nothing is read that is not memory, and every object
// has to be of its type. 1 good, 0 not what it should be, -1 there are no frames to tell by. Slow.
int CheckFrames(const Interpreter& python, const char* thread);

}  // namespace gprof::tracer
