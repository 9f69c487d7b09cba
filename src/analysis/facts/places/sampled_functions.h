// The functions on the stacks of CPU samples.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

class SampledFunctions {
 public:
  explicit SampledFunctions(const Trace& trace) : trace_(trace), of_frames_(trace.frames.size()) {}

  struct Function {
    std::string name;    // demangled; "[libwork.so]" for code without a symbol
    std::string module;  // its file without folders; empty when not known
  };
  const Trace& trace() const { return trace_; }
  const Function& operator[](uint32_t function) const { return functions_[function]; }
  size_t size() const { return functions_.size(); }

  // The innermost function of a stack; kNone for no stack.
  uint32_t Innermost(uint32_t stack);
  // Those on a stack, each once.
  std::vector<uint32_t> On(uint32_t stack);

 private:
  const std::vector<uint32_t>& OfFrame(uint32_t frame);  // the innermost first; inlined functions have one frame
  uint32_t NumberOf(std::string name, std::string module);

  const Trace& trace_;
  std::vector<std::vector<uint32_t>> of_frames_;  // empty: not asked for yet
  std::map<std::pair<std::string, std::string>, uint32_t> numbers_;
  std::map<std::pair<NameId, uint32_t>, uint32_t> numbers_of_names_;  // of symbols, with their module; {}: without one
  std::vector<Function> functions_;
  uint32_t looked_at_ = 0;           // stacks
  std::vector<uint32_t> last_look_;  // at each function
};

// Below this many samples a share is chance: results say how many there were instead.
inline constexpr size_t kSamplesToNameAFunction = 20;

struct FunctionSamples {
  std::string name, module;
  int64_t self = 0, inclusive = 0;  // samples
  int64_t self_ns = 0;              // time that they stand for, where the trace says so
};

// Of those samples of the trace, by index: the functions, most samples of their own first.
std::vector<FunctionSamples> CountFunctions(SampledFunctions& functions, const std::vector<uint32_t>& samples);

}  // namespace gprof
