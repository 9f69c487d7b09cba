#include "trace/load/lacking_facts.h"

#include <algorithm>
#include <string_view>

namespace gprof {
namespace {

// "CUDA, memory usage, NVTX; from the beginning": what was asked for stands before the semicolon
// (src/tracer/capture/capture_mode.cpp). Where no process says what was, nothing is taken to have been asked for.
bool WasAskedFor(const Trace& trace, std::string_view what) {
  bool is_said = false;
  for (const Process& process : trace.processes) {
    const std::string_view mode = trace.Text(process.capture_mode);
    if (mode.empty()) continue;
    is_said = true;
    if (mode.substr(0, mode.find(';')).find(what) == std::string_view::npos) return false;
  }
  return is_said;
}

bool HasWholeGraphs(const Trace& trace) {
  for (uint32_t i = 0; i < trace.ops.TraitsCount(); ++i) {
    if (trace.ops.TraitsAt(i).kind == OpKind::kGraph) return true;
  }
  return false;
}

bool HasDirectives(const Trace& trace, std::string_view model) {
  return std::any_of(trace.directives.begin(), trace.directives.end(),
                     [&](const Directive& directive) { return trace.Text(directive.model) == model; });
}

// Graphs were launched, and no operation is of a graph.
bool LacksGraphWork(const Trace& trace) {
  bool has_launches = false;
  for (uint32_t i = 0; i < trace.api_calls.TraitsCount(); ++i) {
    has_launches |= trace.api_calls.TraitsAt(i).api_class == ApiClass::kGraphLaunch;
  }
  if (!has_launches || trace.ops.empty()) return false;
  for (uint32_t i = 0; i < trace.ops.TraitsCount(); ++i) {
    const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
    if (traits.kind == OpKind::kGraph || traits.graph != 0) return false;
  }
  for (const ApiCall& call : trace.api_calls) {
    if (call.api_class == ApiClass::kGraphLaunch && call.op_count > 0) return false;
  }
  return true;
}

}  // namespace

FactSet LackingFactsOf(const Trace& trace) {
  FactSet lacks = FactSet::None();
  if (trace.memory_events.empty() && !WasAskedFor(trace, "memory usage")) lacks |= Fact::kMemory;
  if (trace.managed_memory.empty() && !WasAskedFor(trace, "managed memory"))
    lacks |= Fact::kManagedMemory | Fact::kGpuPageFaults | Fact::kCpuPageFaults;
  if (trace.ranges.empty() && trace.marks.empty() && !WasAskedFor(trace, "NVTX")) lacks |= Fact::kNvtx;
  const bool has_os_calls = !trace.os_calls.empty() || WasAskedFor(trace, "OS runtime");
  const bool has_switches = !trace.switches.empty() || WasAskedFor(trace, "context switches");
  if (!has_os_calls) lacks |= Fact::kOsCalls;
  if (!has_switches) lacks |= Fact::kSwitches;
  if (!has_os_calls && !has_switches) lacks |= Fact::kHostWaits;
  if (trace.cpu_samples.empty() && !WasAskedFor(trace, "CPU samples")) lacks |= Fact::kCpuSamples;
  if (trace.mpi_calls.empty() && !WasAskedFor(trace, "MPI")) lacks |= Fact::kMpiCalls;
  if (trace.gemms.empty() && !WasAskedFor(trace, "GEMM")) lacks |= Fact::kGemms;
  if (trace.collectives.empty() && !WasAskedFor(trace, "NCCL")) lacks |= Fact::kCollectives;
  if (!HasDirectives(trace, "OpenMP") && !WasAskedFor(trace, "OpenMP")) lacks |= Fact::kOpenMp;
  if (!HasDirectives(trace, "OpenACC") && !WasAskedFor(trace, "OpenACC")) lacks |= Fact::kOpenAcc;
  const bool is_in_windows = std::any_of(trace.captures.begin(), trace.captures.end(), [](const Capture& capture) {
    return capture.trigger == trace::CaptureTrigger::kWindow || capture.end_trigger == trace::CaptureTrigger::kWindow;
  });
  if (is_in_windows || !trace.base_times.empty()) lacks |= Fact::kWholeRun;
  if (trace.counter_ranges.empty()) lacks |= Fact::kCounters;
  if (HasWholeGraphs(trace)) lacks |= Fact::kGraphNodes;
  const bool is_of_our_tracer =
      std::any_of(trace.processes.begin(), trace.processes.end(),
                  [&](const Process& process) { return !trace.Text(process.tracer_version).empty(); });
  if (!is_of_our_tracer) lacks |= Fact::kRecordingCost;
  if (LacksGraphWork(trace)) lacks |= Fact::kGraphWork;
  return lacks;
}

}  // namespace gprof
