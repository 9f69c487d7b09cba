#include "tracer/capture/capture_mode.h"

#include "tracer/capture/delayed_things.h"
#include "tracer/core/notice.h"
#include "tracer/store/interned_names.h"

namespace gprof::tracer {
namespace {

void AddWhat(const TracerConfig& c, Message* text) {
  const char* separator = "";
  const auto add = [&](bool is_wanted, const char* what) {
    if (!is_wanted) return;
    *text << separator << what;
    separator = ", ";
  };
  add(c.wants_cuda, c.wants_all_apis ? "CUDA with all API calls" : "CUDA");
  add(c.wants_cuda && c.graph_mode == GraphMode::kNode, "graphs by node");
  add(c.wants_cuda && c.graph_mode == GraphMode::kAuto, "graphs by node where that is affordable");
  add(c.wants_cuda && c.wants_memory_usage, "memory usage");
  add(c.wants_cuda && c.wants_managed_memory, "managed memory");
  add(c.wants_nvtx, "NVTX");
  add(c.wants_osrt, c.wants_file_access ? "OS runtime with all calls on files" : "OS runtime");
  add(c.wants_mpi, "MPI");
  add(c.wants_gemms, "GEMM");
  add(c.wants_nccl, "NCCL");
  add(c.wants_ucx, "UCX");
  add(c.wants_cusparse, "cuSPARSE");
  add(c.wants_cufft, "cuFFT");
  add(c.wants_openmp, "OpenMP");
  add(c.wants_openacc, "OpenACC");
}

void AddRange(const TracerConfig& c, Message* text) {
  *text << c.capture_range;
  if (c.capture_domain[0] != 0) *text << "@" << c.capture_domain;
}

void AddSteps(const StepSchedule& s, Message* text) {
  *text << " (skip " << uint64_t{s.skip} << ", then wait " << uint64_t{s.wait} << ", warm up " << uint64_t{s.warmup}
        << ", record " << uint64_t{s.active};
  if (s.repeat != 0) *text << ", " << uint64_t{s.repeat} << " times";
  *text << ")";
}

void AddEnd(const TracerConfig& c, Message* text) {
  switch (c.capture_end) {
    case CaptureEnd::kStop:
      *text << ", once";
      break;
    case CaptureEnd::kStopShutdown:
      *text << ", once, which ends the program";
      break;
    case CaptureEnd::kNone:
      *text << ", from the first time to the end";
      break;
    case CaptureEnd::kRepeat:
      if (c.capture_repeat == 0) {
        *text << ", every time";
      } else {
        *text << ", " << uint64_t{c.capture_repeat} << " times";
      }
      break;
  }
}

void AddBudget(uint32_t ppm, Message* text) {
  *text << " that keep the slow-down below " << uint64_t{ppm / 10000};
  if (ppm % 10000 != 0) *text << "." << uint64_t{ppm / 1000 % 10} << uint64_t{ppm / 100 % 10};
  *text << "%";
}

void AddWhen(const TracerConfig& c, Message* text) {
  *text << "; ";
  switch (c.capture_start) {
    case CaptureStart::kBegin:
      *text << "from the beginning";
      return;
    case CaptureStart::kCommand:
      *text << "between commands";
      return;
    case CaptureStart::kProfilerApi:
      *text << "between cudaProfilerStart and cudaProfilerStop";
      break;
    case CaptureStart::kNvtx:
      *text << "within the NVTX range ";
      AddRange(c, text);
      break;
    case CaptureStart::kSteps:
      *text << "steps by the NVTX range ";
      AddRange(c, text);
      return AddSteps(c.steps, text);
    case CaptureStart::kWindows:
      *text << "in windows";
      if (c.budget_ppm == 0) *text << ", to measure the slow-down";
      if (c.budget_ppm != 0) AddBudget(c.budget_ppm, text);
      return;
  }
  AddEnd(c, text);
}

}  // namespace

trace::StringId CaptureModeText(const TracerConfig& config) {
  Message text;
  AddWhat(config, &text);
  AddWhen(config, &text);
  if (ReadDelayPlan() != nullptr) text << "; with delays on purpose";
  return Names().Intern(text.c_str(), text.size());
}

}  // namespace gprof::tracer
