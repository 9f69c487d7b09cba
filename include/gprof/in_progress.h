// What threads and GPUs were in the midst of when a snapshot was taken of a program that made no progress.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "gprof/events.h"
#include "gprof/fields.h"
#include "gprof/trace/record.h"

namespace gprof {

constexpr std::array<std::string_view, 9> WordsOf(trace::ProgressKind) {
  return {"not known", "thread", "CUDA call", "MPI call", "OS call", "kernel", "copy", "memset", "graph"};
}

struct InProgress {
  int64_t time_ns = 0;            // when it was looked at
  int64_t since_ns = 0;           // when the call was entered, 0 when not known
  uint64_t size_bytes = 0;        // of a copy or memset
  uint32_t process = kNone;       // of the trace
  uint32_t thread = kNone;        // of GPU work none
  uint32_t device = kNone;        // of GPU work, as the stream has it
  uint32_t stream = kNone;        // of GPU work
  uint32_t api = kNone;           // that launched the GPU work
  uint32_t stack = kNone;         // where the thread is
  uint32_t other_thread = kNone;  // that has the lock it waits for
  uint32_t look = 0;              // number of the look at the run, in which this was seen
  NameId name;                    // of the function or the kernel; of a thread, its system call
  NameId thread_name;             // as the operating system has it
  trace::ProgressKind progress_kind = trace::ProgressKind::kUnknown;
  bool is_running = false;  // the thread has a processor, or could have one
  bool IsGpuWork() const { return progress_kind >= trace::ProgressKind::kKernel; }
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"time_ns", Role::kTime}, m.time_ns);
    v(FieldOf{"since_ns", Role::kKnownTime}, m.since_ns);
    v(FieldOf{"size_bytes", Role::kKnown}, m.size_bytes);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"device", Role::kDevice}, m.device);
    v(FieldOf{"stream", Role::kStream}, m.stream);
    v(FieldOf{"api", Role::kCall}, m.api);
    v(FieldOf{"stack", Role::kStack}, m.stack);
    v(FieldOf{"other_thread", Role::kThread}, m.other_thread);
    v(FieldOf{"look"}, m.look);
    v(FieldOf{"name"}, m.name);
    v(FieldOf{"thread_name"}, m.thread_name);
    v(FieldOf{"progress_kind"}, m.progress_kind);
    v(FieldOf{"is_running"}, m.is_running);
  }
};

}  // namespace gprof
