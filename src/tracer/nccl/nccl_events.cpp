#include "tracer/nccl/nccl_events.h"

#include <cstring>
#include <iterator>

namespace gprof::tracer {
namespace {

struct CollectiveV1 {
  const char* communicator_name;
  uint64_t communicator, sequence;
  uint8_t function;
  const void *send, *receive;
  uint64_t count;
  int32_t root;
  uint8_t datatype;
  uint32_t operation;
  uint64_t traffic_bytes;
  uint8_t channels, warps, algorithm, protocol;
};

struct CollectiveV2 {
  const char* communicator_name;
  uint64_t communicator, sequence;
  const char* function;
  const void *send, *receive;
  uint64_t count;
  int32_t root;
  const char* datatype;
  uint64_t traffic_bytes;
  uint8_t channels, warps;
  const char *algorithm, *protocol;
};

struct CollectiveV3 {
  const char* communicator_name;
  uint64_t communicator, sequence;
  const char* function;
  const void *send, *receive;
  uint64_t count;
  int32_t root;
  const char* datatype;
  uint8_t channels, warps;
  const char *algorithm, *protocol;
};

struct CollectiveV4 {
  uint64_t sequence;
  const char* function;
  const void *send, *receive;
  uint64_t count;
  int32_t root;
  const char* datatype;
  uint8_t channels, warps;
  const char *algorithm, *protocol;
};

struct PeerToPeerV1 {
  const char* communicator_name;
  uint64_t communicator;
  uint8_t function;
  const void* buffer;
  uint8_t datatype;
  uint64_t count;
  int32_t peer;
};

struct PeerToPeerV2 {
  const char* communicator_name;
  uint64_t communicator;
  const char* function;
  const void* buffer;
  const char* datatype;
  uint64_t count;
  int32_t peer;
};

struct PeerToPeerV4 {
  const char* function;
  const void* buffer;
  const char* datatype;
  uint64_t count;
  int32_t peer;
  uint8_t channels;
};

struct CollectiveCallV5 {
  const char* function;
  uint64_t count;
  const char* datatype;
  int32_t root;
  void* stream;
  bool is_captured;
};

struct PeerToPeerCallV5 {
  const char* function;
  uint64_t count;
  const char* datatype;
  void* stream;
  bool is_captured;
};

struct ProxyOperationV4 {
  int32_t pid;
  uint8_t channel;
  int32_t peer, steps, chunk_bytes, is_send;
};

struct CopyCollectiveV6 {
  uint64_t sequence;
  const char* function;
  const void *send, *receive;
  uint64_t count;
  int32_t root;
  const char* datatype;
};

// As version 1 numbers them.
constexpr const char* kFunctions[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                      "AllReduce", "SendRecv", "Send",      "Recv"};
constexpr const char* kAlgorithms[] = {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
constexpr const char* kProtocols[] = {"LL", "LL128", "SIMPLE"};

struct ElementType {
  const char* name;
  uint8_t bytes;
};
constexpr ElementType kTypes[] = {{"ncclInt8", 1},     {"ncclUint8", 1},      {"ncclInt32", 4},
                                  {"ncclUint32", 4},   {"ncclInt64", 8},      {"ncclUint64", 8},
                                  {"ncclFloat16", 2},  {"ncclFloat32", 4},    {"ncclFloat64", 8},
                                  {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1}};

template <std::size_t N>
const char* NameAt(const char* const (&names)[N], uint8_t number) {
  return number < N ? names[number] : nullptr;
}

const char* TypeNameAt(uint8_t number) { return number < std::size(kTypes) ? kTypes[number].name : nullptr; }

template <class Body>
const Body& BodyOf(const NcclEvent& event) {
  return *reinterpret_cast<const Body*>(&event + 1);
}

template <class Body>
void AddCommunicator(const Body& body, NcclOperation* operation) {
  operation->communicator_name = body.communicator_name;
  operation->communicator = body.communicator;
}

// What versions 2 to 5 have in common, in different places.
template <class Body>
NcclOperation CollectiveOf(const Body& body) {
  NcclOperation operation;
  operation.function = body.function;
  operation.datatype = body.datatype;
  operation.algorithm = body.algorithm;
  operation.protocol = body.protocol;
  operation.sequence = body.sequence;
  operation.count = body.count;
  operation.peer = body.root;
  operation.channels = body.channels;
  return operation;
}

template <class Body>
NcclOperation PeerToPeerOf(const Body& body) {
  NcclOperation operation;
  operation.function = body.function;
  operation.datatype = body.datatype;
  operation.count = body.count;
  operation.peer = body.peer;
  return operation;
}

NcclOperation CollectiveOfV1(const CollectiveV1& body) {
  NcclOperation operation;
  operation.function = NameAt(kFunctions, body.function);
  operation.datatype = TypeNameAt(body.datatype);
  operation.algorithm = NameAt(kAlgorithms, body.algorithm);
  operation.protocol = NameAt(kProtocols, body.protocol);
  operation.sequence = body.sequence;
  operation.count = body.count;
  operation.peer = body.root;
  operation.channels = body.channels;
  AddCommunicator(body, &operation);
  return operation;
}

NcclOperation PeerToPeerOfV1(const PeerToPeerV1& body) {
  NcclOperation operation;
  operation.function = NameAt(kFunctions, body.function);
  operation.datatype = TypeNameAt(body.datatype);
  operation.count = body.count;
  operation.peer = body.peer;
  AddCommunicator(body, &operation);
  return operation;
}

template <class Body>
NcclOperation WithCommunicator(NcclOperation operation, const Body& body) {
  AddCommunicator(body, &operation);
  return operation;
}

}  // namespace

NcclOperation CollectiveOf(const NcclEvent& event, int version) {
  if (version == 1) return CollectiveOfV1(BodyOf<CollectiveV1>(event));
  if (version == 2) {
    const auto& body = BodyOf<CollectiveV2>(event);
    return WithCommunicator(CollectiveOf(body), body);
  }
  if (version == 3) {
    const auto& body = BodyOf<CollectiveV3>(event);
    return WithCommunicator(CollectiveOf(body), body);
  }
  return CollectiveOf(BodyOf<CollectiveV4>(event));
}

NcclOperation PeerToPeerOf(const NcclEvent& event, int version) {
  if (version == 1) return PeerToPeerOfV1(BodyOf<PeerToPeerV1>(event));
  if (version <= 3) {
    const auto& body = BodyOf<PeerToPeerV2>(event);
    return WithCommunicator(PeerToPeerOf(body), body);
  }
  const auto& body = BodyOf<PeerToPeerV4>(event);
  NcclOperation operation = PeerToPeerOf(body);
  operation.channels = body.channels;
  return operation;
}

NcclOperation CopyCollectiveOf(const NcclEvent& event) {
  const auto& body = BodyOf<CopyCollectiveV6>(event);
  NcclOperation operation;
  operation.function = body.function;
  operation.datatype = body.datatype;
  operation.algorithm = "copy engine";
  operation.sequence = body.sequence;
  operation.count = body.count;
  operation.peer = body.root;
  return operation;
}

NcclProxyOperation ProxyOperationOf(const NcclEvent& event) {
  const auto& body = BodyOf<ProxyOperationV4>(event);
  return {body.pid, body.peer, body.channel, body.is_send != 0};
}

uint32_t ProxyStepOf(const NcclEvent& event) { return static_cast<uint32_t>(BodyOf<int32_t>(event)); }

bool IsCaptured(const NcclEvent& event) {
  if (event.type == kNcclCollectiveCall) return BodyOf<CollectiveCallV5>(event).is_captured;
  return BodyOf<PeerToPeerCallV5>(event).is_captured;
}

std::size_t BytesOfNcclType(const char* datatype) {
  for (const ElementType& type : kTypes) {
    if (datatype != nullptr && std::strcmp(type.name, datatype) == 0) return type.bytes;
  }
  return 0;
}

bool HasRoot(const char* function) {
  constexpr const char* kRooted[] = {"Broadcast", "Reduce", "Gather", "Scatter", "Send", "Recv"};
  for (const char* const name : kRooted) {
    if (function != nullptr && std::strcmp(name, function) == 0) return true;
  }
  return false;
}

}  // namespace gprof::tracer
