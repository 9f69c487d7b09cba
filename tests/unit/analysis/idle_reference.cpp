#include "idle_reference.h"

#include <algorithm>
#include <limits>
#include <set>

namespace gprof::test {
namespace {

constexpr uint32_t kDriverCompiler = 1, kModuleLoading = 4u << 16, kLazyLoading = 5u << 16, kBufferFull = 6u << 16;

class Reference {
 public:
  Reference(const Trace& trace, uint32_t device) : trace_(trace), slice_(trace.device_ops[device]) {}

  ReferenceTimes Run() {
    if (slice_.first == slice_.last) return times_;
    const int64_t start_ns = trace_.ops[slice_.first].start_ns;
    int64_t end_ns = start_ns;
    for (uint32_t i = slice_.first; i < slice_.last; ++i) end_ns = std::max(end_ns, trace_.ops[i].end_ns);
    for (int64_t t = start_ns; t < end_ns; ++t) Look(t);
    times_.window_ns = times_.busy_ns + times_.idle_ns;
    return times_;
  }

  OutsideTimes Outside() const {
    OutsideTimes sum;
    if (slice_.first == slice_.last) return sum;
    const int64_t start_ns = trace_.ops[slice_.first].start_ns;
    int64_t end_ns = start_ns;
    std::set<uint32_t> processes;
    for (uint32_t i = slice_.first; i < slice_.last; ++i) {
      end_ns = std::max(end_ns, trace_.ops[i].end_ns);
      processes.insert(trace_.ops[i].process);
    }
    for (const uint32_t process : processes) {
      int64_t before_ns = 0, after_ns = 0;
      for (int64_t t = trace_.processes[process].start_ns; t < trace_.processes[process].end_ns; ++t) {
        if (!IsRecorded(process, t)) continue;
        before_ns += t < start_ns && !IsOfProfiler(process, t);
        after_ns += t >= end_ns;
      }
      sum.startup_ns += before_ns;
      sum.teardown_ns += after_ns;
      sum.longest_startup_ns = std::max(sum.longest_startup_ns, before_ns);
      sum.longest_teardown_ns = std::max(sum.longest_teardown_ns, after_ns);
    }
    return sum;
  }

 private:
  bool IsOfProfiler(uint32_t process, int64_t t) const {
    return std::any_of(trace_.overheads.begin(), trace_.overheads.end(), [&](const Overhead& overhead) {
      const uint32_t kind = overhead.kind;
      const bool is_profiler =
          kind != kDriverCompiler && kind != kModuleLoading && kind != kLazyLoading && kind != kBufferFull;
      return overhead.process == process && is_profiler && overhead.start_ns <= t && t < overhead.end_ns;
    });
  }

  void Look(int64_t t) {
    std::set<uint32_t> streams, kernel_streams;
    int kernels = 0, copies = 0;
    for (uint32_t i = slice_.first; i < slice_.last; ++i) {
      const GpuOp& op = trace_.ops[i];
      if (t < op.start_ns || t >= op.end_ns) continue;
      streams.insert(op.stream);
      copies += op.kind == OpKind::kMemcpy || op.kind == OpKind::kPeerCopy;
      if (op.kind != OpKind::kKernel && op.kind != OpKind::kGraph) continue;
      ++kernels;
      kernel_streams.insert(op.stream);
    }
    if (streams.empty() && !IsRecorded(t)) return;
    ++times_.time_by_level[static_cast<int64_t>(streams.size())];
    times_.kernel_ns += kernels > 0;
    times_.kernel_overlap_ns += kernel_streams.size() >= 2;
    times_.copy_compute_ns += kernels > 0 && copies > 0;
    if (!streams.empty()) {
      ++times_.busy_ns;
      return;
    }
    ++times_.idle_ns;
    ++times_.idle_by_cause[CauseAt(t)];
    times_.gaps += GapStart(t) == t;
  }

  bool IsAlive(uint32_t process, int64_t t) const {
    return trace_.processes[process].start_ns <= t && t < trace_.processes[process].end_ns;
  }

  bool IsRecorded(uint32_t process, int64_t t) const {
    bool has_captures = false;
    for (const Capture& c : trace_.captures) {
      has_captures = has_captures || c.process == process;
      if (c.process == process && c.start_ns <= t && t < c.end_ns) return true;
    }
    return !has_captures;
  }

  // One process that uses the device is recorded, or none of them lives.
  bool IsRecorded(int64_t t) const {
    bool is_any_alive = false;
    for (uint32_t i = slice_.first; i < slice_.last; ++i) {
      const uint32_t process = trace_.ops[i].process;
      const bool has_captures = std::any_of(trace_.captures.begin(), trace_.captures.end(),
                                            [&](const Capture& c) { return c.process == process; });
      is_any_alive = is_any_alive || IsAlive(process, t);
      if (IsRecorded(process, t) && (has_captures || IsAlive(process, t))) return true;
    }
    return !is_any_alive;
  }

  std::string CauseAt(int64_t t) {
    const uint32_t next = NextOp(t);
    const int64_t gap_start_ns = GapStart(t);
    const GpuOp& op = trace_.ops[next];
    uint32_t call_index = op.api;
    while (call_index != kNone && trace_.api_calls[call_index].parent != kNone) {
      call_index = trace_.api_calls[call_index].parent;
    }
    if (call_index == kNone) return "unknown";
    const ApiCall& call = trace_.api_calls[call_index];
    if (call.end_ns <= gap_start_ns) {
      if (IsMoving(op.device, t)) return "memory";
      return WaitsForEvent(next, call, gap_start_ns) ? "dependency" : "queue";
    }
    if (t < trace_.processes[call.process].start_ns) return "unknown";
    if (t < call.start_ns && !IsRecorded(call.process, t)) return "unknown";
    if (IsInterrupted(call.thread, t, false)) return "profiler";
    if (IsInterrupted(call.thread, t, true)) return "load";
    if (t >= call.start_ns) return op.IsPageable() ? "copy" : "launch";
    return WhatTheThreadDid(call.thread, op.device, t);
  }

  // Or the host waits between two moves: the next one is to the host, and less than 200 us later than those before.
  bool IsMoving(uint32_t device, int64_t t) const {
    int64_t before_ns = -1;
    for (const ManagedMemory& m : trace_.managed_memory) {
      const bool is_migration = m.kind == trace::ManagedKind::kHostToDevice ||
                                m.kind == trace::ManagedKind::kDeviceToHost ||
                                m.kind == trace::ManagedKind::kDeviceToDevice;
      if (!is_migration || (m.source != device && m.destination != device) || m.start_ns >= m.end_ns) continue;
      if (t < m.start_ns) {
        return before_ns >= 0 && m.kind == trace::ManagedKind::kDeviceToHost && m.start_ns - before_ns <= 200'000;
      }
      if (t < m.end_ns) return true;
      before_ns = std::max(before_ns, m.end_ns);
    }
    return false;
  }

  uint32_t NextOp(int64_t t) const {
    uint32_t i = slice_.first;
    while (trace_.ops[i].start_ns <= t) ++i;
    return i;
  }

  int64_t GapStart(int64_t t) const {
    int64_t start_ns = 0;
    for (uint32_t i = slice_.first; i < slice_.last && trace_.ops[i].start_ns <= t; ++i) {
      start_ns = std::max(start_ns, trace_.ops[i].end_ns);
    }
    // It begins with the capture where that is later.
    int64_t piece_ns = t;
    while (piece_ns > start_ns && IsRecorded(piece_ns - 1)) --piece_ns;
    return piece_ns;
  }

  uint32_t OutermostOf(uint32_t call) const {
    while (call != kNone && trace_.api_calls[call].parent != kNone) call = trace_.api_calls[call].parent;
    return call;
  }

  int64_t LaunchNs(const GpuOp& op) const {
    const uint32_t call = OutermostOf(op.api);
    return call == kNone ? op.start_ns : trace_.api_calls[call].start_ns;
  }

  // The stream was told to wait after all its earlier operations had been launched, and that held this one up.
  bool WaitsForEvent(uint32_t op_index, const ApiCall& call, int64_t gap_start_ns) const {
    const GpuOp& op = trace_.ops[op_index];
    if (op.stream == kNone) return false;
    int64_t last_launch_ns = std::numeric_limits<int64_t>::min(), last_end_ns = last_launch_ns;
    for (uint32_t i = slice_.first; i < op_index; ++i) {
      if (trace_.ops[i].stream != op.stream) continue;
      last_launch_ns = std::max(last_launch_ns, LaunchNs(trace_.ops[i]));
      last_end_ns = std::max(last_end_ns, trace_.ops[i].end_ns);
    }
    return std::any_of(trace_.syncs.begin(), trace_.syncs.end(), [&](const Sync& sync) {
      if (sync.kind != trace::SyncKind::kStreamWaitEvent || sync.stream != op.stream) return false;
      if (sync.start_ns > call.start_ns || sync.start_ns <= last_launch_ns) return false;
      return HoldsUp(sync, op, last_end_ns, gap_start_ns);
    });
  }

  bool HoldsUp(const Sync& sync, const GpuOp& op, int64_t last_end_ns, int64_t gap_start_ns) const {
    const EventRecord* record = nullptr;  // the last before the wait
    for (const EventRecord& r : trace_.event_records) {
      if (r.process == sync.process && r.event == sync.event && r.time_ns <= sync.start_ns) record = &r;
    }
    if (record == nullptr || record->stream == kNone) return true;
    if (record->stream == op.stream) return false;
    const uint32_t call = OutermostOf(record->api);
    const int64_t record_ns = call == kNone ? record->time_ns : trace_.api_calls[call].start_ns;
    int64_t completed_ns = std::numeric_limits<int64_t>::min();
    for (const GpuOp& other : trace_.ops) {  // of one device, where they are in order of time
      if (other.stream == record->stream && LaunchNs(other) < record_ns) completed_ns = other.end_ns;
    }
    return completed_ns > last_end_ns && completed_ns > gap_start_ns - 5000;
  }

  bool IsInterrupted(uint32_t thread, int64_t t, bool by_loading) const {
    const auto covers = [&](const auto& record) {
      return record.thread == thread && record.start_ns <= t && t < record.end_ns;
    };
    for (const Overhead& overhead : trace_.overheads) {
      if (!covers(overhead) || overhead.kind == kBufferFull) continue;
      const bool loads =
          overhead.kind == kDriverCompiler || overhead.kind == kModuleLoading || overhead.kind == kLazyLoading;
      if (loads == by_loading) return true;
    }
    return by_loading && std::any_of(trace_.jits.begin(), trace_.jits.end(), covers);
  }

  std::string WhatTheThreadDid(uint32_t thread, uint32_t device, int64_t t) {
    for (uint32_t i = 0; i < trace_.api_calls.size(); ++i) {
      const ApiCall& call = trace_.api_calls[i];
      if (call.thread == thread && call.parent == kNone && call.start_ns <= t && t < call.end_ns) {
        return CauseOfCall(i);
      }
    }
    if (const std::string outside = WaitOutsideOfCuda(thread, t); !outside.empty()) return outside;
    if (IsMoving(device, t)) return "memory";
    uint32_t innermost = kNone;
    for (uint32_t i = 0; i < trace_.ranges.size(); ++i) {
      const NvtxRange& range = trace_.ranges[i];
      if (range.thread == thread && range.is_push_pop && range.start_ns <= t && t < range.end_ns) innermost = i;
    }
    times_.preempted_ns += std::any_of(trace_.switches.begin(), trace_.switches.end(), [&](const ThreadSwitch& off) {
      return off.is_preempted && off.thread == thread && off.start_ns <= t && t < off.end_ns;
    });
    ++times_.host_by_path[innermost == kNone ? "(no range)" : trace_.strings[trace_.ranges[innermost].path.value]];
    return "host";
  }

  // Of calls within calls the one that began first; of two at once that of MPI, which calls the operating system.
  std::string WaitOutsideOfCuda(uint32_t thread, int64_t t) const {
    const auto covers = [&](const auto& record) {
      return record.thread == thread && record.start_ns <= t && t < record.end_ns;
    };
    const auto first_start = [&](const auto& calls) {
      const auto found = std::find_if(calls.begin(), calls.end(), covers);
      return found == calls.end() ? INT64_MAX : found->start_ns;
    };
    const int64_t os_ns = first_start(trace_.os_calls), mpi_ns = first_start(trace_.mpi_calls);
    if (mpi_ns != INT64_MAX && mpi_ns <= os_ns) return "mpi";
    const bool is_off = std::any_of(trace_.switches.begin(), trace_.switches.end(),
                                    [&](const ThreadSwitch& off) { return !off.is_preempted && covers(off); });
    return os_ns != INT64_MAX || is_off ? "os" : "";
  }

  std::string CauseOfCall(uint32_t index) const {
    switch (trace_.api_calls[index].api_class) {
      case ApiClass::kSync:
        return "sync";
      case ApiClass::kMemory:
        return "memory";
      case ApiClass::kLoad:
        return "load";
      case ApiClass::kCopy:
        return IsBlocking(index) ? "copy" : "api";
      default:
        return "api";
    }
  }

  bool IsBlocking(uint32_t index) const {
    bool has_op = false;
    for (const GpuOp& op : trace_.ops) {
      if (op.api != index && (op.api == kNone || trace_.api_calls[op.api].parent != index)) continue;
      has_op = true;
      const bool is_host_copy = op.copy_kind != trace::CopyKind::kDeviceToDevice && op.kind == OpKind::kMemcpy;
      if (op.IsPageable() || (is_host_copy && !op.is_async)) return true;
    }
    const std::string& name = trace_.strings[trace_.api_calls[index].function.value];
    return !has_op && name.find("Async") == std::string::npos;
  }

  const Trace& trace_;
  const Trace::Slice slice_;
  ReferenceTimes times_;
};

}  // namespace

OutsideTimes LookOutside(const Trace& trace, uint32_t device) { return Reference(trace, device).Outside(); }

ReferenceTimes LookAtEveryNanosecond(const Trace& trace, uint32_t device) { return Reference(trace, device).Run(); }

}  // namespace gprof::test
