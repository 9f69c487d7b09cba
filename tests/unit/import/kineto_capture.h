// Captures for the tests, made of events.
#pragma once

#include <string>
#include <string_view>

#include "gprof/trace.h"
#include "import/kineto/kineto.h"

namespace gprof {

inline std::string Document(std::string_view events, std::string_view members = R"("schemaVersion": 1, )") {
  return "{" + std::string(members) + "\"traceEvents\": [" + std::string(events) + "]}";
}

inline Trace ReadEvents(std::string_view events) { return ReadKineto(Document(events), "test.json"); }

// A launch and its kernel, a copy and its call, a sync, ranges: one of everything, as torch.profiler writes it.
inline constexpr std::string_view kCapture = R"json(
{"ph": "M", "name": "process_name", "pid": 4000, "tid": 0, "ts": 5000000.000, "args": {"name": "python3"}},
{"ph": "M", "name": "process_labels", "pid": 4000, "tid": 0, "ts": 5000000.000, "args": {"labels": "CPU"}},
{"ph": "M", "name": "thread_name", "pid": 4000, "tid": 4001, "ts": 5000000.000, "args": {"name": "thread 4001 (loader)"}},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 4000, "tid": 4000, "ts": 5000000.000, "dur": 900.5, "args": {"External id": 1}},
{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 4000, "tid": 4000, "ts": 5000010.000, "dur": 50.25, "args": {"External id": 2}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4000, "tid": 4000, "ts": 5000020.001, "dur": 10.002,
 "args": {"External id": 2, "cbid": 211, "correlation": 70}},
{"ph": "s", "id": 70, "pid": 4000, "tid": 4000, "ts": 5000020.001, "cat": "ac2g", "name": "ac2g"},
{"ph": "X", "cat": "kernel", "name": "void add<float>(float*, \"x\")", "pid": 0, "tid": 7, "ts": 5000040.003, "dur": 100.004,
 "args": {"External id": 2, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 70,
 "registers per thread": 24, "shared memory": 1024, "blocks per SM": 1.5, "warps per SM": NaN, "grid": [141, 2, 3],
 "block": [128, 4, 1], "est. achieved occupancy %": 7, "graph id": 5, "graph node id": 21474836481}},
{"ph": "f", "id": 70, "pid": 0, "tid": 7, "ts": 5000040.003, "cat": "ac2g", "name": "ac2g", "bp": "e"},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 4000, "tid": 4001, "ts": 5000200, "dur": 30, "args": {"correlation": 71}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 20, "ts": 5000210.5, "dur": 12,
 "args": {"device": 0, "context": 1, "stream": 20, "correlation": 71, "bytes": 4096, "memory bandwidth (GB/s)": 0.34}},
{"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 7, "ts": 5000230, "dur": 2, "args": {"device": 0, "context": 1, "stream": 7, "correlation": 72, "bytes": 512}},
{"ph": "X", "cat": "cuda_driver", "name": "cuMemsetD8", "pid": 4000, "tid": 4000, "ts": 5000225, "dur": 3, "args": {"correlation": 72}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaEventRecord", "pid": 4000, "tid": 4000, "ts": 5000240, "dur": 1, "args": {"correlation": 73}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamWaitEvent", "pid": 4000, "tid": 4000, "ts": 5000242, "dur": 1, "args": {"correlation": 74}},
{"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 20, "ts": 5000242, "dur": 1,
 "args": {"cuda_sync_kind": "Stream Wait Event", "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 73, "wait_on_cuda_event_id": 19,
 "stream": 20, "correlation": 74, "device": 0, "context": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 4000, "tid": 4000, "ts": 5000250, "dur": 600, "args": {"correlation": 75}},
{"ph": "X", "cat": "cuda_sync", "name": "Context Sync", "pid": 0, "tid": -1, "ts": 5000251, "dur": 598,
 "args": {"cuda_sync_kind": "Context Sync", "stream": -1, "correlation": 75, "device": 0, "context": 1}},
{"ph": "X", "cat": "overhead", "name": "Activity Buffer Request", "pid": -1, "tid": 0, "ts": 5000300, "dur": 7},
{"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#1", "pid": 0, "tid": 7, "ts": 5000040.003, "dur": 100, "args": {}},
{"ph": "X", "cat": "Trace", "ts": 5000000, "dur": 1000, "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)", "args": {"Op count": 0}},
{"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 5001000},
{"ph": "C", "name": "memory", "pid": 4000, "ts": 5000000, "args": {"bytes": 5}}
)json";

inline constexpr std::string_view kMembers = R"json(
"schemaVersion": 1, "baseTimeNanoseconds": 1751410836000000000, "displayTimeUnit": "ms", "trace_id": "4DD",
"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{"pg_name": "0", "ranks": [0]}]},
"cuda_runtime_version": 12040, "cupti_version": 22, "cuda_driver_version": 12090,
"deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85018279936, "computeMajor": 9, "computeMinor": 0,
 "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048, "regsPerBlock": 65536, "warpSize": 32,
 "sharedMemPerBlockOptin": 232448, "sharedMemPerBlock": 49152, "numSms": 132, "regsPerMultiprocessor": 65536,
 "sharedMemPerMultiprocessor": 233472}, {"id": 1, "name": "NVIDIA H100", "warpSize": 32}],
)json";

}  // namespace gprof
