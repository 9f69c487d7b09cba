// What a viewer shows beside the name of an event. The names are those of torch.profiler where it has the same thing,
// so that scripts made for its traces find them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/facts/places/stack_names.h"
#include "gprof/trace.h"

namespace gprof {

// Takes the arguments of one event. Keys are UTF-8; values may be any bytes.
class ArgSink {
 public:
  virtual ~ArgSink() = default;
  virtual void Int(std::string_view key, int64_t value) = 0;
  virtual void Uint(std::string_view key, uint64_t value) = 0;
  virtual void Real(std::string_view key, double value) = 0;
  virtual void Bool(std::string_view key, bool value) = 0;
  virtual void Text(std::string_view key, std::string_view value) = 0;
  virtual void Dim(std::string_view key, uint32_t x, uint32_t y, uint32_t z) = 0;
};

// What calls of the host are shown as.
template <class HostCall>
NameId NameOfCall(const HostCall& call) {
  return call.function;
}
inline NameId NameOfCall(const Directive& directive) { return directive.construct; }

class EventArgs {
 public:
  explicit EventArgs(const Trace& trace);

  void OfOp(const GpuOp& op, ArgSink& sink) const;
  void OfCall(uint32_t call, ArgSink& sink);
  void OfStack(uint32_t stack, ArgSink& sink);  // nothing for kNone
  void OfRange(uint32_t range, ArgSink& sink) const;
  void OfMark(uint32_t mark, ArgSink& sink) const;
  void OfOsCall(const OsCall& call, ArgSink& sink);
  void OfWaker(const OsCall& call, ArgSink& sink);  // where a wait was ended
  void OfMpiCall(const MpiCall& call, ArgSink& sink);
  void OfCollective(const Collective& operation, ArgSink& sink);
  void OfDirective(const Directive& directive, ArgSink& sink);
  void OfSample(const CpuSample& sample, ArgSink& sink);

  // Processes number their calls alike. From now on those of each go on where those of the one before end, for readers
  // that join calls and operations of a whole file.
  void CountCorrelationsOn();
  uint64_t Correlation(uint32_t process, uint32_t correlation) const {
    return process < offsets_.size() ? offsets_[process] + correlation : correlation;
  }

  // Number of a range in traces of torch.profiler: "External id". What is launched in the range carries it, too.
  static uint64_t ExternalId(uint32_t range) { return range == kNone ? 0 : uint64_t{range} + 1; }

 private:
  template <class Event>
  void OfNvtx(const Event& event, ArgSink& sink) const;
  void OfKernel(const GpuOp& op, ArgSink& sink) const;
  void OfPayload(uint32_t payload, ArgSink& sink) const;
  void OfAttached(const std::vector<std::pair<uint32_t, uint32_t>>& index, uint32_t event, ArgSink& sink) const;

  const Trace& trace_;
  StackNames stacks_;
  std::vector<uint64_t> offsets_;                                  // by process, what is added to its correlations
  std::vector<std::pair<uint32_t, uint32_t>> of_range_, of_mark_;  // event and its payload, sorted
};

}  // namespace gprof
