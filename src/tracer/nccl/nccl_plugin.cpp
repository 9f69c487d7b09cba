// The library as a profiler plug-in of NCCL, which opens it by NCCL_PROFILER_PLUGIN and looks for these tables. NCCL
// calls from whichever thread makes or enqueues an operation; what we answer is always success, as an error would have
// it go on without a plug-in at best.
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "tracer/core/config.h"
#include "tracer/core/entry_points.h"
#include "tracer/core/tracer.h"
#include "tracer/nccl/collectives.h"
#include "tracer/nccl/nccl_events.h"
#include "tracer/nccl/proxy_transfers.h"
#include "tracer/store/clock.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/thread_log.h"
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

// An event has ended when others that refer to it begin, and whoever reads a handle knows nothing but its value. So
// the handle is what those need to know, and no address: the highest bit is set.
constexpr uintptr_t kIsValue = uintptr_t{1} << 63;
constexpr uint32_t kSequenceBits = 40;

// Of a call: when it began, and in the lowest bit whether it was captured.
void* HandleOfCall(uint64_t stamp, bool is_captured) {
  return reinterpret_cast<void*>(kIsValue | static_cast<uintptr_t>(stamp << 1 | (is_captured ? 1 : 0)));
}

// Of an operation: its function and sequence number. Null where these do not fit: nobody has made so many.
void* HandleOfOperation(const NcclOperation& operation) {
  const uint64_t function = NameOf(operation.function).value;
  if (function >> (63 - kSequenceBits) != 0 || operation.sequence >> kSequenceBits != 0) return nullptr;
  return reinterpret_cast<void*>(kIsValue | function << kSequenceBits | operation.sequence);
}

ThreadLog* LogOfThisThread() {
  ThreadLog* const log = own_log != nullptr ? own_log : AcquireLogWithinCall(false);
  return log != nullptr && log->tid == CurrentTid() ? log : nullptr;
}

void WriteRow(const Communicator& communicator, const NcclEvent& event, int version, const NcclOperation& operation) {
  const uint64_t now = Stamp();
  ThreadLog* const log = LogOfThisThread();
  if (log == nullptr) return;
  const auto call = version < 5 ? 0 : reinterpret_cast<uintptr_t>(event.parent) & ~kIsValue;
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

// Layouts are known from version 4 on; before, NCCL says other things.
bool HasTransfers(int version) { return version >= 4 && Config().wants_nccl_transfers; }

// The handle is for the transfers of the operation.
void* AddOperation(const Communicator& communicator, const NcclEvent& event, int version,
                   const NcclOperation& operation) {
  WriteRow(communicator, event, version, operation);
  return HasTransfers(version) ? HandleOfOperation(operation) : nullptr;
}

// With a network, one process may work for the others of its host: what they point to is nothing here.
void* BeginTransfer(void* context, const NcclEvent& event) {
  const NcclProxyOperation work = ProxyOperationOf(event);
  TransferDetails details;
  details.rank = event.rank, details.peer = work.peer, details.channel = work.channel, details.is_send = work.is_send;
  if (work.pid == getpid()) {
    const auto operation = reinterpret_cast<uintptr_t>(event.parent) & ~kIsValue;
    details.communicator = static_cast<Communicator*>(context)->number;
    details.function.value = static_cast<uint32_t>(operation >> kSequenceBits);
    details.sequence = operation & ((uint64_t{1} << kSequenceBits) - 1);
  }
  Transfer* const transfer = Transfer::Take(details, Stamp());
  return transfer == nullptr ? nullptr : transfer->handle();
}

void* BeginStep(const NcclEvent& event) {
  Transfer* const transfer = Transfer::Of(event.parent);
  if (transfer == nullptr) return nullptr;
  const uint32_t step = ProxyStepOf(event);
  transfer->BeginStep(step, Stamp());
  return transfer->HandleOfStep(step);
}

template <int kVersion>
int StartEvent(void* context, void** handle, NcclEvent* event) {
  *handle = nullptr;
  if (context == nullptr || !nccl_is_on.load(std::memory_order_acquire)) return kSuccess;
  const ErrnoGuard errno_guard;
  const auto& communicator = *static_cast<const Communicator*>(context);  // not to be read for other processes
  switch (TypeOf(*event, kVersion)) {
    case kNcclCollectiveCall:
    case kNcclPeerToPeerCall:
      *handle = HandleOfCall(Stamp(), IsCaptured(*event));
      break;
    case kNcclCollective:
      *handle = AddOperation(communicator, *event, kVersion, CollectiveOf(*event, kVersion));
      break;
    case kNcclPeerToPeer:
      *handle = AddOperation(communicator, *event, kVersion, PeerToPeerOf(*event, kVersion));
      break;
    case kNcclProxyOperation:
      if (HasTransfers(kVersion)) *handle = BeginTransfer(context, *event);
      break;
    case kNcclProxyStep:
      if (HasTransfers(kVersion)) *handle = BeginStep(*event);
      break;
    case kNcclCopyCollective:
      WriteRow(communicator, *event, kVersion, CopyCollectiveOf(*event));
      break;
    default:
      break;
  }
  return kSuccess;
}

int StopEvent(void* handle) {
  Transfer* const transfer = Transfer::Of(handle);
  if (transfer == nullptr) return kSuccess;
  const ErrnoGuard errno_guard;
  if (Transfer::IsOfStep(handle)) {
    transfer->EndStep(handle, Stamp());
  } else {
    transfer->End(nccl_is_on.load(std::memory_order_acquire) ? LogOfThisThread() : nullptr, Stamp());
  }
  return kSuccess;
}

StepWait WaitOf(int state) {
  switch (state) {
    case kNcclSendWaitsForGpu:
    case kNcclReceiveWaitsForGpu:
      return StepWait::kGpu;
    case kNcclSendWaitsForPeer:
      return StepWait::kPeer;
    case kNcclSendIsOnItsWay:
    case kNcclReceiveWaits:
      return StepWait::kNetwork;
    case kNcclReceiveIsFlushed:
      return StepWait::kFlush;
    default:
      return StepWait::kNothing;
  }
}

int RecordEventState(void* handle, int state, void* arguments) {
  Transfer* const transfer = Transfer::Of(handle);
  if (transfer == nullptr || !Transfer::IsOfStep(handle)) return kSuccess;
  transfer->SetWait(handle, WaitOf(state), Stamp());
  // How much it is NCCL knows when a step is sent, and when it has been received.
  const bool has_size = state == kNcclSendIsOnItsWay || state == kNcclReceiveIsFlushed;
  if (has_size && arguments != nullptr) transfer->AddBytes(static_cast<NcclStepArguments*>(arguments)->size_bytes);
  return kSuccess;
}

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
  if (Config().wants_nccl_transfers) *mask |= kNcclProxyOperation | kNcclProxyStep;
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
GPROF_EXPORT const auto ncclProfiler_v7 = gprof::tracer::TableOf<7>(gprof::tracer::InitV5);
