/* A double of NCCL as far as profiler plug-ins see it: it opens the library of NCCL_PROFILER_PLUGIN, takes the newest
   table that it was told to know, and tells it of operations in that version's layouts, in the order in which NCCL
   does: the call, the launch of the kernel, then the operation. */
#include "fake_nccl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  kColl = 1 << 1,
  kP2p = 1 << 2,
  kProxyOp = 1 << 3,
  kProxyStep = 1 << 4,
  kGroupApi = 1 << 8,
  kCollApi = 1 << 9,
  kP2pApi = 1 << 10
};

struct CollV1 {
  const char* name;
  uint64_t commHash, seqNumber;
  uint8_t func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  uint8_t datatype;
  uint32_t op;
  size_t trafficBytes;
  uint8_t nMaxChannels, nWarps, algo, proto;
  int isCollnet, isNvls;
};

struct CollV2 {
  const char* name;
  uint64_t commHash, seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  const char* datatype;
  size_t trafficBytes;
  uint8_t nMaxChannels, nWarps;
  const char *algo, *proto;
};

struct CollV3 {
  const char* name;
  uint64_t commHash, seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  const char* datatype;
  uint8_t nMaxChannels, nWarps;
  const char *algo, *proto;
};

struct CollV4 {
  uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  const char* datatype;
  uint8_t nChannels, nWarps;
  const char *algo, *proto;
  void* parentGroup;
};

struct P2pV1 {
  const char* name;
  uint64_t commHash;
  uint8_t func;
  void* buff;
  uint8_t datatype;
  size_t count;
  int peer;
};

struct P2pV2 {
  const char* name;
  uint64_t commHash;
  const char* func;
  void* buff;
  const char* datatype;
  size_t count;
  int peer;
};

struct P2pV4 {
  const char* func;
  void* buff;
  const char* datatype;
  size_t count;
  int peer;
  uint8_t nChannels;
  void* parentGroup;
};

struct CollApiV5 {
  const char* func;
  size_t count;
  const char* datatype;
  int root;
  void* stream;
  bool graphCaptured;
};

struct P2pApiV5 {
  const char* func;
  size_t count;
  const char* datatype;
  void* stream;
  bool graphCaptured;
};

enum { kSendGpuWait = 8, kSendWait = 9, kRecvWait = 10, kRecvFlushWait = 11, kRecvGpuWait = 12, kSendPeerWait = 20 };

struct ProxyOp {
  int pid;
  uint8_t channelId;
  int peer, nSteps, chunkSize, isSend;
};

/* From version 7 on, these end with a tag that the program gave. */
struct CollV7 {
  struct CollV4 before;
  const char* kernelVariant;
  bool isSymColl;
  uint64_t userTag;
};
struct P2pV7 {
  struct P2pV4 before;
  uint64_t userTag;
};
enum { kUserTag = 4711 };

union Body {
  struct CollV1 coll1;
  struct CollV2 coll2;
  struct CollV3 coll3;
  struct CollV4 coll4;
  struct P2pV1 p2p1;
  struct P2pV2 p2p2;
  struct P2pV4 p2p4;
  struct CollV7 coll7;
  struct P2pV7 p2p7;
  struct CollApiV5 coll_api;
  struct P2pApiV5 p2p_api;
  struct ProxyOp proxy_op;
  int proxy_step;
};

struct OldEvent { /* up to version 4 */
  uint8_t type;
  void* parentObj;
  int rank;
  union Body body;
};

struct Event {
  uint64_t type;
  void* parentObj;
  int rank;
  union Body body;
};

struct Table {
  const char* name;
  void* init;
  int (*startEvent)(void* context, void** handle, void* event);
  int (*stopEvent)(void* handle);
  int (*recordEventState)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

static const struct Table* table;
static int version, mask;

int FakeNcclLoad(int newest) {
  const char* const path = getenv("NCCL_PROFILER_PLUGIN");
  void* const library = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return 0;
  for (version = newest; version > 0; --version) {
    char symbol[32];
    snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", version);
    table = (const struct Table*)dlsym(library, symbol);
    if (table != NULL) return version;
  }
  return 0;
}

void FakeNcclInit(struct FakeComm* comm) {
  comm->context = NULL;
  memset(comm->sequence, 0, sizeof comm->sequence);
  if (version < 4) {
    ((int (*)(void**, int*))table->init)(&comm->context, &mask);
  } else if (version == 4) {
    ((int (*)(void**, int*, const char*, uint64_t, int, int, int, void*))table->init)(
        &comm->context, &mask, comm->name, comm->number, comm->nodes, comm->ranks, comm->rank, NULL);
  } else {
    ((int (*)(void**, uint64_t, int*, const char*, int, int, int, void*))table->init)(
        &comm->context, comm->number, &mask, comm->name, comm->nodes, comm->ranks, comm->rank, NULL);
  }
}

void FakeNcclFinalize(struct FakeComm* comm) { table->finalize(comm->context); }

static void* Start(struct FakeComm* comm, int type, void* parent, const union Body* body) {
  void* handle = NULL;
  if ((mask & type) == 0) return NULL;
  if (version < 5) {
    struct OldEvent event;
    memset(&event, 0xa5, sizeof event); /* what NCCL leaves in the gaps is not known */
    event.type = (uint8_t)type;
    event.parentObj = parent;
    event.rank = comm->rank;
    event.body = *body;
    table->startEvent(comm->context, &handle, &event);
  } else {
    struct Event event = {(uint64_t)type, parent, comm->rank, *body};
    table->startEvent(comm->context, &handle, &event);
  }
  return handle;
}

static void SetState(void* handle, int state, size_t size) {
  if (handle != NULL) table->recordEventState(handle, state, &size);
}

static void Stop(void* handle) {
  if (handle != NULL) table->stopEvent(handle);
}

static const char* const kFunctions[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                         "AllReduce", "SendRecv", "Send",      "Recv"};

void FakeNcclCall(struct FakeComm* comm, struct FakeOperation* operation) {
  const bool is_p2p = operation->function >= kFakeSend;
  union Body body;
  memset(&body, 0, sizeof body);
  operation->call = NULL;
  if (version < 5) return;
  if (is_p2p) {
    body.p2p_api = (struct P2pApiV5){kFunctions[operation->function], operation->count, "ncclFloat32", NULL,
                                     operation->is_captured};
  } else {
    body.coll_api =
        (struct CollApiV5){kFunctions[operation->function], operation->count, "ncclFloat32", operation->peer, NULL,
                           operation->is_captured};
  }
  operation->call = Start(comm, is_p2p ? kP2pApi : kCollApi, NULL, &body);
  Stop(operation->call);
}

static union Body CollectiveBody(const struct FakeComm* comm, const struct FakeOperation* o, uint64_t sequence) {
  const char* const function = kFunctions[o->function];
  union Body body;
  memset(&body, 0, sizeof body);
  if (version == 1) {
    body.coll1 = (struct CollV1){comm->name, comm->number,
                                 sequence,   (uint8_t)o->function,
                                 NULL,       NULL,
                                 o->count,   o->peer,
                                 7,          0,
                                 0,          24,
                                 16,         1,
                                 2,          0,
                                 0};
  } else if (version == 2) {
    body.coll2 = (struct CollV2){comm->name, comm->number,  sequence, function, NULL, NULL,   o->count,
                                 o->peer,    "ncclFloat32", 0,        24,       16,   "RING", "SIMPLE"};
  } else if (version == 3) {
    body.coll3 = (struct CollV3){comm->name, comm->number,  sequence, function, NULL,   NULL,    o->count,
                                 o->peer,    "ncclFloat32", 24,       16,       "RING", "SIMPLE"};
  } else {
    body.coll4 = (struct CollV4){sequence,      function, NULL, NULL,   o->count, o->peer,
                                 "ncclFloat32", 24,       16,   "RING", "SIMPLE", NULL};
    if (version >= 7) body.coll7.userTag = kUserTag;
  }
  return body;
}

static union Body PeerBody(const struct FakeComm* comm, const struct FakeOperation* o) {
  const char* const function = kFunctions[o->function];
  union Body body;
  memset(&body, 0, sizeof body);
  if (version == 1) {
    body.p2p1 = (struct P2pV1){comm->name, comm->number, (uint8_t)o->function, NULL, 7, o->count, o->peer};
  } else if (version < 4) {
    body.p2p2 = (struct P2pV2){comm->name, comm->number, function, NULL, "ncclFloat32", o->count, o->peer};
  } else {
    body.p2p4 = (struct P2pV4){function, NULL, "ncclFloat32", o->count, o->peer, 8, NULL};
    if (version >= 7) body.p2p7.userTag = kUserTag;
  }
  return body;
}

struct Work {
  struct FakeComm* comm;
  void* operation;
  const struct FakeOperation* facts;
};

static void* StartProxy(struct FakeComm* comm, void* operation, int pid, int peer, int steps, int is_send) {
  union Body body;
  memset(&body, 0, sizeof body);
  body.proxy_op = (struct ProxyOp){pid, kFakeChannel, peer, steps, kFakeStepBytes, is_send};
  return Start(comm, kProxyOp, operation, &body);
}

static void* StartStep(struct FakeComm* comm, void* transfer, int step) {
  union Body body;
  memset(&body, 0, sizeof body);
  body.proxy_step = step;
  return transfer == NULL ? NULL : Start(comm, kProxyStep, transfer, &body);
}

/* Two steps are on their way at once; the peer takes the data of each one late. */
static void SendSteps(struct FakeComm* comm, void* transfer, int steps) {
  void* handles[2] = {StartStep(comm, transfer, 0), NULL};
  SetState(handles[0], kSendGpuWait, 0);
  for (int step = 0; step < steps; ++step) {
    void* const now = handles[step % 2];
    if (step + 1 < steps) {
      handles[(step + 1) % 2] = StartStep(comm, transfer, step + 1);
      SetState(handles[(step + 1) % 2], kSendGpuWait, 0);
    }
    for (int tries = 0; tries < 2; ++tries) {
      SetState(now, kSendPeerWait, 0);
      usleep(kFakePeerWaitUs / 2);
    }
    SetState(now, kSendWait, kFakeStepBytes);
    Stop(now);
  }
}

/* NCCL begins a step again and again until the network takes it. */
static void ReceiveSteps(struct FakeComm* comm, void* transfer, int steps) {
  for (int step = 0; step < steps; ++step) {
    (void)StartStep(comm, transfer, step);
    void* const now = StartStep(comm, transfer, step);
    SetState(now, kRecvWait, 0);
    usleep(kFakeNetworkUs);
    SetState(now, kRecvFlushWait, kFakeStepBytes);
    SetState(now, kRecvGpuWait, kFakeStepBytes);
    usleep(kFakeGpuWaitUs);
    Stop(now);
  }
}

/* What a proxy thread does for an operation, and for one of another process, whose addresses are none here. */
static void* Proxy(void* argument) {
  const struct Work* const work = (const struct Work*)argument;
  struct FakeComm* const comm = work->comm;
  void* const sent = StartProxy(comm, work->operation, getpid(), 1, work->facts->steps, 1);
  void* const received = StartProxy(comm, work->operation, getpid(), 2, work->facts->steps, 0);
  SendSteps(comm, sent, work->facts->steps);
  ReceiveSteps(comm, received, work->facts->steps);
  Stop(sent);
  Stop(received);
  struct FakeComm elsewhere = *comm;
  elsewhere.context = (void*)0x40;
  void* const foreign = StartProxy(&elsewhere, (void*)0x10, getpid() + 1, 7, 1, 1);
  SendSteps(&elsewhere, foreign, 1);
  Stop(foreign);
  return NULL;
}

void FakeNcclEnqueue(struct FakeComm* comm, struct FakeOperation* operation) {
  const bool is_p2p = operation->function >= kFakeSend;
  const uint64_t sequence = is_p2p ? 0 : comm->sequence[operation->function]++;
  const union Body body = is_p2p ? PeerBody(comm, operation) : CollectiveBody(comm, operation, sequence);
  void* const handle = Start(comm, is_p2p ? kP2p : kColl, operation->call, &body);
  Stop(handle);
  struct Work work = {comm, handle, operation};
  pthread_t proxy;
  if (operation->steps == 0 || pthread_create(&proxy, NULL, Proxy, &work) != 0) return;
  pthread_join(proxy, NULL);
}
