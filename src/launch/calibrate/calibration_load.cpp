#include "launch/calibrate/calibration_load.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>
#include <vector>

#include "gprof/error.h"
#include "gprof/trace/calibration_file.h"
#include "launch/calibrate/cuda_driver.h"
#include "launch/calibrate/machine_calibration.h"

namespace gprof {
namespace {

// NVTX ranges without the headers of NVTX: asks the library that NVTX_INJECTION64_PATH names for its functions, as the
// headers do.
struct NvtxClient {
  int (*push)(const char* message) = nullptr;  // null: nobody records ranges
  int (*pop)() = nullptr;
};

// The contract between NVTX and tools, from nvtxTypes.h: a tool is given a function that finds tables by number, and
// puts its functions where the table of a module points to.
using AnyFunction = void (*)();
constexpr uint32_t kCallbacksTable = 1, kCoreModule = 1;
constexpr std::size_t kRangePush = 9, kRangePop = 11, kCoreFunctions = 16;

AnyFunction functions[kCoreFunctions];
AnyFunction* slots[kCoreFunctions + 1];

int GetModuleFunctionTable(int module, AnyFunction*** table, unsigned* size) {
  if (module != kCoreModule) return 0;
  *table = slots;
  *size = kCoreFunctions;
  return 1;
}

struct CallbacksTable {
  std::size_t size = sizeof(CallbacksTable);
  int (*get_module_function_table)(int, AnyFunction***, unsigned*) = GetModuleFunctionTable;
};

const void* GetExportTable(uint32_t number) {
  static constexpr CallbacksTable kTable;
  return number == kCallbacksTable ? &kTable : nullptr;
}

NvtxClient ConnectNvtx() {
  const char* const path = std::getenv("NVTX_INJECTION64_PATH");
  void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  using Initialize = int(const void* (*)(uint32_t));
  auto* const initialize = reinterpret_cast<Initialize*>(dlsym(library, "InitializeInjectionNvtx2"));
  for (std::size_t i = 0; i < kCoreFunctions; ++i) slots[i] = &functions[i];
  if (initialize == nullptr || initialize(GetExportTable) == 0) return {};
  NvtxClient client;
  client.push = reinterpret_cast<int (*)(const char*)>(functions[kRangePush]);
  client.pop = reinterpret_cast<int (*)()>(functions[kRangePop]);
  return client.pop == nullptr ? NvtxClient{} : client;
}

using Clock = std::chrono::steady_clock;
using trace::RecordedOperation;

// `gprof_spin` keeps the GPU busy for a number of nanoseconds, so that a queue fills behind it.
constexpr char kCode[] = R"(.version 6.0
.target sm_60
.address_size 64
.visible .entry gprof_empty() { ret; }
.visible .entry gprof_spin(.param .u64 length_ns) {
  .reg .u64 %now, %end;
  .reg .pred %goes_on;
  ld.param.u64 %now, [length_ns];
  mov.u64 %end, %globaltimer;
  add.u64 %end, %end, %now;
again:
  mov.u64 %now, %globaltimer;
  setp.lt.u64 %goes_on, %now, %end;
  @%goes_on bra again;
  ret;
})";
constexpr unsigned kNonBlocking = 1;
constexpr std::size_t kBytes = 4096, kNodes = 20, kThreads = 4;
// Shorter than it takes to issue a batch the spin must not be, nor a batch longer than the queue of a stream.
constexpr uint64_t kSpinNs = 4'000'000;
constexpr std::size_t kBatch = 128, kColdBatch = 48, kGraphBatch = 24, kThreadLaunches = 1500;
constexpr std::size_t kTurns = 7, kRepeats = 3;
constexpr std::size_t kEvictedBytes = 2 << 20;  // the second-level cache of a core, or most of it

// What one operation took, of a batch.
struct Times {
  double call_ns = 0, cold_call_ns = 0, gpu_ns = 0;
};

double NsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

uint32_t Longer(const std::vector<Times>& with, const std::vector<Times>& without, double Times::*figure,
                double parts) {
  const auto median = [figure](const std::vector<Times>& all) {
    std::vector<double> values;
    for (const Times& times : all) values.push_back(times.*figure);
    return Median(std::move(values));
  };
  return static_cast<uint32_t>(std::max(0.0, (median(with) - median(without)) / parts));
}

struct Operation {
  RecordedOperation what;
  std::function<void()> issue;
  std::size_t batch = kBatch;
  double parts = 1;       // how many operations one issue counts as
  bool is_queued = true;  // it leads to work on the GPU, which piles up behind a spin
};

class Load {
 public:
  Load() : cuda_(LoadCudaDriver()), evicted_(kEvictedBytes) {
    int device = 0;
    void* module = nullptr;
    CheckCuda(cuda_.init(0), "cuInit");
    CheckCuda(cuda_.device_get(&device, 0), "cuDeviceGet");
    char name[256] = {};
    CheckCuda(cuda_.device_name(name, sizeof name, device), "cuDeviceGetName");
    gpu_ = name;
    CheckCuda(cuda_.primary_context(&context_, device), "cuDevicePrimaryCtxRetain");
    CheckCuda(cuda_.set_context(context_), "cuCtxSetCurrent");
    CheckCuda(cuda_.load_module(&module, kCode), "cuModuleLoadData");
    CheckCuda(cuda_.get_function(&empty_, module, "gprof_empty"), "cuModuleGetFunction");
    CheckCuda(cuda_.get_function(&spin_, module, "gprof_spin"), "cuModuleGetFunction");
    for (void*& stream : streams_) CheckCuda(cuda_.create_stream(&stream, kNonBlocking), "cuStreamCreate");
    CheckCuda(cuda_.create_event(&event_, 0), "cuEventCreate");
    CheckCuda(cuda_.allocate(&device_memory_, kBytes), "cuMemAlloc");
    CheckCuda(cuda_.allocate_pinned(&pinned_, kBytes, 0), "cuMemHostAlloc");
  }

  const std::string& gpu() const { return gpu_; }

  std::vector<OperationCost> MeasureOperations() {
    std::vector<OperationCost> costs;
    for (const Operation& operation : Operations()) costs.push_back(Measure(operation));
    costs.push_back(MeasureThreads());
    if (const NvtxClient nvtx = ConnectNvtx(); nvtx.push != nullptr) {
      const auto range = [nvtx] {
        nvtx.push("calibration");
        nvtx.pop();
      };
      costs.push_back(Measure({RecordedOperation::kRange, range, kBatch, 1, false}));
    }
    return costs;
  }

  std::vector<OperationCost> MeasureNodes() {
    return {Measure({RecordedOperation::kGraphNode, LaunchesOfGraph(), kGraphBatch, kNodes})};
  }

 private:
  std::vector<Operation> Operations() {
    void* const stream = streams_[0];
    const auto allocate = [this, stream] {
      uint64_t memory = 0;
      CheckCuda(cuda_.allocate_async(&memory, kBytes, stream), "cuMemAllocAsync");
      CheckCuda(cuda_.free_async(memory, stream), "cuMemFreeAsync");
    };
    return {
        {RecordedOperation::kLaunch, [this] { Launch(streams_[0]); }},
        {RecordedOperation::kCopy,
         [this, stream] { CheckCuda(cuda_.copy_async(device_memory_, pinned_, kBytes, stream), "cuMemcpyHtoDAsync"); }},
        {RecordedOperation::kFill,
         [this, stream] { CheckCuda(cuda_.fill_async(device_memory_, 0, kBytes, stream), "cuMemsetD8Async"); }},
        {RecordedOperation::kCall, [this, stream] { CheckCuda(cuda_.record_event(event_, stream), "cuEventRecord"); }},
        {RecordedOperation::kAllocation, allocate, kBatch, 2},
        {RecordedOperation::kGraphLaunch, LaunchesOfGraph(), kGraphBatch},
        {RecordedOperation::kWait, [this] { Wait(); }, kBatch, 1, false}};
  }

  void Launch(void* stream) {
    CheckCuda(cuda_.launch(empty_, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr), "cuLaunchKernel");
  }
  void Spin() {
    uint64_t length_ns = kSpinNs;
    void* parameters[] = {&length_ns};
    CheckCuda(cuda_.launch(spin_, 1, 1, 1, 1, 1, 1, 0, streams_[0], parameters, nullptr), "cuLaunchKernel");
  }
  void Wait() { CheckCuda(cuda_.wait_for_stream(streams_[0]), "cuStreamSynchronize"); }

  std::function<void()> LaunchesOfGraph() {
    void *graph = nullptr, *executable = nullptr, *last = nullptr;
    CheckCuda(cuda_.create_graph(&graph, 0), "cuGraphCreate");
    KernelNode node;
    node.function = empty_;
    for (std::size_t i = 0; i < kNodes; ++i) {
      void* const before = last;
      CheckCuda(cuda_.add_kernel_node(&last, graph, &before, i == 0 ? 0 : 1, &node), "cuGraphAddKernelNode");
    }
    // A graph that is instantiated while nothing is recorded can only be recorded node by node.
    CheckCuda(cuda_.start_profiler(), "cuProfilerStart");
    CheckCuda(cuda_.instantiate_graph(&executable, graph, 0), "cuGraphInstantiate");
    CheckCuda(cuda_.stop_profiler(), "cuProfilerStop");
    return [this, executable] { CheckCuda(cuda_.launch_graph(executable, streams_[0]), "cuGraphLaunch"); };
  }

  // A batch behind a spin: how long issuing it takes, and how much longer than the spin the GPU has work.
  Times RunBatch(const Operation& operation) {
    Times times;
    const auto count = static_cast<double>(operation.batch);
    if (operation.is_queued) Spin();
    const auto start = Clock::now();
    for (std::size_t i = 0; i < operation.batch; ++i) operation.issue();
    times.call_ns = NsSince(start) / count;
    Wait();
    times.gpu_ns = operation.is_queued ? NsSince(start) / count : 0;
    for (std::size_t i = 0; i < kColdBatch; ++i) times.cold_call_ns += RunCold(operation) / kColdBatch;
    Wait();
    return times;
  }

  // As in a program that does something else in between.
  double RunCold(const Operation& operation) {
    constexpr std::size_t kLineBytes = 64;
    for (std::size_t at = 0; at < evicted_.size(); at += kLineBytes) ++evicted_[at];
    const auto start = Clock::now();
    operation.issue();
    return NsSince(start);
  }

  template <class Run>
  void InTurns(Run run, std::vector<Times>* with, std::vector<Times>* without) {
    for (std::size_t turn = 0; turn < kTurns; ++turn) {
      for (std::size_t i = 0; i < kRepeats; ++i) without->push_back(run());
      CheckCuda(cuda_.start_profiler(), "cuProfilerStart");
      run();  // buffers are made, names are learnt
      for (std::size_t i = 0; i < kRepeats; ++i) with->push_back(run());
      CheckCuda(cuda_.stop_profiler(), "cuProfilerStop");
      run();
    }
  }

  OperationCost Measure(const Operation& operation) {
    std::vector<Times> with, without;
    RunBatch(operation);
    InTurns([&] { return RunBatch(operation); }, &with, &without);
    const auto longer = [&](double Times::*figure) { return Longer(with, without, figure, operation.parts); };
    return {operation.what, 1, longer(&Times::call_ns), longer(&Times::cold_call_ns), longer(&Times::gpu_ns)};
  }

  // Launches of several threads at the same time: what one takes longer of the time of all.
  OperationCost MeasureThreads() {
    const auto run = [this] {
      std::vector<std::thread> threads;
      const auto start = Clock::now();
      for (void* const stream : streams_) {
        threads.emplace_back([this, stream] {
          cuda_.set_context(context_);
          for (std::size_t i = 0; i < kThreadLaunches; ++i)
            cuda_.launch(empty_, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);
        });
      }
      for (std::thread& thread : threads) thread.join();
      const double call_ns = NsSince(start) / (kThreads * kThreadLaunches);
      for (void* const stream : streams_) CheckCuda(cuda_.wait_for_stream(stream), "cuStreamSynchronize");
      return Times{call_ns, call_ns, 0};
    };
    std::vector<Times> with, without;
    InTurns(run, &with, &without);
    const uint32_t call_ns = Longer(with, without, &Times::call_ns, 1);
    return {RecordedOperation::kLaunch, kThreads, call_ns, call_ns, 0};
  }

  CudaDriver cuda_;
  std::string gpu_;
  void *context_ = nullptr, *empty_ = nullptr, *spin_ = nullptr, *event_ = nullptr, *pinned_ = nullptr;
  void* streams_[kThreads] = {};
  uint64_t device_memory_ = 0;
  std::vector<char> evicted_;
};

}  // namespace

void RunCalibrationLoad(LoadKind kind, const std::string& out_path) {
  Load load;
  MachineCalibration result;
  result.machine = ThisHost();
  result.gpu = load.gpu();
  result.costs = kind == LoadKind::kGraphNodes ? load.MeasureNodes() : load.MeasureOperations();
  std::ofstream out(out_path, std::ios::binary);
  out << ToText(result);
  out.close();
  if (!out) throw Error(ExitCode::kUnreadable, "cannot write '" + out_path + "'");
}

}  // namespace gprof
