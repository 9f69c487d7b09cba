// Work that a seed chooses: kernels, copies, fills, graphs, events, allocations and waits on a few streams and threads,
// in an order that nobody thought of. usage: gpu_random_work [--seed N] [--steps N] Printed is one JSON object: a
// checksum of what was computed, which depends on the seed alone, and how often what ran.
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "common/arguments.h"
#include "common/cuda_memory.h"
#include "empty.h"
#include "fill.h"
#include "saxpy.h"
#include "spin.h"

namespace {

using gprof::examples::Check;
using gprof::examples::DeviceArray;
using gprof::examples::PinnedArray;

constexpr std::size_t kCount = 4096, kHalf = kCount / 2, kHalfBytes = kHalf * sizeof(float);
constexpr std::size_t kGraphKernels = 2, kGraphCopies = 1, kGraphMemsets = 1;

struct Counts {
  std::atomic<std::size_t> kernels, copies, memsets, graphs, host_functions;
};
Counts counts;
// The device must not be waited for while a stream is captured, on whatever thread.
std::mutex capturing;

// A stream and what only it works on, so that the order of its own steps decides what comes out.
class Lane {
 public:
  explicit Lane(unsigned seed) : dice_(seed) {
    Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    Check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    Fill();
    CopyWithin();
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    cudaEventDestroy(event_);
    cudaStreamDestroy(stream_);
  }

  void Fill() { Launch(gprof::kernels::Fill(stream_, memory_.data(), kCount, Number())); }
  void Saxpy() { Launch(gprof::kernels::Saxpy(stream_, 0.25F, memory_.data(), upper(), kHalf)); }
  void Spin() { Launch(gprof::kernels::Spin(stream_, 200'000)); }
  void Empty() { Launch(gprof::kernels::Empty(stream_)); }
  void Memset() {
    Check(cudaMemsetAsync(upper(), 0, kHalfBytes / 4, stream_));
    ++counts.memsets;
  }
  void CopyWithin() { Copy(upper(), memory_.data(), cudaMemcpyDeviceToDevice); }
  void CopyIn() {
    Wait();  // what is read must not change meanwhile
    for (std::size_t i = 0; i < kHalf; i += 64) pinned_[i] = Number();
    Copy(memory_.data(), pinned_.data(), cudaMemcpyHostToDevice);
  }
  void CopyOut() { Copy(pinned_.data(), upper(), cudaMemcpyDeviceToHost); }
  void CopyPageable() {
    Copy(pageable_.data(), memory_.data(), cudaMemcpyDeviceToHost);
    Copy(upper(), pageable_.data(), cudaMemcpyHostToDevice);
  }
  void LaunchGraph() {
    if (executable_ == nullptr) Instantiate();
    Check(cudaGraphLaunch(executable_, stream_));
    ++counts.graphs;
  }
  void Instantiate() {
    Wait();
    if (executable_ != nullptr) Check(cudaGraphExecDestroy(executable_));
    const cudaGraph_t graph = Capture();
    Check(cudaGraphInstantiateWithFlags(&executable_, graph, 0));
    Check(cudaGraphDestroy(graph));
  }
  void UpdateGraph() {
    if (executable_ == nullptr) return;
    const cudaGraph_t graph = Capture();
    cudaGraphExecUpdateResultInfo info{};
    Check(cudaGraphExecUpdate(executable_, graph, &info));
    Check(cudaGraphDestroy(graph));
  }
  void UploadGraph() {
    if (executable_ != nullptr) Check(cudaGraphUpload(executable_, stream_));
  }
  void CallHost() {
    Check(cudaLaunchHostFunc(
        stream_, [](void*) { ++counts.host_functions; }, nullptr));
  }
  void Allocate() {
    void* memory = nullptr;
    Check(cudaMallocAsync(&memory, kHalfBytes, stream_));
    Copy(memory, memory_.data(), cudaMemcpyDeviceToDevice);
    Copy(upper(), memory, cudaMemcpyDeviceToDevice);
    Check(cudaFreeAsync(memory, stream_));
  }
  void AllocateNow() { const DeviceArray<char> memory(1 << 20); }
  void NewStream() {
    Wait();
    Check(cudaStreamDestroy(stream_));
    Check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, -static_cast<int>(dice_() % 2)));
  }
  void Record() { Check(cudaEventRecord(event_, stream_)); }
  void WaitFor(const Lane& other) { Check(cudaStreamWaitEvent(stream_, other.event_, 0)); }
  void WaitForEvent() { Check(cudaEventSynchronize(event_)); }
  void Query() { cudaStreamQuery(stream_); }
  void Wait() { Check(cudaStreamSynchronize(stream_)); }

  double Checksum() {
    std::vector<float> values(kCount);
    Check(cudaMemcpyAsync(values.data(), memory_.data(), kCount * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    ++counts.copies;
    Wait();
    double sum = 0;
    for (std::size_t i = 0; i < kCount; ++i) sum += values[i] * static_cast<double>(i % 97 + 1);
    return sum;
  }

 private:
  float* upper() { return memory_.data() + kHalf; }
  float Number() { return static_cast<float>(dice_() % 1000) / 8; }
  void Launch(cudaError_t launched) {
    Check(launched);
    ++counts.kernels;
  }
  void Copy(void* target, const void* source, cudaMemcpyKind kind) {
    Check(cudaMemcpyAsync(target, source, kHalfBytes, kind, stream_));
    ++counts.copies;
  }
  cudaGraph_t Capture() {
    const std::lock_guard lock(capturing);
    cudaGraph_t graph = nullptr;
    Check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    Check(gprof::kernels::Saxpy(stream_, Number() / 1000, memory_.data(), upper(), kHalf));
    Check(cudaMemsetAsync(upper(), 0, 64, stream_));
    Check(cudaMemcpyAsync(memory_.data(), upper(), kHalfBytes / 2, cudaMemcpyDeviceToDevice, stream_));
    Check(gprof::kernels::Saxpy(stream_, 0.5F, memory_.data(), upper(), kHalf));
    Check(cudaStreamEndCapture(stream_, &graph));
    return graph;
  }

  std::mt19937 dice_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
  DeviceArray<float> memory_{kCount};
  PinnedArray<float> pinned_{kHalf};
  std::vector<float> pageable_ = std::vector<float>(kHalf);
};

using Step = void (Lane::*)();
constexpr std::array kSteps = {&Lane::Fill,        &Lane::Saxpy,        &Lane::Saxpy,        &Lane::Spin,
                               &Lane::Empty,       &Lane::Memset,       &Lane::CopyWithin,   &Lane::CopyWithin,
                               &Lane::CopyIn,      &Lane::CopyOut,      &Lane::CopyPageable, &Lane::LaunchGraph,
                               &Lane::LaunchGraph, &Lane::Instantiate,  &Lane::UpdateGraph,  &Lane::UploadGraph,
                               &Lane::CallHost,    &Lane::Allocate,     &Lane::AllocateNow,  &Lane::NewStream,
                               &Lane::Record,      &Lane::WaitForEvent, &Lane::Query,        &Lane::Wait};

void WaitForDevice() {
  const std::lock_guard lock(capturing);
  Check(cudaDeviceSynchronize());
}

// Steps on the lanes of one thread, in rounds that end with a wait for the device or a pause.
void Work(std::vector<std::unique_ptr<Lane>>& lanes, unsigned seed, std::size_t steps) {
  std::mt19937 dice(seed);
  while (steps > 0) {
    nvtxRangePushA("round");
    for (std::size_t left = dice() % 12; left > 0 && steps > 0; --left, --steps) {
      Lane& lane = *lanes[dice() % lanes.size()];
      const std::size_t choice = dice() % (kSteps.size() + 1);
      choice == kSteps.size() ? lane.WaitFor(*lanes[dice() % lanes.size()]) : (lane.*kSteps[choice])();
    }
    if (dice() % 2 == 0) WaitForDevice();
    nvtxRangePop();
    if (dice() % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(dice() % 40));
    if (steps > 0) --steps;
  }
}

}  // namespace

int main(int argc, char** argv) {
  gprof::examples::Arguments arguments(argc, argv, "gpu_random_work [--seed N] [--steps N]");
  const auto seed = static_cast<unsigned>(arguments.Number("--seed", 1));
  const std::size_t steps = arguments.Number("--steps", 300);
  arguments.Finish();
  std::vector<std::vector<std::unique_ptr<Lane>>> lanes(1 + seed % 3);
  for (unsigned thread = 0; thread < lanes.size(); ++thread) {
    for (unsigned i = 0; i < 1 + seed % 4; ++i)
      lanes[thread].push_back(std::make_unique<Lane>(seed * 100 + thread * 10 + i));
  }
  std::vector<std::thread> others;
  for (unsigned thread = 1; thread < lanes.size(); ++thread) {
    others.emplace_back([&of = lanes[thread], seed, thread, steps] { Work(of, seed + thread * 1000, steps); });
  }
  Work(lanes[0], seed, steps);
  for (std::thread& other : others) other.join();
  double checksum = 0;
  for (auto& of_thread : lanes) {
    for (auto& lane : of_thread) checksum += lane->Checksum();
  }
  const std::size_t graphs = counts.graphs;
  std::printf(
      "{\"checksum\": %.17g, \"host_functions\": %zu, \"kernels\": %zu, \"copies\": %zu, \"memsets\": %zu, \"graphs\": "
      "%zu,"
      " \"graph_kernels\": %zu, \"graph_copies\": %zu, \"graph_memsets\": %zu}\n",
      checksum, counts.host_functions.load(), counts.kernels.load(), counts.copies.load(), counts.memsets.load(),
      graphs, graphs * kGraphKernels, graphs * kGraphCopies, graphs * kGraphMemsets);
  return 0;
}
