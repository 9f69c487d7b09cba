// Writes a trace of a given size that looks like the training loop of a PyTorch program: a thread that launches the
// forward pass, one that launches the backward pass, a loader that copies batches, nested NVTX ranges for every layer,
// three streams. The same size and rank give the same bytes.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

#include "common/arguments.h"
#include "trace/write/chunk_writer.h"

namespace gprof::bench {
namespace {

constexpr const char* kUsage = "usage: synthetic_trace -n RECORDS --out FILE [--rank 1..N --ranks N]\n";
constexpr uint32_t kMainThread = 1000, kBackwardThread = 1001, kLoaderThread = 1002, kThreads = 3;
constexpr uint32_t kContext = 1, kDefaultStream = 7, kCopyStream = 13, kSideStream = 17;
constexpr int kLayers = 24, kKernelsOfLayer = 6, kKernelNames = 40, kShapes = 60;
constexpr uint32_t kRanksOfAHost = 8;
constexpr std::size_t kRecordsOfAFlush = 60'000;  // the tracer writes twice a second: about this much of a busy run

// A single rank is none.
struct Place {
  uint32_t rank = 0, ranks = 1;
};

class Generator {
 public:
  Generator(std::size_t records, const Place& place, std::ofstream* out)
      : wanted_(records), place_(place), out_(*out), writer_(&dictionary_, Options()) {
    state_ += 0x9E3779B97F4A7C15u * place.rank;
    for (int i = 0; i < kKernelNames; ++i) {
      kernels_.push_back(dictionary_.String("_ZN2at6native" + std::to_string(10 + i % 10) + "elementwise" +
                                            std::to_string(i) + "_kernelILi128ELi4EEEviPfS2_"));
    }
    for (uint32_t i = 0; i < kShapes; ++i) {
      trace::KernelShapeRecord shape;
      shape.grid_x = 32 * (i + 1), shape.grid_y = shape.grid_z = 1;
      shape.block_x = 128, shape.block_y = shape.block_z = 1;
      shape.registers_per_thread = 32 + i % 8;
      shapes_.push_back(dictionary_.Shape(shape));
    }
    for (int i = 0; i < kLayers; ++i) layers_.push_back(dictionary_.String("layer" + std::to_string(i)));
  }

  void Run() {
    Start();
    while (written_ < wanted_) Step();
    trace::EndRecord end;
    end.time_ns = std::max(host_ns_, gpu_free_ns_[0]) + 1000;
    end.reason = static_cast<uint8_t>(trace::EndReason::kExit);
    Add(end);
    Flush();
  }

 private:
  static ChunkWriterOptions Options() {
    ChunkWriterOptions options;
    options.process.pid = 1000;
    options.process.start_ticks = 12345;
    return options;
  }

  template <class R>
  void Add(const R& record) {
    if constexpr (std::is_same_v<R, trace::ApiRecord>) {
      calls_[record.tid - kMainThread].push_back(record);
    } else if constexpr (std::is_same_v<R, trace::NvtxRecord>) {
      ranges_[record.tid - kMainThread].push_back(record);
    } else {
      writer_.Add(record);
    }
    ++written_;
    if (++pending_ >= kRecordsOfAFlush) Flush();
  }

  // The tracer has a log for each thread.
  void AddThreads() {
    for (auto& calls : calls_) {
      for (const trace::ApiRecord& call : calls) writer_.Add(call);
      calls.clear();
    }
    for (auto& ranges : ranges_) {
      for (const trace::NvtxRecord& range : ranges) writer_.Add(range);
      ranges.clear();
    }
  }

  void Flush() {
    AddThreads();
    std::string bytes;
    writer_.Take(&bytes);
    out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    pending_ = 0;
  }

  // The same numbers on every machine, which the distributions of <random> do not promise.
  uint64_t Random(uint64_t below) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ % below;
  }

  void Start() {
    trace::ProcessRecord process;
    process.start_ns = host_ns_;
    process.pid = 1000;
    process.name = dictionary_.String("python3");
    if (place_.ranks > 1) {
      process.host = dictionary_.String("node" + std::to_string(place_.rank / kRanksOfAHost));
      process.rank = static_cast<int32_t>(place_.rank);
      process.local_rank = static_cast<int32_t>(place_.rank % kRanksOfAHost);
      process.world_size = place_.ranks;
    }
    Add(process);
    trace::DeviceRecord device;
    device.name = dictionary_.String("NVIDIA H200");
    device.compute_major = 9;
    device.sm_count = 132;
    device.warp_size = 32;
    Add(device);
    trace::ContextRecord context;
    context.context = kContext;
    context.null_stream = kDefaultStream;
    Add(context);
    for (const uint32_t stream : {kCopyStream, kSideStream}) {
      trace::StreamRecord created;
      created.created_ns = host_ns_;
      created.context = kContext;
      created.stream = stream;
      created.is_non_blocking = 1;
      Add(created);
    }
    host_ns_ += 50'000'000;
  }

  void Range(uint32_t tid, trace::StringId name, bool is_push) {
    trace::NvtxRecord range;
    range.time_ns = host_ns_ += 40;
    range.event = static_cast<uint8_t>(is_push ? trace::NvtxEvent::kPush : trace::NvtxEvent::kPop);
    range.tid = tid;
    if (is_push) range.message = name;
    Add(range);
  }

  // A call of `duration_ns`, and its correlation.
  uint32_t Call(uint32_t tid, const char* function, uint64_t duration_ns) {
    trace::ApiRecord call;
    call.start_ns = host_ns_;
    call.duration_ns = duration_ns;
    call.tid = tid;
    call.correlation = ++correlation_;
    call.function = dictionary_.String(function);
    call.domain = static_cast<uint8_t>(trace::ApiDomain::kRuntime);
    Add(call);
    host_ns_ += duration_ns;
    return correlation_;
  }

  uint64_t StartOnGpu(std::size_t stream, uint64_t duration_ns) {
    const uint64_t start_ns = std::max(host_ns_ + 1500 + Random(400), gpu_free_ns_[stream] + 600 + Random(300));
    gpu_free_ns_[stream] = start_ns + duration_ns;
    return start_ns;
  }

  void Launch(uint32_t tid, std::size_t number) {
    const bool is_side = number % 16 == 15;
    trace::KernelRecord kernel;
    kernel.correlation = Call(tid, "cudaLaunchKernel_v7000", 2200 + Random(1500));
    kernel.duration_ns = number % 5 == 0 ? 20'000 + Random(60'000) : 1500 + Random(6000);
    kernel.start_ns = StartOnGpu(is_side ? 2 : 0, kernel.duration_ns);
    kernel.context = kContext;
    kernel.stream = is_side ? kSideStream : kDefaultStream;
    kernel.name = kernels_[number % kernels_.size()];
    kernel.shape = shapes_[(number * 7) % shapes_.size()];
    Add(kernel);
    host_ns_ += 1200 + Random(2500);
  }

  void Copy(uint32_t tid, bool is_pageable, uint64_t bytes) {
    trace::MemcpyRecord copy;
    copy.correlation = Call(tid, "cudaMemcpyAsync_v3020", is_pageable ? bytes / 10 : 3000 + Random(1000));
    copy.size_bytes = bytes;
    copy.duration_ns = 1000 + bytes / 40;
    copy.start_ns = is_pageable ? host_ns_ - copy.duration_ns : StartOnGpu(1, copy.duration_ns);
    copy.context = kContext;
    copy.stream = kCopyStream;
    copy.copy_kind = static_cast<uint8_t>(trace::CopyKind::kHostToDevice);
    copy.source_memory = static_cast<uint8_t>(is_pageable ? trace::MemoryKind::kPageable : trace::MemoryKind::kPinned);
    copy.destination_memory = static_cast<uint8_t>(trace::MemoryKind::kDevice);
    copy.is_async = 1;
    Add(copy);
  }

  void Fill(uint32_t tid) {
    trace::MemsetRecord fill;
    fill.correlation = Call(tid, "cudaMemsetAsync_v3020", 2500 + Random(500));
    fill.size_bytes = 1 << 20;
    fill.duration_ns = 1800;
    fill.start_ns = StartOnGpu(0, fill.duration_ns);
    fill.context = kContext;
    fill.stream = kDefaultStream;
    fill.memory = static_cast<uint8_t>(trace::MemoryKind::kDevice);
    fill.is_async = 1;
    Add(fill);
  }

  void Synchronize(uint32_t tid) {
    trace::SyncRecord sync;
    sync.start_ns = host_ns_;
    sync.duration_ns = 1000 + (gpu_free_ns_[0] > host_ns_ ? gpu_free_ns_[0] - host_ns_ : 0);
    sync.tid = tid;
    sync.correlation = Call(tid, "cudaStreamSynchronize_v3020", sync.duration_ns);
    sync.sync_kind = static_cast<uint8_t>(trace::SyncKind::kStream);
    sync.context = kContext;
    sync.stream = kDefaultStream;
    Add(sync);
  }

  void Allocate(uint32_t tid) {
    trace::MemoryRecord memory;
    memory.time_ns = host_ns_;
    memory.address = 0x7f0000000000 + (correlation_ + 1ull) * 4096;
    memory.size_bytes = 1 << 20;
    memory.operation = static_cast<uint8_t>(trace::MemoryOp::kAllocate);
    memory.memory = static_cast<uint8_t>(trace::MemoryKind::kDevice);
    memory.correlation = Call(tid, "cudaMalloc_v3020", 9000);
    memory.context = kContext;
    Add(memory);
  }

  void Layers(uint32_t tid, trace::StringId phase, int kernels) {
    Range(tid, phase, true);
    for (int layer = 0; layer < kLayers; ++layer) {
      Range(tid, layers_[static_cast<std::size_t>(layer)], true);
      for (int i = 0; i < kernels; ++i) Launch(tid, static_cast<std::size_t>(layer * 3 + i));
      Range(tid, {}, false);
    }
    Range(tid, {}, false);
  }

  void Step() {
    const trace::StringId step = dictionary_.String("step"), load = dictionary_.String("load"),
                          forward = dictionary_.String("forward"), backward = dictionary_.String("backward"),
                          optimizer = dictionary_.String("optimizer");
    Range(kLoaderThread, load, true);
    Copy(kLoaderThread, steps_ % 4 == 0, 1 << 19);
    Copy(kLoaderThread, false, 1 << 12);
    Range(kLoaderThread, {}, false);
    Range(kMainThread, step, true);
    if (steps_ < 8) Allocate(kMainThread);
    Fill(kMainThread);
    Layers(kMainThread, forward, kKernelsOfLayer);
    Layers(kBackwardThread, backward, 2 * kKernelsOfLayer);
    Range(kMainThread, optimizer, true);
    for (int i = 0; i < 40; ++i) Launch(kMainThread, static_cast<std::size_t>(i));
    Range(kMainThread, {}, false);
    if (steps_ % 2 == 0) Synchronize(kMainThread);
    Range(kMainThread, {}, false);
    ++steps_;
  }

  const std::size_t wanted_;
  const Place place_;
  std::ofstream& out_;
  Dictionary dictionary_;
  ChunkWriter writer_;
  std::vector<trace::ApiRecord> calls_[kThreads];  // not yet written, by thread
  std::vector<trace::NvtxRecord> ranges_[kThreads];
  std::vector<trace::StringId> kernels_, layers_;
  std::vector<trace::ShapeId> shapes_;
  std::size_t written_ = 0, pending_ = 0, steps_ = 0;
  uint32_t correlation_ = 0;
  uint64_t host_ns_ = 1'000'000'000'000, gpu_free_ns_[3] = {0, 0, 0};
  uint64_t state_ = 88172645463325252u;
};

}  // namespace
}  // namespace gprof::bench

int main(int argc, char** argv) {
  gprof::examples::Arguments arguments(argc, argv, gprof::bench::kUsage);
  const std::size_t records = arguments.Number("-n", 1'000'000);
  const std::string path = arguments.Text("--out", "");
  gprof::bench::Place place;
  place.rank = static_cast<uint32_t>(arguments.Number("--rank", 1)) - 1;
  place.ranks = static_cast<uint32_t>(arguments.Number("--ranks", 1));
  arguments.Finish();
  std::ofstream out(path, std::ios::binary);
  gprof::bench::Generator(records, place, &out).Run();
  out.close();
  if (out) return 0;
  std::fprintf(stderr, "synthetic_trace: cannot write '%s'\n", path.c_str());
  return 1;
}
