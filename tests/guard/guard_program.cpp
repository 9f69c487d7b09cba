// Work of a fixed size, for test_guard.py to count the instructions of: of what runs within guard_counted, so that
// neither the start of the process, nor the making of the input, nor waiting for the tracer is in it. Of reports, which
// use more threads than that, what more records cost is what counts.
#include <nvtx3/nvToolsExt.h>
#include <poll.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/registry/run_analyses.h"
#include "bench/import_slot.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"
#include "gprof/trace/wire.h"
#include "trace/write/chunk_writer.h"

// What is behind the call keeps it a call.
extern "C" __attribute__((noinline)) void guard_counted(const std::function<void()>& work) {
  work();
  asm volatile("" ::: "memory");
}

namespace {

using namespace gprof;

constexpr uint32_t kRecords = 10'000;

std::vector<trace::ApiRecord> Calls() {
  std::vector<trace::ApiRecord> calls(kRecords);
  for (uint32_t i = 0; i < kRecords; ++i) {
    calls[i].start_ns = 1'000'000'000 + uint64_t{i} * 5000 + i * 7 % 900;
    calls[i].duration_ns = 2200 + i * 13 % 1500;
    calls[i].tid = 1000;
    calls[i].correlation = 1 + i;
    calls[i].function.value = 1 + (i % 16 == 0);
    calls[i].domain = static_cast<uint8_t>(trace::ApiDomain::kRuntime);
  }
  return calls;
}

std::vector<trace::KernelRecord> Kernels() {
  std::vector<trace::KernelRecord> kernels(kRecords);
  for (uint32_t i = 0; i < kRecords; ++i) {
    kernels[i].start_ns = 1'000'004'000 + uint64_t{i} * 5000 + i * 11 % 700;
    kernels[i].duration_ns = 1500 + i * 17 % 30'000;
    kernels[i].context = 1;
    kernels[i].stream = i % 16 == 15 ? 13 : 7;
    kernels[i].correlation = 1 + i;
    kernels[i].name.value = 3 + i % 5;
    kernels[i].shape.value = 1 + i % 3;
  }
  return kernels;
}

// A byte of the result is used, so that no compiler leaves the work out.
void Encode(std::size_t rounds) {
  const std::vector<trace::ApiRecord> calls = Calls();
  const std::vector<trace::KernelRecord> kernels = Kernels();
  std::vector<unsigned char> body(trace::kMaxBodyBytes);
  unsigned char sum = 0;
  guard_counted([&] {
    for (std::size_t i = 0; i < rounds; ++i) {
      trace::ByteWriter out(body.data(), body.size());
      trace::EncodeBlock(calls.data(), calls.size(), out);
      trace::EncodeBlock(kernels.data(), kernels.size(), out);
      sum = static_cast<unsigned char>(sum + body[out.size() - 1]);
    }
  });
  std::printf("%d\n", sum);
}

void Load(std::size_t rounds) {
  Dictionary dictionary;
  ChunkWriterOptions options;
  options.process.pid = 1;
  ChunkWriter writer(&dictionary, options);
  for (const char* name : {"cudaLaunchKernel", "cudaMemsetAsync", "a", "b", "c", "d", "e"}) dictionary.String(name);
  for (uint32_t i = 1; i <= 3; ++i) {
    trace::KernelShapeRecord shape;
    shape.grid_x = i;
    dictionary.Shape(shape);
  }
  for (const trace::ApiRecord& call : Calls()) writer.Add(call);
  for (const trace::KernelRecord& kernel : Kernels()) writer.Add(kernel);
  std::string bytes;
  writer.Take(&bytes);
  std::size_t operations = 0;
  guard_counted([&] {
    for (std::size_t i = 0; i < rounds; ++i) operations += LoadTraceFromMemory(bytes, "guard").ops.size();
  });
  std::printf("%zu\n", operations);
}

// Reading a trace and all analyses of it: all that they tell, or what a report in text shows of it.
void Report(std::size_t rounds, const std::string& path, bool is_brief) {
  std::vector<const Analysis*> analyses;
  for (const Analysis& analysis : AllAnalyses()) analyses.push_back(&analysis);
  AnalysisOptions options;
  options.is_brief = is_brief;
  std::size_t metrics = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    const Trace trace = LoadTrace(path);
    for (const AnalysisResult& result : RunAll(trace, analyses, options)) metrics += result.metrics.size();
  }
  std::printf("%zu\n", metrics);
}

// All that a short process has of the tracer: its start, and its end when main returns.
void Start() {
  nvtxRangePushA("range");
  nvtxRangePop();
}

void Nvtx(std::size_t rounds) {
  nvtxRangePushA("the tracer starts");
  nvtxRangePop();
  guard_counted([&] {
    for (std::size_t i = 0; i < rounds * kRecords; ++i) {
      nvtxRangePushA("forward");
      nvtxRangePop();
    }
  });
}

// A second thread, because libc locks in another way while there is none.
void StartThread() {
  pthread_t thread;
  pthread_create(
      &thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr);
  pthread_join(thread, nullptr);
}

void Locks(std::size_t rounds) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  guard_counted([&] {
    for (std::size_t i = 0; i < rounds * kRecords; ++i) {
      pthread_mutex_lock(&mutex);
      pthread_mutex_unlock(&mutex);
    }
  });
}

void Polls(std::size_t rounds) {
  guard_counted([&] {
    for (std::size_t i = 0; i < rounds * kRecords; ++i) poll(nullptr, 0, 0);
  });
}

bool WaitForCalls() {
  StartThread();
  return gprof::bench::WaitForSlots("poll");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  const std::string_view what = argv[1];
  const std::size_t rounds = std::strtoull(argv[2], nullptr, 10);
  if (what == "encode") Encode(rounds);
  if (what == "load") Load(rounds);
  if ((what == "report" || what == "brief") && argc == 4) Report(rounds, argv[3], what == "brief");
  if (what == "start") Start();
  if (what == "nvtx") Nvtx(rounds);
  if ((what == "lock" || what == "poll") && !WaitForCalls()) return 3;
  if (what == "lock") Locks(rounds);
  if (what == "poll") Polls(rounds);
  return 0;
}
