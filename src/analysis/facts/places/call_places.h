// Where calls were made from, in a word: of a whole stack, the place that says most to whoever wrote the program.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/facts/places/stack_lines.h"
#include "gprof/trace.h"

namespace gprof {

// For a stack with Python code its line (PythonLines); for others the innermost function of the program itself, of code
// that is no library of the system, of CUDA or of a package. Where all are, the innermost one outside of the CUDA
// runtime.
class CallPlaces {
 public:
  CallPlaces(const Trace& trace, const PythonLines& lines);

  // "train.py:12 (step)", "load_batch", with its file and line where they are known; empty for kNone.
  const std::string& operator()(uint32_t stack);
  // The same for a sentence: "[libwork.so]", all that is known of code without a symbol, is no place to look at, so
  // that it is empty then.
  std::string Named(uint32_t stack);
  // The same, empty where all of the stack is of the system or of packages: that everybody waits in
  // "PyThread_acquire_lock" says nothing of the program.
  std::string OfProgram(uint32_t stack);
  // The place is a line of Python.
  bool IsLine(uint32_t stack) const { return lines_.LineOf(stack) != kNone; }

 private:
  // kNone where there is none.
  struct Frames {
    uint32_t own = kNone, innermost = kNone, first = kNone;
  };
  Frames FramesOf(uint32_t stack) const;
  std::string FunctionPlace(uint32_t stack) const;
  std::string NameOfFrame(uint32_t frame) const;
  bool IsOfCuda(NameId function) const;
  bool IsFrameOfCuda(uint32_t frame, const Module& module) const;
  bool IsFrameOfStandardLibrary(uint32_t frame) const;

  const Trace& trace_;
  const PythonLines& lines_;
  std::vector<uint8_t> is_of_cuda_;  // by NameId: functions of CUDA and kernels
  std::unordered_map<uint32_t, std::string> places_;
};

// Time by place.
class PlaceSums {
 public:
  void Add(const std::string& place, int64_t ns) {
    if (!place.empty()) sums_[place] += ns;
  }
  std::string Main() const;  // with the most time; empty where no place is known
  int64_t MainNs() const;    // of that

 private:
  std::map<std::string, int64_t> sums_;
};

// Whether some frame on the stack is of a function in a file, not of Python.
bool HasFunctions(const Trace& trace, uint32_t stack);

}  // namespace gprof
