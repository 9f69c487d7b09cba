#include <nvtx3/nvToolsExtCudaRt.h>

#include <cstdio>

#include "common/arguments.h"
#include "known_facts/known_facts.h"

namespace gprof::examples {

void CountLaunch(Facts& facts, cudaError_t error, const char* kernel, const std::string& stream_name) {
  Check(error);
  facts.AddCount("api", "cudaLaunchKernel");
  facts.AddCount("kernels", kernel);
  facts.Add("streams", stream_name, "kernels", 1);
}

void CountCopy(Facts& facts, const std::string& item, std::size_t bytes) {
  facts.AddCount("memcpy", item);
  facts.Add("memcpy", item, "bytes", static_cast<std::int64_t>(bytes));
}

NamedStreams CreateStreams(Facts& facts) {
  NamedStreams streams;
  int least = 0, greatest = 0;
  COUNTED_QUERY(facts, cudaDeviceGetStreamPriorityRange, &least, &greatest);
  COUNTED_CALL(facts, cudaStreamCreate, &streams.blocking);
  COUNTED_CALL(facts, cudaStreamCreateWithFlags, &streams.non_blocking, cudaStreamNonBlocking);
  COUNTED_CALL(facts, cudaStreamCreateWithPriority, &streams.high_priority, cudaStreamNonBlocking, greatest);
  nvtxNameCudaStreamA(streams.blocking, kBlocking);
  nvtxNameCudaStreamA(streams.non_blocking, kNonBlocking);
  nvtxNameCudaStreamA(streams.high_priority, kHighPriority);
  for (const char* name : {kBlocking, kNonBlocking, kHighPriority}) facts.Add("streams", name, "created", 1);
  facts.Add("streams", kNonBlocking, "non_blocking", 1);
  facts.Add("streams", kHighPriority, "non_blocking", 1);
  facts.Add("streams", kHighPriority, "priority", greatest);
  return streams;
}

void DestroyStreams(Facts& facts, const NamedStreams& streams) {
  for (cudaStream_t stream : {streams.blocking, streams.non_blocking, streams.high_priority}) {
    COUNTED_CALL(facts, cudaStreamDestroy, stream);
  }
}

}  // namespace gprof::examples

using namespace gprof::examples;

int main(int argc, char** argv) {
  Arguments arguments(argc, argv, "known_facts [--facts FILE]");
  const std::string facts_path = arguments.Text("--facts", "");
  arguments.Finish();
  Facts facts;
  const NamedStreams streams = CreateStreams(facts);
  LaunchKernels(facts, streams);
  LaunchShapes(facts, streams);
  LaunchTimedKernels(facts, streams);
  LaunchGraph(facts, streams);
  CopyHostAndDevice(facts, streams);
  CopyWithinDevice(facts, streams);
  CopyArrays(facts);
  CopyManaged(facts);
  SetMemory(facts, streams);
  Synchronise(facts, streams);
  QueryMuch(facts, streams);
  AllocateInStream(facts, streams);
  Annotate(facts);
  RunThreads(facts);
  DestroyStreams(facts, streams);
  COUNTED_CALL(facts, cudaDeviceSynchronize);
  facts.AddCount("syncs", "context");
  if (!facts_path.empty() && !facts.Write(facts_path, "known_facts")) {
    std::fprintf(stderr, "cannot write %s\n", facts_path.c_str());
    return 1;
  }
  std::printf("done\n");
  return 0;
}
