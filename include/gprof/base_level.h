// What is recorded between two windows, where kernels are not (docs/recorder.md).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "gprof/events.h"
#include "gprof/fields.h"
#include "gprof/trace/record.h"

namespace gprof {

constexpr std::array<std::string_view, 3> WordsOf(trace::RecordLevel) {
  return {"nothing", "everything", "base level"};
}

// A time outside of windows in which the base level was recorded. Those of a process do not overlap.
struct BaseTime {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t process = kNone;
  int64_t DurationNs() const { return end_ns - start_ns; }
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"process", Role::kProcess}, m.process);
  }
};

// A CUDA call outside of windows: a wait, the launch of a graph, or one that took long. Others are not known.
struct BaseCall {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t process = kNone, thread = kNone;
  uint32_t stack = kNone;    // of the caller, index into stacks
  uint32_t correlation = 0;  // of the BaseGraph that it launched
  NameId function;
  int32_t result = 0;
  uint8_t domain = 0;  // ApiDomain
  int64_t DurationNs() const { return end_ns - start_ns; }
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"stack", Role::kStack}, m.stack);
    v(FieldOf{"correlation"}, m.correlation);
    v(FieldOf{"function"}, m.function);
    v(FieldOf{"result"}, m.result);
    v(FieldOf{"domain"}, m.domain);
  }
};

// A CUDA graph that was launched outside of windows and ran as a whole. Other work of the GPU is not known there.
struct BaseGraph {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t process = kNone;
  uint32_t device = kNone, stream = kNone;
  uint32_t correlation = 0;  // of the BaseCall that launched it
  uint32_t graph = 0;        // its id
  int64_t DurationNs() const { return end_ns - start_ns; }
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"device", Role::kDevice}, m.device);
    v(FieldOf{"stream", Role::kStream}, m.stream);
    v(FieldOf{"correlation"}, m.correlation);
    v(FieldOf{"graph"}, m.graph);
  }
};

}  // namespace gprof
