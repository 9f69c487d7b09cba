// Waits of every kind, and the queries that a profiler leaves out by default.
#include "empty.h"
#include "known_facts/known_facts.h"

namespace gprof::examples {

void Synchronise(Facts& facts, const NamedStreams& streams) {
  cudaEvent_t event = nullptr;
  COUNTED_QUERY(facts, cudaEventCreateWithFlags, &event, cudaEventDisableTiming);
  for (int i = 0; i < 4; ++i) {
    CountLaunch(facts, kernels::Empty(streams.blocking), "EmptyKernel", kBlocking);
    COUNTED_CALL(facts, cudaEventRecord, event, streams.blocking);
    COUNTED_CALL(facts, cudaStreamWaitEvent, streams.high_priority, event, 0);
    facts.AddCount("syncs", "stream_wait_event");
    CountLaunch(facts, kernels::Empty(streams.high_priority), "EmptyKernel", kHighPriority);
  }
  for (int i = 0; i < 3; ++i) {
    COUNTED_CALL(facts, cudaEventSynchronize, event);
    facts.AddCount("syncs", "event");
  }
  for (int i = 0; i < 5; ++i) {
    COUNTED_CALL(facts, cudaStreamSynchronize, streams.blocking);
    facts.AddCount("syncs", "stream");
  }
  for (int i = 0; i < 2; ++i) {
    COUNTED_CALL(facts, cudaDeviceSynchronize);
    facts.AddCount("syncs", "context");
  }
  COUNTED_QUERY(facts, cudaEventDestroy, event);
}

void QueryMuch(Facts& facts, const NamedStreams& streams) {
  int device = 0;
  for (int i = 0; i < 10; ++i) {
    COUNTED_QUERY(facts, cudaGetDevice, &device);
    COUNTED_QUERY(facts, cudaStreamQuery, streams.blocking);
  }
}

}  // namespace gprof::examples
