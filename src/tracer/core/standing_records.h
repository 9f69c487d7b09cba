// What CUPTI says once in a process and every trace of it needs: kept, so that a later capture into another file has
// it.
#pragma once

#include <cstdint>

#include "gprof/trace/record.h"
#include "tracer/store/arena.h"

namespace gprof::tracer {

template <class R>
inline constexpr bool kIsFact = false;
template <>
inline constexpr bool kIsFact<trace::DeviceRecord> = true;
template <>
inline constexpr bool kIsFact<trace::ContextRecord> = true;
template <>
inline constexpr bool kIsFact<trace::StreamRecord> = true;
template <>
inline constexpr bool kIsFact<trace::GraphNodeRecord> = true;

// An append-only list. [writer thread]
template <class R>
class FactList {
 public:
  // What there is no room for is not told again.
  void Remember(const R& fact) {
    const uint32_t segment = count_ / kPerSegment;
    if (segment >= kSegments) return;
    if (segments_[segment] == nullptr) {
      segments_[segment] = static_cast<R*>(KeepMemory(kPerSegment * sizeof(R), Region::kRows));
    }
    if (segments_[segment] != nullptr) segments_[segment][count_++ % kPerSegment] = fact;
  }
  template <class F>
  void ForEach(F&& f) const {
    for (uint32_t i = 0; i < count_; ++i) f(segments_[i / kPerSegment][i % kPerSegment]);
  }

 private:
  static constexpr uint32_t kPerSegment = 256, kSegments = 1024;
  R* segments_[kSegments] = {};
  uint32_t count_ = 0;
};

}  // namespace gprof::tracer
