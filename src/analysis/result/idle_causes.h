// The causes of GPU idle time. Every idle nanosecond has exactly one of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gprof/trace.h"

namespace gprof {

enum class Cause : uint8_t {
  kQueue,
  kDependency,
  kLaunch,
  kSync,
  kCopy,
  kMemory,
  kLoad,
  kApi,
  kOs,
  kMpi,
  kHost,
  kProfiler,
  kUnknown,
};
inline constexpr size_t kCauseCount = 13;

struct CauseInfo {
  std::string_view name;
  std::string_view metric;   // id in the metric catalogue
  std::string_view meaning;  // one line for tables
  std::string_view verb;     // "… of that <verb>" in findings
  std::string_view advice;
};

const CauseInfo& InfoOf(Cause cause);

// The host was between CUDA calls: running, or waiting for what is not CUDA.
constexpr bool IsOwnCode(Cause cause) { return cause == Cause::kHost || cause == Cause::kOs || cause == Cause::kMpi; }

// Some causes, a bit for each.
using CauseMask = uint32_t;
inline constexpr CauseMask kNoCause = 0;
constexpr CauseMask MaskOf(Cause cause) { return CauseMask{1} << static_cast<uint32_t>(cause); }

// Causes that the trace does not tell of, by what their metrics need. No part may have one of them, or the parts that
// are known would not sum to the idle time: it stays with the cause that it would be taken from.
CauseMask UntoldCauses(const Trace& trace);

// Nanoseconds of each cause, indexed by Cause.
class CauseSplit {
 public:
  int64_t& operator[](Cause cause) { return ns_[static_cast<size_t>(cause)]; }
  int64_t operator[](Cause cause) const { return ns_[static_cast<size_t>(cause)]; }
  int64_t Total() const;
  Cause Largest() const;  // the first of them where several are equal
  void Add(const CauseSplit& other);

 private:
  std::array<int64_t, kCauseCount> ns_{};
};

// Calls f(cause) for each, in the order of the enumeration.
template <class F>
void ForEachCause(F&& f) {
  for (size_t i = 0; i < kCauseCount; ++i) f(static_cast<Cause>(i));
}

}  // namespace gprof
