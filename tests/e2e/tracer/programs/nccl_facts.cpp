// Makes collectives, sends and receives by a double of NCCL of a given version, and knows what they were.
#include <cuda.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "facts.h"
#include "fake_nccl.h"

namespace {

CUfunction kernel;

void Launch() { CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr)); }

long long Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000ll + now.tv_nsec;
}

// The operations of a group share a kernel.
void Group(FakeComm* comm, std::vector<FakeOperation> operations) {
  const long long before = Now();
  for (FakeOperation& operation : operations) FakeNcclCall(comm, &operation);
  const long long called = Now();
  usleep(2000);
  Launch();
  for (FakeOperation& operation : operations) FakeNcclEnqueue(comm, &operation);
  facts::Say(R"({"fact":"group","before":%lld,"called":%lld,"after":%lld,"operations":%zu})", before, called, Now(),
             operations.size());
}

}  // namespace

int main(int argc, char** argv) {
  const int version = FakeNcclLoad(argc > 1 ? std::atoi(argv[1]) : 7);
  CHECK(cuInit(0));
  CUcontext context;
  CHECK(cuCtxCreate(&context, nullptr, 0, 0));
  CUmodule module;
  CHECK(cuModuleLoadData(&module, "cubin"));
  CHECK(cuModuleGetFunction(&kernel, module, "ncclDevKernel_AllReduce"));
  facts::Say(R"({"fact":"me","tid":%u,"version":%d})", facts::Tid(), version);
  if (version == 0) return 0;
  FakeComm world = {"world", 0xf00dfeedcafe0001, 2, 16, 3, nullptr, {}};
  FakeComm pair = {nullptr, 42, 1, 2, 1, nullptr, {}};
  FakeNcclInit(&world);
  FakeNcclInit(&pair);
  Group(&world, {{kFakeAllReduce, 1000, 0, 0, 5, nullptr}});
  Group(&world, {{kFakeAllReduce, 2000, 0, 0, 0, nullptr}, {kFakeAllGather, 300, 0, 0, 0, nullptr}});
  Group(&world, {{kFakeBroadcast, 50, 5, 0, 0, nullptr}});
  Group(&pair, {{kFakeSend, 64, 0, 0, 0, nullptr}, {kFakeRecv, 65, 0, 0, 0, nullptr}});
  Group(&pair, {{kFakeReduceScatter, 7, 0, 1, 0, nullptr}});
  FakeNcclFinalize(&pair);
  FakeNcclFinalize(&world);
  CHECK(cuCtxSynchronize());
  if (argc > 2 && std::strcmp(argv[2], "die") == 0) std::abort();
  return 0;
}
