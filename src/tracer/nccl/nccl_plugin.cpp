// The library as a profiler plug-in of NCCL, which opens it by NCCL_PROFILER_PLUGIN and looks for these tables. NCCL
// calls from whichever thread makes or enqueues an operation; what we answer is always success, as an error would have
// it go on without a plug-in at best.
#include <atomic>
#include <cstdint>

#include "tracer/core/config.h"
#include "tracer/core/entry_points.h"
#include "tracer/core/tracer.h"
#include "tracer/nccl/collectives.h"
#include "tracer/nccl/nccl_events.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/thread_log.h"
#include "tracer/system/clock.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constexpr int kSuccess = 0;

// What NCCL hands back with each event. Rows have the values themselves, so this need not outlive the process.
struct Communicator {
  std::atomic<bool> is_taken{false};
  uint64_t number = 0;
  trace::StringId name;
  uint32_t ranks = 0, nodes = 0;
};

// More at the same time share the last one, which is of no communicator.
constexpr uint32_t kMostCommunicators = 1024;
constinit Communicator communicators[kMostCommunicators + 1] = {};

Communicator* NewCommunicator() {
  for (uint32_t i = 0; i < kMostCommunicators; ++i) {
    if (!communicators[i].is_taken.exchange(true, std::memory_order_acq_rel)) return &communicators[i];
  }
  return &communicators[kMostCommunicators];
}

trace::StringId NameOf(const char* text) { return text == nullptr ? trace::StringId{} : Names().Intern(text); }

// A call has ended when its operations are enqueued, and whoever reads a handle knows nothing but its value. So the
// handle of a call is what those need to know of it: when it began, and in the lowest bit whether it was captured.
void* HandleOf(uint64_t stamp, bool is_captured) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(stamp << 1 | (is_captured ? 1 : 0)));
}

void WriteRow(const Communicator& communicator, const NcclEvent& event, int version, const NcclOperation& operation) {
  const uint64_t now = Stamp();
  ThreadLog* const log = own_log != nullptr ? own_log : AcquireLogWithinCall(false);
  if (log == nullptr || log->tid != CurrentTid()) return;
  const auto call = version < 5 ? 0 : reinterpret_cast<uintptr_t>(event.parent);
  const bool is_known = communicator.number != 0;
  CollectiveRow row{RowHeaderOf<CollectiveRow>(RowType::kCollective),
                    event.rank,
                    call == 0 ? now : call >> 1,
                    now,
                    is_known ? communicator.number : operation.communicator,
                    operation.sequence,
                    operation.count * BytesOfNcclType(operation.datatype),
                    NameOf(operation.function),
                    NameOf(operation.datatype),
                    NameOf(operation.algorithm),
                    NameOf(operation.protocol),
                    is_known ? communicator.name : NameOf(operation.communicator_name),
                    communicator.ranks,
                    communicator.nodes,
                    HasRoot(operation.function) ? operation.peer : -1,
                    operation.channels,
                    0};
  row.header.flags = call & 1;
  Append(log, row);
}

template <int kVersion>
int StartEvent(void* context, void** handle, NcclEvent* event) {
  *handle = nullptr;
  if (context == nullptr || !nccl_is_on.load(std::memory_order_acquire)) return kSuccess;
  const ErrnoGuard errno_guard;
  const Communicator& communicator = *static_cast<Communicator*>(context);
  switch (TypeOf(*event, kVersion)) {
    case kNcclCollectiveCall:
    case kNcclPeerToPeerCall:
      *handle = HandleOf(Stamp(), IsCaptured(*event));
      break;
    case kNcclCollective:
      WriteRow(communicator, *event, kVersion, CollectiveOf(*event, kVersion));
      break;
    case kNcclPeerToPeer:
      WriteRow(communicator, *event, kVersion, PeerToPeerOf(*event, kVersion));
      break;
    case kNcclCopyCollective:
      WriteRow(communicator, *event, kVersion, CopyCollectiveOf(*event));
      break;
    default:
      break;
  }
  return kSuccess;
}

int StopEvent(void*) { return kSuccess; }
int RecordEventState(void*, int, void*) { return kSuccess; }

int Finalize(void* context) {
  if (context != nullptr) static_cast<Communicator*>(context)->is_taken.store(false, std::memory_order_release);
  return kSuccess;
}

int Begin(void** context, int* mask) {
  const ErrnoGuard errno_guard;
  *context = NewCommunicator();
  *mask = 0;
  if (!StartTracer() || !Config().wants_nccl) return kSuccess;
  *mask = kNcclCollective | kNcclPeerToPeer | kNcclCollectiveCall | kNcclPeerToPeerCall | kNcclCopyCollective;
  return kSuccess;
}

int InitUnnamed(void** context, int* mask) {
  Begin(context, mask);
  auto* const communicator = static_cast<Communicator*>(*context);
  communicator->number = 0;
  communicator->name = {};
  communicator->ranks = communicator->nodes = 0;
  return kSuccess;
}

int InitV5(void** context, uint64_t number, int* mask, const char* name, int nodes, int ranks, int, void*) {
  InitUnnamed(context, mask);
  auto* const communicator = static_cast<Communicator*>(*context);
  if (*mask == 0 || communicator == &communicators[kMostCommunicators]) return kSuccess;
  const ErrnoGuard errno_guard;
  communicator->name = NameOf(name);
  communicator->nodes = static_cast<uint32_t>(nodes);
  communicator->ranks = static_cast<uint32_t>(ranks);
  communicator->number = number;
  return kSuccess;
}

int InitV4(void** context, int* mask, const char* name, uint64_t number, int nodes, int ranks, int rank, void* log) {
  return InitV5(context, number, mask, name, nodes, ranks, rank, log);
}

// The tables of all versions have these, and differ in the arguments of the first.
template <class Init>
struct NcclProfiler {
  const char* name;
  Init* init;
  int (*start_event)(void* context, void** handle, NcclEvent* event);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

template <int kVersion, class Init>
constexpr NcclProfiler<Init> TableOf(Init* init) {
  return {"gprof-cli", init, StartEvent<kVersion>, StopEvent, RecordEventState, Finalize};
}

}  // namespace
}  // namespace gprof::tracer

GPROF_EXPORT const auto ncclProfiler_v1 = gprof::tracer::TableOf<1>(gprof::tracer::InitUnnamed);
GPROF_EXPORT const auto ncclProfiler_v2 = gprof::tracer::TableOf<2>(gprof::tracer::InitUnnamed);
GPROF_EXPORT const auto ncclProfiler_v3 = gprof::tracer::TableOf<3>(gprof::tracer::InitUnnamed);
GPROF_EXPORT const auto ncclProfiler_v4 = gprof::tracer::TableOf<4>(gprof::tracer::InitV4);
GPROF_EXPORT const auto ncclProfiler_v5 = gprof::tracer::TableOf<5>(gprof::tracer::InitV5);
GPROF_EXPORT const auto ncclProfiler_v6 = gprof::tracer::TableOf<6>(gprof::tracer::InitV5);
