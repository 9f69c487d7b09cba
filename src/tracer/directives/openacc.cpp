// The library as a profiling tool of OpenACC: runtimes of NVIDIA and GCC call acc_register_library of the libraries of
// ACC_PROFLIB.
#include <cstddef>
#include <cstdint>

#include "tracer/core/config.h"
#include "tracer/core/entry_points.h"
#include "tracer/core/tracer.h"
#include "tracer/directives/directive_collector.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

// Layouts and numbers are those of the OpenACC specification, section Profiling Interface.
struct AccPlace {
  int event, valid_bytes, version, device_type, device, thread;
  ptrdiff_t async, async_queue;
  const char *file, *function;
  int line, end_line, function_line, function_end_line;
};

struct AccEvent {
  int event, valid_bytes, construct, is_implicit;
  void* of_tool;
  const char* name;   // of a variable or kernel; only in events of data and launches
  size_t size_bytes;  // only in events of data
};

using AccCallback = void (*)(AccPlace* place, AccEvent* event, void* api);
using AccRegister = void (*)(int event, AccCallback callback, int how);

struct AccConstruct {
  int start;  // number of the event; that of its end is the next
  const char* name;
  bool is_wait = false;
};
constexpr int kCompute = 16, kLaunch = 18, kUpload = 20, kDownload = 22;
constexpr AccConstruct kConstructs[] = {
    {1, "device init"},    {3, "device shutdown"}, {10, "enter data"},  {12, "exit data"},       {14, "update"},
    {kCompute, "compute"}, {kLaunch, "launch"},    {kUpload, "upload"}, {kDownload, "download"}, {24, "wait", true},
};

const AccConstruct* ConstructOfEnd(int event) {
  for (const AccConstruct& construct : kConstructs) {
    if (construct.start + 1 == event) return &construct;
  }
  return nullptr;
}

const char* ComputeName(int construct) {
  constexpr int kParallel = 0, kKernels = 1, kSerial = 16;
  if (construct == kParallel) return "parallel";
  if (construct == kKernels) return "kernels";
  return construct == kSerial ? "serial" : "compute";
}

void OnStart(AccPlace*, AccEvent*, void*) { EnterDirective(0); }

void OnEnd(AccPlace* place, AccEvent* event, void*) {
  const AccConstruct* const construct = ConstructOfEnd(place->event);
  if (construct == nullptr) return;
  DirectiveDetails details;
  details.model = "OpenACC";
  details.construct = construct->start == kCompute ? ComputeName(event->construct) : construct->name;
  details.is_wait = construct->is_wait;
  details.device = place->device;
  details.name = place->file;
  details.line = place->file != nullptr && place->line > 0 ? static_cast<uint32_t>(place->line) : 0;
  const bool is_data = construct->start == kUpload || construct->start == kDownload;
  const auto bytes = static_cast<size_t>(event->valid_bytes);
  if ((is_data || construct->start == kLaunch) && bytes >= offsetof(AccEvent, size_bytes) && event->name != nullptr) {
    details.name = event->name;
    details.line = 0;
  }
  if (is_data && bytes >= sizeof(AccEvent)) details.size_bytes = event->size_bytes;
  LeaveDirective(details);
}

}  // namespace
}  // namespace gprof::tracer

GPROF_EXPORT void acc_register_library(gprof::tracer::AccRegister add, gprof::tracer::AccRegister, void*) {
  using namespace gprof::tracer;
  constexpr int kPlain = 0;
  ErrnoGuard errno_guard;
  if (!StartTracer() || !Config().wants_openacc) return;
  for (const AccConstruct& construct : kConstructs) {
    add(construct.start, OnStart, kPlain);
    add(construct.start + 1, OnEnd, kPlain);
  }
}
