#include "tracer/cupti/activity/activity_kinds.h"

#include <atomic>
#include <iterator>

#include "tracer/core/notice.h"
#include "tracer/core/tracer.h"
#include "tracer/cupti/activity/kernel_switch.h"
#include "tracer/cupti/library/cupti_api.h"

namespace gprof::tracer {
namespace {

enum class Group : uint8_t { kFacts, kWork };

bool Always() { return true; }

// libcupti 13.0 crashes when a graph is launched under GRAPH_TRACE that was instantiated without; the other way round
// is safe. Having the kind on all the time would be safe too, but costs every kernel launch 0.5 µs outside captures.
constinit std::atomic<bool> has_untraced_graph{false};
constinit std::atomic<bool> is_by_nodes{false};  // for good

bool MemoryUsage() { return Config().wants_memory_usage; }
bool ManagedMemory() { return Config().wants_managed_memory; }

struct Kind {
  CUpti_ActivityKind kind;
  const char* plural;
  Group group;
  bool (*is_wanted)();
};

// In the order of enabling. Kernels come last, because they are what makes the driver instrument code. MEMCPY2 is not
// among them: records of peer copies come with MEMCPY, and with both kinds on, a program's kernels fail when a graph is
// launched for the first time and the last work before it was a copy within the device that CUPTI has delivered already
// (libcupti 13.0, driver 580; tests/gpu/programs/graphs.cpp, after_copy).
constexpr Kind kKinds[] = {{CUPTI_ACTIVITY_KIND_DEVICE, "devices", Group::kFacts, Always},
                           {CUPTI_ACTIVITY_KIND_CONTEXT, "contexts", Group::kFacts, Always},
                           {CUPTI_ACTIVITY_KIND_STREAM, "streams", Group::kFacts, Always},
                           {CUPTI_ACTIVITY_KIND_OVERHEAD, "overheads", Group::kFacts, Always},
                           {CUPTI_ACTIVITY_KIND_JIT, "JIT compilations", Group::kFacts, Always},
                           {CUPTI_ACTIVITY_KIND_MEMORY2, "allocations", Group::kWork, MemoryUsage},
                           {CUPTI_ACTIVITY_KIND_MEMORY_POOL, "memory pools", Group::kWork, MemoryUsage},
                           {CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, "managed-memory migrations and page faults",
                            Group::kWork, ManagedMemory},
                           {CUPTI_ACTIVITY_KIND_MEMCPY, "copies", Group::kWork, Always},
                           {CUPTI_ACTIVITY_KIND_MEMSET, "memsets", Group::kWork, Always},
                           {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, "graph launches", Group::kWork, GraphsAsAWhole},
                           {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernels", Group::kWork, Always}};
constexpr std::size_t kCount = std::size(kKinds);

constexpr std::size_t IndexOf(CUpti_ActivityKind kind) {
  std::size_t i = 0;
  while (kKinds[i].kind != kind) ++i;
  return i;
}
constexpr std::size_t kGraphTrace = IndexOf(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
constexpr std::size_t kKernels = IndexOf(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);

// Atomic because the thread that starts the driver enables the late kinds while another one may start a capture. A lock
// would be waited for within the driver's start-up, whose own locks its holder may need.
constinit std::atomic<bool> is_on[kCount] = {};
constinit std::atomic<bool> is_work_on{false};
constinit std::atomic<bool> is_driver_up{false};

void SayRefused(const char* plural, const char* what, CUptiResult result) {
  Message message;
  message << plural << " " << what << ": CUPTI returned " << Cupti().NameOf(result) << " ("
          << static_cast<uint64_t>(result) << ")";
  Say(trace::NoticeLevel::kInfo, message);
}

template <std::size_t N>
CUptiResult Configure(const CUpti_ActivityUnifiedMemoryCounterKind (&kinds)[N]) {
  CUpti_ActivityUnifiedMemoryCounterConfig configs[N] = {};
  for (std::size_t i = 0; i < N; ++i) {
    configs[i].scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES;
    configs[i].kind = kinds[i];
    configs[i].enable = 1;
  }
  return Cupti().cuptiActivityConfigureUnifiedMemoryCounter(configs, N);
}

// Migrations and faults everywhere; what only some devices and drivers can tell, where they can.
CUptiResult ConfigureManagedMemory() {
  static constexpr CUpti_ActivityUnifiedMemoryCounterKind kAll[] = {
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD};
  static constexpr CUpti_ActivityUnifiedMemoryCounterKind kMain[] = {
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT};
  if (Cupti().cuptiActivityConfigureUnifiedMemoryCounter == nullptr) return CUPTI_ERROR_NOT_SUPPORTED;
  const CUptiResult all = Configure(kAll);
  return all == CUPTI_SUCCESS ? all : Configure(kMain);
}

CUptiResult EnableOne(const Kind& kind) {
  if (kind.kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) {
    const CUptiResult configured = ConfigureManagedMemory();
    if (configured != CUPTI_SUCCESS) return configured;
  }
  return kind.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? RecordKernels() : Cupti().cuptiActivityEnable(kind.kind);
}

// Its configuration asks the driver, which within cuInit is not ready to answer.
bool MustWait(const Kind& kind) { return kind.kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER && !is_driver_up; }

void Enable(Group group) {
  for (std::size_t i = 0; i < kCount; ++i) {
    const Kind& kind = kKinds[i];
    if (kind.group != group || !kind.is_wanted() || MustWait(kind) || is_on[i].exchange(true)) continue;
    const CUptiResult result = EnableOne(kind);
    if (result == CUPTI_SUCCESS) continue;
    is_on[i] = false;
    SayRefused(kind.plural, "are not recorded", result);
  }
}

void DisableOne(std::size_t i) {
  if (Cupti().cuptiActivityDisable == nullptr || !is_on[i].exchange(false)) return;
  const CUptiResult result = i == kKernels ? PauseKernels() : Cupti().cuptiActivityDisable(kKinds[i].kind);
  if (result == CUPTI_SUCCESS) return;
  is_on[i] = true;
  SayRefused(kKinds[i].plural, "cannot be disabled", result);
}

void Disable(Group group) {
  for (std::size_t i = kCount; i-- > 0;) {
    if (kKinds[i].group == group) DisableOne(i);
  }
}

}  // namespace

void EnableFactKinds() { Enable(Group::kFacts); }

void ReleaseKinds() {
  Disable(Group::kWork);
  ReleaseKernels();
  Disable(Group::kFacts);
}

void SetWorkKinds(bool on) {
  is_work_on = on;
  if (on) {
    Enable(Group::kWork);
  } else {
    DisableOne(kKernels);
  }
}

bool GraphsAsAWhole() { return Config().graph_mode != GraphMode::kNode && !has_untraced_graph && !is_by_nodes; }

void RecordGraphNodes() {
  is_by_nodes = true;
  DisableOne(kGraphTrace);
}

void ExpectEarlierGraphs() { has_untraced_graph = true; }

void OnGraphInstantiated() {
  if (!Config().wants_cuda || Config().graph_mode == GraphMode::kNode || is_on[kGraphTrace] ||
      has_untraced_graph.exchange(true))
    return;
  Message message;
  message << "a CUDA graph was created outside captures; from here on graphs are recorded node by node, because CUPTI "
             "cannot record such a graph as a whole";
  Say(trace::NoticeLevel::kInfo, message);
}

void EnableLateKinds() {
  is_driver_up = true;
  if (is_work_on && Config().wants_managed_memory) Enable(Group::kWork);
}

}  // namespace gprof::tracer
