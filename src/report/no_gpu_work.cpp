#include <algorithm>
#include <iterator>
#include <string_view>

#include "analysis/facts/time/recorded_time.h"
#include "base/units.h"
#include "report/trace_words.h"

namespace gprof {
namespace {

// What profilers say when they cannot record the GPU, and what it means. An empty meaning: the text says it already.
struct Diagnosis {
  std::string_view part;  // of the text of a notice, as it is or in other letters
  std::string_view meaning;
};

constexpr std::string_view kPermission =
    "The user was not permitted to use the profiling interface of the GPU (NVIDIA's page ERR_NVGPUCTRPERM says how to "
    "permit it).";
constexpr std::string_view kOtherProfiler = "Another profiler was using CUPTI: only one of them can at a time.";
constexpr std::string_view kNoCupti = "CUPTI, the profiling library of CUDA, could not be started.";

constexpr Diagnosis kDiagnoses[] = {
    {"driver version is not supported",
     "The profiler does not support the installed CUDA driver: record with a version that does."},
    {"might have not been started correctly",
     "CUDA profiling did not start properly in the program: the profiler was loaded too late, or was kept out."},
    {"INSUFFICIENT_PRIVILEGES", kPermission},
    {"insufficient privileges", kPermission},
    {"ERR_NVGPUCTRPERM", kPermission},
    {"MULTIPLE_SUBSCRIBERS", kOtherProfiler},
    {"another profiler", {}},
    {"two copies of libcupti", {}},
    {"CUPTI initialization failed", kNoCupti},
    {"CUDA injection initialization failed", kNoCupti},
    {"CUPTI_ERROR_NOT_INITIALIZED", kNoCupti},
    {"is not recorded", {}},  // CUDA, or GPU work: the tracer
    {"no CUDA driver", {}},
    {"no GPU work", {}},
    {"CUPTI was shut down", {}},
};

// Errors that are not about what ran on the GPU.
constexpr std::string_view kAside[] = {"Unified Memory", "NVTX",   "OpenGL",    "Vulkan",
                                       "perf event",     "OpenMP", "backtrace", "GPU metrics"};

bool Says(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Empty where the notice is no reason.
std::string ReasonOf(const TraceHead& trace, const Notice& notice) {
  const std::string_view text = trace.Text(notice.message);
  const auto* known =
      std::ranges::find_if(kDiagnoses, [&](const Diagnosis& diagnosis) { return Says(text, diagnosis.part); });
  if (known != std::end(kDiagnoses)) {
    if (known->meaning.empty()) return std::string(text);
    return std::string(known->meaning) +
           (trace.recorder.empty() ? "" : " " + trace.recorder + ": " + std::string(text));
  }
  const bool is_aside = std::ranges::any_of(kAside, [&](std::string_view part) { return Says(text, part); });
  if (notice.level != trace::NoticeLevel::kError || is_aside) return {};
  return (trace.recorder.empty() ? "" : trace.recorder + " reported an error: ") + std::string(text);
}

// What was asked for stands before the semicolon (src/tracer/capture/capture_mode.cpp).
bool IsCudaAskedFor(const TraceHead& trace) {
  const std::string mode = CaptureModeText(trace);
  return mode.empty() || mode.substr(0, mode.find(';')).find("CUDA") != std::string::npos;
}

int64_t CopyingCalls(const Trace& trace) {
  return std::count_if(trace.api_calls.begin(), trace.api_calls.end(), [](const ApiCall& call) {
    return call.api_class == ApiClass::kCopy || call.api_class == ApiClass::kMemset;
  });
}

// What the calls tell.
std::string StateOf(const Trace& trace) {
  const std::string calls = CountOf(static_cast<int64_t>(trace.api_calls.size()), "CUDA call");
  const auto pending = std::ranges::count_if(trace.in_progress, &InProgress::IsGpuWork);
  if (pending > 0) return CountOf(pending, "GPU operation") + " had begun or been launched, and none had ended.";
  if (trace.health.unmatched_launches > 0) {
    return "GPU work was not recorded: " + FormatCount(static_cast<int64_t>(trace.health.unmatched_launches)) +
           " of the " + calls + " launched some, and none of it is in the trace.";
  }
  const int64_t copying = CopyingCalls(trace);
  // The tracer itself would have the operation of a call that had one.
  if (copying > 0 && !trace.recorder.empty()) {
    return "GPU work was not recorded: " + FormatCount(copying) + " of the " + calls +
           " copied or set memory, and none of it is in the trace.";
  }
  if (!trace.api_calls.empty()) return "The program made " + calls + ", none of which started GPU work.";
  // Blocks are known, and not by calls of CUDA: a snapshot of memory.
  if (trace.Lacks(Fact::kApiCalls) && !trace.memory_events.empty())
    return "The file covers memory only: see report --only memory.";
  if (HasOnlyWaited(trace)) return "No capture started. Requested: " + CaptureModeText(trace) + ".";
  if (!trace.recorder.empty()) return "The capture has neither GPU operations nor CUDA calls.";
  if (trace.processes.empty()) return "Nothing was recorded: the program made no CUDA or NVTX call.";
  if (!IsCudaAskedFor(trace)) return "CUDA was not recorded, as -t does not include it.";
  if (!trace.health.IsComplete()) return "No CUDA call is in the data that was recovered.";
  if (!IsRecordedWhole(trace)) return "The program made no CUDA call while it was recorded.";
  return "The program made no CUDA call that could be recorded.";
}

}  // namespace

bool IsReasonForNoGpuWork(const TraceHead& trace, const Notice& notice) { return !ReasonOf(trace, notice).empty(); }

std::vector<std::string> WhyNoGpuWork(const Trace& trace) {
  if (!trace.ops.empty() || !trace.counter_ranges.empty() || !trace.pc_samples.empty()) return {};
  std::vector<std::string> reasons;
  const auto add = [&](std::string reason) {
    if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(std::move(reason));
  };
  if (!trace.processes.empty() && std::ranges::all_of(trace.processes, IsSeen)) {
    add("No process of this run made a CUDA or NVTX call: the report covers what the CPU did, observed from outside.");
  }
  const bool was_launched = trace.health.unmatched_launches > 0;
  if (was_launched) add(StateOf(trace));
  for (const Notice& notice : trace.notices) {
    if (std::string reason = ReasonOf(trace, notice); !reason.empty()) add(std::move(reason));
  }
  if (reasons.empty()) add(StateOf(trace));
  return reasons;
}

}  // namespace gprof
