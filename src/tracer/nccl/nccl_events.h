// What NCCL tells a profiler plug-in, in the layouts of the versions of its interface. A newer NCCL takes the newest
// table that it knows; ours go from 1 (NCCL 2.23) to 7, which says more than 6 (NCCL 2.30) behind what is read, and
// newer ones fall back to the last.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gprof::tracer {

inline constexpr int kNcclVersions = 7;

// Bits of what a plug-in wants to be told, and types of events.
enum NcclEventType : uint64_t {
  kNcclCollective = 1 << 1,
  kNcclPeerToPeer = 1 << 2,
  kNcclProxyOperation = 1 << 3,
  kNcclProxyStep = 1 << 4,
  kNcclCollectiveCall = 1 << 9,
  kNcclPeerToPeerCall = 1 << 10,
  kNcclCopyCollective = 1 << 12,  // by copy engines
};

// All events begin with this; what is told of each type lies behind it. Up to version 4 the type is one byte.
struct NcclEvent {
  uint64_t type;
  void* parent;
  int32_t rank;
};
static_assert(sizeof(NcclEvent) == 24);

constexpr uint64_t TypeOf(const NcclEvent& event, int version) { return version < 5 ? event.type & 0xff : event.type; }

// An operation, as any version tells of it. Texts are NCCL's own and stay. Null or 0: it does not say.
struct NcclOperation {
  const char* function = nullptr;
  const char* datatype = nullptr;
  const char* algorithm = nullptr;
  const char* protocol = nullptr;
  const char* communicator_name = nullptr;  // up to version 3, as is the next
  uint64_t communicator = 0;
  uint64_t sequence = 0;
  uint64_t count = 0;  // of elements
  int32_t peer = -1;
  uint32_t channels = 0;
};

// What a proxy thread is to do for an operation, from version 4 on.
struct NcclProxyOperation {
  int32_t pid = 0;  // of the process whose operation it is; pointers mean something there alone
  int32_t peer = -1;
  uint32_t channel = 0;
  bool is_send = false;
};
NcclProxyOperation ProxyOperationOf(const NcclEvent& event);
uint32_t ProxyStepOf(const NcclEvent& event);

// States that a step of it goes through.
enum NcclStepState : int {
  kNcclSendWaitsForGpu = 8,
  kNcclSendIsOnItsWay = 9,
  kNcclReceiveWaits = 10,
  kNcclReceiveIsFlushed = 11,
  kNcclReceiveWaitsForGpu = 12,
  kNcclSendWaitsForPeer = 20,
};
// Told with a state: how much is moved.
struct NcclStepArguments {
  uint64_t size_bytes;
};

NcclOperation CollectiveOf(const NcclEvent& event, int version);
NcclOperation PeerToPeerOf(const NcclEvent& event, int version);
NcclOperation CopyCollectiveOf(const NcclEvent& event);  // from version 6 on

// Whether a call (from version 5 on) was made while its stream was captured into a graph.
bool IsCaptured(const NcclEvent& event);

// Of an element; 0 for a type that is not known.
std::size_t BytesOfNcclType(const char* datatype);

// Whether a function has a root: others give a number that means nothing.
bool HasRoot(const char* function);

}  // namespace gprof::tracer
