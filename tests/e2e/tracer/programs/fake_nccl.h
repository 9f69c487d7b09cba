/* A double of NCCL as far as profiler plug-ins see it. */
#ifndef FAKE_NCCL_H
#define FAKE_NCCL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum FakeFunction {
  kFakeBroadcast,
  kFakeReduce,
  kFakeAllGather,
  kFakeReduceScatter,
  kFakeAllReduce,
  kFakeSend = 6,
  kFakeRecv
};

struct FakeComm {
  const char* name;
  uint64_t number;
  int nodes, ranks, rank;
  void* context;
  uint64_t sequence[8];
};

struct FakeOperation {
  int function;
  size_t count;
  int peer;
  int is_captured;
  int steps; /* that a proxy thread sends, and receives; 0: it has nothing to do */
  void* call;
};

/* Of each step of a proxy thread. */
enum { kFakeChannel = 3, kFakeStepBytes = 1000, kFakePeerWaitUs = 20000, kFakeNetworkUs = 3000, kFakeGpuWaitUs = 2000 };

int FakeNcclLoad(int newest); /* the version that was found, 0 for none */
void FakeNcclInit(struct FakeComm* comm);
void FakeNcclFinalize(struct FakeComm* comm);
/* The program calls for the operation, and NCCL has launched its kernel. */
void FakeNcclCall(struct FakeComm* comm, struct FakeOperation* operation);
void FakeNcclEnqueue(struct FakeComm* comm, struct FakeOperation* operation);

#ifdef __cplusplus
}
#endif
#endif
