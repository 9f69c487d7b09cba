#include "random_trace.h"

#include <random>
#include <string>
#include <vector>

#include "trace_maker.h"

namespace gprof::test {
namespace {

constexpr int64_t kLengthNs = 400;

class Randomiser {
 public:
  explicit Randomiser(uint32_t seed) : random_(seed) {}

  Trace Run() {
    AddPlaces();
    for (int64_t i = Below(40); i > 0; --i) AddCall();
    for (int64_t i = Below(60); i > 0; --i) AddOp();
    for (int64_t i = Below(12); i > 0; --i) AddRange();
    for (int64_t i = Below(6); i > 0; --i) AddInterruption();
    for (int64_t i = Below(6); i > 0; --i) AddEventWait();
    for (uint32_t process = 0; process < maker_.trace().processes.size(); ++process) {
      if (OneIn(2)) AddCaptures(process);
      Process& p = maker_.trace().processes[process];
      if (OneIn(2)) p.end_ns = p.start_ns + 1 + Below(kLengthNs);
    }
    for (int64_t i = Below(60); i > 0; --i) AddMemory();
    for (int64_t i = Below(10); i > 0; --i) AddManaged();
    for (int64_t i = Below(4); i > 0; --i) AddPool();
    for (int64_t i = Below(6); i > 0; --i) AddPayload();
    for (int64_t i = Below(6); i > 0; --i) AddNode();
    if (OneIn(2)) AddHostActivity();
    return maker_.Finish();
  }

 private:
  // std::uniform_int_distribution differs between libraries; this does not.
  int64_t Below(int64_t limit) { return static_cast<int64_t>(random_() % static_cast<uint32_t>(limit)); }
  bool OneIn(int64_t n) { return Below(n) == 0; }
  uint32_t Pick(size_t size) { return static_cast<uint32_t>(Below(static_cast<int64_t>(size))); }

  void AddPlaces() {
    if (OneIn(2)) {
      const uint32_t process = maker_.AddProcess(200, Below(kLengthNs / 2));
      maker_.AddThread(process, 200);
    }
    if (OneIn(2)) maker_.AddThread(0, 101);
    if (OneIn(3)) maker_.AddDevice(1);
    for (uint32_t id = 7; id < 7 + 4; ++id) maker_.AddStream(id, id > 7);
  }

  void AddCall() {
    constexpr const char* kFunctions[] = {
        "cudaLaunchKernel",      "cudaMemcpy",     "cudaMemcpyAsync", "cudaMalloc",
        "cudaDeviceSynchronize", "cuModuleLoad",   "cudaStreamQuery", "cudaEventRecord",
        "cudaStreamSynchronize", "cudaGraphLaunch"};
    const int64_t start_ns = Below(kLengthNs), end_ns = start_ns + Below(30);
    const uint32_t thread = Pick(maker_.trace().threads.size());
    const uint32_t call = maker_.AddCall(start_ns, end_ns, kFunctions[Pick(std::size(kFunctions))], thread);
    calls_.push_back(call);
    const int64_t inner_ns = Below(end_ns - start_ns + 1);
    if (OneIn(4)) calls_.push_back(maker_.AddInnerCall(start_ns, start_ns + inner_ns, "cuCall", call));
  }

  void AddOp() {
    const bool has_call = !calls_.empty() && !OneIn(8);
    const uint32_t call = has_call ? calls_[Pick(calls_.size())] : kNone;
    // Mostly after its call, now and then before it.
    const int64_t earliest_ns = has_call ? maker_.Call(call).start_ns : 0;
    const int64_t start_ns = OneIn(10) ? Below(kLengthNs) : earliest_ns + Below(60);
    const int64_t end_ns = start_ns + Below(12);
    GpuOp* op = nullptr;
    switch (Below(4)) {
      case 0:
        op = &maker_.AddCopy(start_ns, end_ns, 64, trace::CopyKind::kDeviceToHost, call);
        op->is_async = OneIn(2);
        break;
      case 1:
        op = &maker_.AddPageable(start_ns, end_ns, 64, call);
        break;
      case 2:
        op = &maker_.AddFill(start_ns, end_ns, 64, call);
        break;
      default:
        op = &maker_.AddKernel(start_ns, end_ns, call, OneIn(2) ? "first" : OneIn(2) ? "ncclKernel" : "second");
        if (OneIn(5)) op->kind = OpKind::kGraph;
    }
    op->device = Pick(maker_.trace().devices.size());
    op->stream = OneIn(6) ? kNone : Pick(maker_.trace().streams.size());
  }

  void AddRange() {
    constexpr const char* kPaths[] = {"load", "step", "step/forward", "other/load"};
    const int64_t start_ns = Below(kLengthNs);
    NvtxRange& range = maker_.AddRange(start_ns, start_ns + Below(120), kPaths[Pick(std::size(kPaths))],
                                       Pick(maker_.trace().threads.size()));
    range.is_push_pop = !OneIn(4);
  }

  void AddInterruption() {
    const int64_t start_ns = Below(kLengthNs), end_ns = start_ns + Below(25);
    const uint32_t thread = Pick(maker_.trace().threads.size());
    constexpr uint32_t kKinds[] = {1, 1u << 16, 2u << 16, 4u << 16, 5u << 16, 6u << 16};
    if (OneIn(3)) {
      maker_.AddJit(start_ns, end_ns, thread);
    } else {
      maker_.AddOverhead(start_ns, end_ns, kKinds[Pick(std::size(kKinds))], OneIn(5) ? kNone : thread);
    }
  }

  void AddEventWait() {
    const int64_t start_ns = Below(kLengthNs);
    const uint32_t stream = Pick(maker_.trace().streams.size());
    maker_.AddSync(start_ns, start_ns + 1, trace::SyncKind::kStreamWaitEvent, kNone, stream);
  }

  // Few addresses, so that blocks are freed, allocated twice and freed without their allocation.
  void AddMemory() {
    MemoryEvent m;
    m.time_ns = memory_ns_ += Below(8);
    m.address = static_cast<uint64_t>(1 + Below(6));
    m.size_bytes = static_cast<uint64_t>(Below(100));
    m.process = Pick(maker_.trace().processes.size());
    m.device = OneIn(8) ? kNone : Pick(maker_.trace().devices.size());
    m.api = calls_.empty() || OneIn(2) ? kNone : calls_[Pick(calls_.size())];
    m.operation = OneIn(2) ? trace::MemoryOp::kFree : trace::MemoryOp::kAllocate;
    m.memory = static_cast<trace::MemoryKind>(Below(8));
    maker_.trace().memory_events.push_back(m);
  }

  void AddManaged() {
    ManagedMemory m;
    m.start_ns = Below(kLengthNs);
    m.end_ns = m.start_ns + Below(20);
    m.value = static_cast<uint64_t>(Below(5000));
    m.process = 0;
    m.kind = static_cast<trace::ManagedKind>(Below(9));
    if (OneIn(2)) m.source = Pick(maker_.trace().devices.size());
    if (OneIn(2)) m.destination = Pick(maker_.trace().devices.size());
    maker_.trace().managed_memory.push_back(m);
  }

  void AddPool() {
    MemoryPoolEvent p;
    p.time_ns = Below(kLengthNs);
    p.pool = static_cast<uint64_t>(Below(3));
    p.process = 0;
    p.operation = static_cast<trace::PoolOp>(1 + Below(3));
    maker_.trace().memory_pools.push_back(p);
  }

  void AddPayload() {
    Trace& t = maker_.trace();
    NvtxPayload p;
    p.first_value = static_cast<uint32_t>(t.payload_values.size());
    t.payload_values.push_back({maker_.Name("Message size [bytes]"), {}, Below(4096), true});
    t.payload_values.push_back({maker_.Name("Reduction operation"), maker_.Name(OneIn(2) ? "Sum" : "Max"), 0, true});
    p.last_value = static_cast<uint32_t>(t.payload_values.size());
    t.payloads.push_back(p);
  }

  void AddNode() {
    Trace& t = maker_.trace();
    GraphNode n;
    n.process = 0;
    n.source = static_cast<uint32_t>(t.graph_nodes.size());
    t.graph_nodes.push_back(n);
    if (!maker_.ops().empty()) maker_.ops()[Pick(maker_.ops().size())].node = n.source;
  }

  // Calls of the operating system and of MPI within others and beside them, some of them while the thread was off the
  // processor.
  void AddHostActivity() {
    Trace& t = maker_.trace();
    int64_t at_ns = 0;
    for (int64_t i = Below(30); i > 0; --i) {
      OsCall call;
      call.start_ns = at_ns += Below(20);
      call.end_ns = call.start_ns + Below(25);
      call.thread = OneIn(8) ? kNone : Pick(t.threads.size());
      call.function = maker_.Name(OneIn(2) ? "read" : "poll");
      t.os_calls.push_back(call);
    }
    at_ns = 0;
    for (int64_t i = Below(15); i > 0; --i) {
      MpiCall call;
      call.start_ns = at_ns += Below(40);
      call.end_ns = call.start_ns + Below(25);
      call.thread = OneIn(8) ? kNone : Pick(t.threads.size());
      call.function = maker_.Name(OneIn(2) ? "MPI_Allreduce" : "MPI_Wait");
      t.mpi_calls.push_back(call);
    }
    at_ns = 0;
    for (int64_t i = Below(15); i > 0; --i) {
      Gemm gemm;
      gemm.start_ns = at_ns += Below(40);
      gemm.end_ns = gemm.start_ns + Below(25);
      gemm.thread = OneIn(8) ? kNone : Pick(t.threads.size());
      gemm.function = maker_.Name("cublasGemmEx");
      gemm.m = gemm.n = gemm.k = 8 + Pick(16);
      gemm.batch = 1 + Pick(2);
      gemm.a_type = static_cast<uint8_t>(Pick(16));
      t.gemms.push_back(gemm);
    }
    at_ns = 0;
    for (int64_t i = OneIn(4) ? Below(15) : 0; i > 0; --i) {
      Collective operation;
      operation.start_ns = at_ns += Below(40);
      operation.end_ns = operation.start_ns + Below(25);
      operation.thread = OneIn(8) ? kNone : Pick(t.threads.size());
      operation.function = maker_.Name(OneIn(2) ? "AllReduce" : "Send");
      operation.communicator = Pick(3);
      operation.sequence = Pick(4);
      operation.size_bytes = Pick(4096);
      operation.ranks = Pick(3);
      t.collectives.push_back(operation);
      NcclTransfer transfer;
      transfer.start_ns = operation.end_ns, transfer.end_ns = transfer.start_ns + Below(30);
      transfer.function = operation.function, transfer.peer = static_cast<int32_t>(Pick(3));
      transfer.size_bytes = Pick(4096), transfer.network_ns = Below(20), transfer.is_send = OneIn(2);
      if (OneIn(2)) t.nccl_transfers.push_back(transfer);
    }
    at_ns = 0;
    for (int64_t i = Below(15); i > 0; --i) {
      Directive directive;
      directive.start_ns = at_ns += Below(40);
      directive.end_ns = directive.start_ns + Below(60);
      directive.thread = OneIn(8) ? kNone : Pick(t.threads.size());
      directive.model = maker_.Name(OneIn(2) ? "OpenMP" : "OpenACC");
      directive.is_wait = OneIn(2);
      directive.construct = maker_.Name(directive.is_wait ? "barrier" : "parallel");
      directive.region = Pick(4);
      directive.threads = Pick(4);
      t.directives.push_back(directive);
    }
    at_ns = 0;
    for (int64_t i = Below(30); i > 0; --i) {
      ThreadSwitch off;
      off.start_ns = at_ns += Below(20);
      off.end_ns = off.start_ns + Below(25);
      off.thread = OneIn(8) ? kNone : Pick(t.threads.size());
      off.is_preempted = OneIn(2);
      off.cpu = OneIn(8) ? kNone : Pick(2);
      t.switches.push_back(off);
    }
    at_ns = 0;
    for (int64_t i = Below(30); i > 0; --i) {
      CpuSample sample;
      sample.time_ns = at_ns += Below(20);
      sample.thread = OneIn(8) ? kNone : Pick(t.threads.size());
      t.cpu_samples.push_back(sample);
    }
  }

  void AddCaptures(uint32_t process) {
    int64_t at_ns = 0;
    for (int64_t i = 1 + Below(4); i > 0; --i) {
      const int64_t start_ns = at_ns + Below(80);
      at_ns = start_ns + Below(150);
      maker_.AddCapture(start_ns, at_ns, process);
    }
  }

  std::mt19937 random_;
  TraceMaker maker_;
  std::vector<uint32_t> calls_;
  int64_t memory_ns_ = 0;
};

}  // namespace

Trace RandomTrace(uint32_t seed) { return Randomiser(seed).Run(); }

}  // namespace gprof::test
