// The library as a tool of OpenMP (OMPT, from OpenMP 5.0 on): runtimes of LLVM, Intel and NVIDIA look for
// ompt_start_tool in the libraries of OMP_TOOL_LIBRARIES. That of GCC has no such interface.
#include <atomic>
#include <cstdint>

#include "tracer/core/config.h"
#include "tracer/core/entry_points.h"
#include "tracer/core/tracer.h"
#include "tracer/directives/directive_collector.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

// Numbers and arguments are those of the OpenMP specification, section OMPT.
union OmptData {
  uint64_t value;
  void* pointer;
};

using OmptFunction = void (*)();
using OmptLookup = OmptFunction (*)(const char* name);
using OmptSetCallback = int (*)(int event, OmptFunction callback);

enum OmptEvent {
  kParallelBegin = 3,
  kParallelEnd = 4,
  kImplicitTask = 7,
  kTarget = 8,
  kSyncRegionWait = 16,
  kTargetEmi = 33,
};
enum OmptEndpoint { kBegin = 1, kEnd = 2 };
constexpr int kInitialTask = 1;
constexpr int kSetImpossible = 2;  // this or less: the event will never come

struct OmptTool {
  int (*initialize)(OmptLookup lookup, int device, OmptData* data);
  void (*finalize)(OmptData* data);
  OmptData data;
};

std::atomic<uint32_t> regions{0};

uint32_t RegionOf(const OmptData* parallel) { return parallel == nullptr ? 0 : static_cast<uint32_t>(parallel->value); }

DirectiveDetails DetailsOf(const char* construct, const void* code) {
  DirectiveDetails details;
  details.model = "OpenMP";
  details.construct = construct;
  details.code = code;
  return details;
}

void OnParallelBegin(OmptData*, const void*, OmptData* parallel, unsigned, int, const void*) {
  parallel->value = regions.fetch_add(1, std::memory_order_relaxed) + 1;
  EnterDirective(RegionOf(parallel));
}

void OnParallelEnd(OmptData*, OmptData*, int, const void* code) { LeaveDirective(DetailsOf("parallel", code)); }

// The first thread of a team is the one that is in the region; only here it learns how many it got.
void OnImplicitTask(int endpoint, OmptData* parallel, OmptData*, unsigned threads, unsigned index, int flags) {
  if (endpoint != kBegin || index != 0 || (flags & kInitialTask) != 0) return;
  OpenDirective* const open = InnermostDirective();
  if (open != nullptr && open->region != 0 && open->region == RegionOf(parallel)) open->threads = threads;
}

const char* WaitName(int kind) {
  switch (kind) {
    case 3:
      return "barrier";
    case 4:
      return "barrier of the runtime";
    case 5:
      return "taskwait";
    case 6:
      return "taskgroup";
    case 7:
      return "reduction";
    default:
      return "implicit barrier";
  }
}

void OnWait(int kind, int endpoint, OmptData* parallel, OmptData*, const void* code) {
  if (endpoint == kBegin) return EnterDirective(RegionOf(parallel));
  if (endpoint != kEnd) return;
  DirectiveDetails details = DetailsOf(WaitName(kind), code);
  details.is_wait = true;
  LeaveDirective(details);
}

void Target(int kind, int endpoint, int device, const void* code) {
  constexpr const char* kNames[] = {"target", "target", "target enter data", "target exit data", "target update"};
  if (endpoint == kBegin) return EnterDirective(0);
  if (endpoint != kEnd) return;
  DirectiveDetails details = DetailsOf(kNames[(kind & 7) < 5 ? kind & 7 : 0], code);
  details.device = device;
  LeaveDirective(details);
}

void OnTarget(int kind, int endpoint, int device, OmptData*, uint64_t, const void* code) {
  Target(kind, endpoint, device, code);
}

void OnTargetEmi(int kind, int endpoint, int device, OmptData*, OmptData*, OmptData*, const void* code) {
  Target(kind, endpoint, device, code);
}

template <class Callback>
int Set(OmptSetCallback set, OmptEvent event, Callback* callback) {
  return set(event, reinterpret_cast<OmptFunction>(callback));
}

int Initialize(OmptLookup lookup, int, OmptData*) {
  const auto set = reinterpret_cast<OmptSetCallback>(lookup("ompt_set_callback"));
  if (set == nullptr) return 0;
  Set(set, kParallelBegin, OnParallelBegin);
  Set(set, kParallelEnd, OnParallelEnd);
  Set(set, kImplicitTask, OnImplicitTask);
  Set(set, kSyncRegionWait, OnWait);
  if (Set(set, kTargetEmi, OnTargetEmi) <= kSetImpossible) Set(set, kTarget, OnTarget);
  return 1;
}

void Finalize(OmptData*) {}

constinit OmptTool tool = {Initialize, Finalize, {}};

}  // namespace
}  // namespace gprof::tracer

// Null: the runtime asks the next tool.
GPROF_EXPORT gprof::tracer::OmptTool* ompt_start_tool(unsigned, const char*) {
  using namespace gprof::tracer;
  ErrnoGuard errno_guard;
  return StartTracer() && Config().wants_openmp ? &tool : nullptr;
}
