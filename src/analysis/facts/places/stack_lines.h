// The lines of Python code that stacks lead through, and the one that each stands for.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// The line of a Python frame; where the table does not tell, the first one of its function. 0 for any other frame.
uint32_t LineOfFrame(const Trace& trace, uint32_t frame);

struct PythonLine {
  NameId file, function;
  uint32_t line = 0;
  friend auto operator<=>(const PythonLine& a, const PythonLine& b) {
    if (a.file.value != b.file.value) return a.file.value <=> b.file.value;
    if (a.line != b.line) return a.line <=> b.line;
    return a.function.value <=> b.function.value;
  }
  friend bool operator==(const PythonLine&, const PythonLine&) = default;
};

// Of a file that is neither installed nor part of Python, nor of a framework by its folder.
bool IsOfProgram(std::string_view file);

// "train.py:12"
std::string PlaceOf(const Trace& trace, const PythonLine& line);
// "train.py:12 (step)"; without the function for code of the module.
std::string NameOf(const Trace& trace, const PythonLine& line);

// Where a compiler of the program said what it made its lines from, these stand for them (GeneratedLines).
//
// A stack stands for its innermost line of the program: of a file that is neither installed nor part of Python. Where
// all are, for the innermost one of a library that is no framework, and else for the innermost one.
class PythonLines {
 public:
  explicit PythonLines(const Trace& trace);

  // Some call of the trace has a line.
  bool HasCalls() const { return has_calls_; }
  const std::vector<PythonLine>& all() const { return lines_; }
  // Index into all(), kNone without Python. `stack` may be kNone.
  uint32_t LineOf(uint32_t stack) const { return stack < of_stacks_.size() ? of_stacks_[stack] : kNone; }
  // Of the outermost call that this one is within.
  uint32_t LineOfCall(uint32_t call) const;
  // Modules of the source that the innermost generated code of a stack came from, "A / B"; empty where none is known.
  NameId PlaceOf(uint32_t stack) const { return stack < places_.size() ? places_[stack] : NameId{}; }

 private:
  // The better one first.
  enum class Owner : uint8_t { kProgram, kLibrary, kFramework, kNobody };
  static Owner OwnerOf(std::string_view file);
  uint32_t NumberOf(const PythonLine& line);

  const Trace& trace_;
  bool has_calls_ = false;
  std::vector<PythonLine> lines_;
  std::map<PythonLine, uint32_t> numbers_;
  std::vector<uint32_t> of_stacks_;
  std::vector<NameId> places_;  // by stack; empty where a trace has no generated code
};

}  // namespace gprof
