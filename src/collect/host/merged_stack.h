// The stack of a thread that runs Python, of both: what the unwinder found, with the functions of Python in place of
// the interpreter's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collect/host/python_reader.h"
#include "unwind/unwinder.h"

namespace gprof {

// Python code that was seen in a process, by where its instructions lie.
class KnownCode {
 public:
  struct Code {
    PythonFrame frame;
    // Code that called it within one call of the loop, when it was seen last. 0: none.
    uint64_t caller = 0, caller_instructions = 0;
  };
  void Learn(const std::vector<PythonFrame>& frames);
  // Null where no instruction lies.
  const Code* At(uint64_t address) const;
  // Where the loop has the instruction that it is at while it calls another function: in a register or at a place in
  // its part of the stack, the same whenever it makes that call. Learnt from where it was seen there.
  void CountWhere(uint64_t call, uint32_t where);
  std::optional<uint32_t> WhereAt(uint64_t call) const;

 private:
  struct Where {
    uint32_t where = 0, count = 0;
  };
  std::map<uint64_t, Code> codes_;
  std::unordered_map<uint64_t, std::vector<Where>> where_;  // by call
};

// What Python ran at some moment, and the code of the interpreter that ran it.
struct PythonMoment {
  std::vector<PythonFrame> frames;  // the innermost first
  bool is_whole = false;
  bool is_close = true;  // to the sample: what it ran then may be what it runs now
  CodeRange interpreter, loop;
};

struct MergedFrame {
  bool is_python = false;
  std::size_t native = 0;  // among the frames of the unwinder
  PythonFrame python;      // where it is of Python
  // Of a Python frame: it was read shortly after the sample, and the thread may have been in another one.
  bool is_guessed = false;
};

struct MergedStack {
  std::vector<MergedFrame> frames;  // the innermost first
  StackEnd end = StackEnd::kWhole;
};

// What the unwinder made of a sample.
struct NativeStack {
  const std::vector<UnwoundFrame>& frames;  // the innermost first
  StackEnd end;
  const StackCopy& copy;
};

// `python` is of a moment near that of the sample. Each call of the interpreter's loop on the native stack becomes
// the Python frames that it runs, by what it holds in registers and in its part of the stack: the frame, and an
// instruction of its code. Where these do not decide, it is what the moment has, if that is a close one, else the
// call stays as it is. Frames of the interpreter outside of its innermost loop are left out. Without any frame of
// Python the stack is the native one.
MergedStack Merge(const NativeStack& native, const PythonMoment& python, KnownCode* codes);

}  // namespace gprof
