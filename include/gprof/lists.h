// The lists of Trace, for what goes over all of them: their names in the Python module, the structs they are of, what
// their elements are to others.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "gprof/fields.h"
#include "gprof/trace.h"

namespace gprof {

// A list of Trace whose struct has Fields().
template <class T>
struct ListOf {
  const char* name;
  std::vector<T> Trace::*list;
  Role index = Role::kPlain;  // of what names an element by its index
  bool is_by_time = false;    // sorted by the time or the start of its elements
  // Its table in csv, jsonl and the Python module, whose columns are the fields, and what that is a table of. Empty for
  // a list without one, and where more than the fields is in it (src/export/tables).
  std::string_view table = {}, meaning = {};
};

// All of them; operations, calls and ranges, which are packed, are the others. What a list needs beyond its fields is
// said where it is needed: devices of several traces are one, for example.
inline constexpr auto kLists = std::make_tuple(
    ListOf<Process>{"processes", &Trace::processes, Role::kProcess}, ListOf<Capture>{"captures", &Trace::captures},
    ListOf<Thread>{"threads", &Trace::threads, Role::kThread},
    ListOf<Device>{"devices", &Trace::devices, Role::kDevice}, ListOf<Context>{"contexts", &Trace::contexts},
    ListOf<Stream>{"streams", &Trace::streams, Role::kStream},
    ListOf<NvtxMark>{"marks", &Trace::marks, Role::kMark, true},
    ListOf<NvtxDomain>{"domains", &Trace::domains, Role::kDomain},
    ListOf<NvtxCategory>{"categories", &Trace::categories},
    ListOf<NvtxPayload>{"payloads", &Trace::payloads, Role::kPlain, true},
    ListOf<PayloadValue>{"payload_values", &Trace::payload_values, Role::kPayloadValue},
    ListOf<GraphNode>{"graph_nodes", &Trace::graph_nodes, Role::kGraphNode},
    ListOf<EventRecord>{"event_records", &Trace::event_records, Role::kPlain, true},
    ListOf<Sync>{"syncs", &Trace::syncs, Role::kPlain, true},
    ListOf<Overhead>{"overheads", &Trace::overheads, Role::kPlain, true},
    ListOf<Jit>{"jits", &Trace::jits, Role::kPlain, true},
    ListOf<MemoryEvent>{"memory_events", &Trace::memory_events, Role::kPlain, true},
    ListOf<ManagedMemory>{"managed_memory", &Trace::managed_memory, Role::kPlain, true},
    ListOf<MemoryPoolEvent>{"memory_pools", &Trace::memory_pools, Role::kPlain, true},
    ListOf<CpuSample>{"cpu_samples", &Trace::cpu_samples, Role::kPlain, true, "cpu_sample",
                      "CPU samples with their stacks"},
    ListOf<ThreadSwitch>{"switches", &Trace::switches, Role::kPlain, true, "switch",
                         "intervals in which threads were off the CPU"},
    ListOf<OsCall>{"os_calls", &Trace::os_calls, Role::kPlain, true, "os_call", "long OS calls"},
    ListOf<MpiCall>{"mpi_calls", &Trace::mpi_calls, Role::kPlain, true, "mpi_call", "MPI calls"},
    ListOf<Gemm>{"gemms", &Trace::gemms, Role::kPlain, true, "gemm", "matrix multiplications"},
    ListOf<TensorBlock>{"tensor_blocks", &Trace::tensor_blocks, Role::kPlain, true, "tensor_block",
                        "blocks that allocators of PyTorch gave and took back"},
    ListOf<Collective>{"collectives", &Trace::collectives, Role::kPlain, true, "collective", "operations of NCCL"},
    ListOf<NcclTransfer>{"nccl_transfers", &Trace::nccl_transfers, Role::kPlain, true, "nccl_transfer",
                         "what NCCL sent and received through the network"},
    ListOf<Directive>{"directives", &Trace::directives, Role::kPlain, true, "directive",
                      "constructs of OpenMP and OpenACC"},
    ListOf<GpuPause>{"gpu_pauses", &Trace::gpu_pauses, Role::kPlain, true, "gpu_pause",
                     "times in which a profiler of the program recorded GPU work"},
    ListOf<BaseTime>{"base_times", &Trace::base_times, Role::kPlain, true, "base_time",
                     "times between windows in which the base level was recorded"},
    ListOf<BaseCall>{"base_calls", &Trace::base_calls, Role::kPlain, true, "base_call",
                     "waits, launches of graphs and long calls outside of windows"},
    ListOf<BaseGraph>{"base_graphs", &Trace::base_graphs, Role::kPlain, true, "base_graph",
                      "CUDA graphs that were launched outside of windows"},
    ListOf<InProgress>{"in_progress", &Trace::in_progress, Role::kPlain, true, "in_progress",
                       "what had not ended when a snapshot was taken"},
    ListOf<WorkRate>{"work_rates", &Trace::work_rates, Role::kPlain, true, "work_rate",
                     "how often a function was called in windows with recording, with less and without"},
    ListOf<DelayWindow>{"delay_windows", &Trace::delay_windows, Role::kPlain, true, "delay_window",
                        "windows in which something was delayed on purpose"},
    ListOf<RequestEvent>{"request_events", &Trace::request_events, Role::kPlain, true, "request_event",
                         "what happened to requests of a serving engine"},
    ListOf<EngineStep>{"engine_steps", &Trace::engine_steps, Role::kPlain, true, "engine_step",
                       "steps of a serving engine"},
    ListOf<StepRequest>{"step_requests", &Trace::step_requests, Role::kPlain, true, "step_request",
                        "the requests in the batch of each step"},
    ListOf<GeneratedLines>{"generated_lines", &Trace::generated_lines, Role::kPlain, false, "generated_lines",
                           "lines of generated code, and the code that they were generated from"},
    ListOf<Calibration>{"calibrations", &Trace::calibrations, Role::kPlain, false, "calibration",
                        "what recording an operation costs on the machine of the run"},
    ListOf<Module>{"modules", &Trace::modules, Role::kModule, false, "module",
                   "files and Python functions that stacks lead through"},
    ListOf<Frame>{"frames", &Trace::frames, Role::kFrame}, ListOf<StackNode>{"stacks", &Trace::stacks, Role::kStack},
    ListOf<Symbol>{"symbols", &Trace::symbols},
    ListOf<MetricSource>{"metric_sources", &Trace::metric_sources, Role::kMetricSource, false, "metric_source",
                         "counter tracks"},
    ListOf<MetricSample>{"metric_samples", &Trace::metric_samples, Role::kPlain, false, "metric_block",
                         "their samples"},
    ListOf<MetricLoss>{"metric_losses", &Trace::metric_losses, Role::kPlain, true, "metric_loss",
                       "intervals without samples"},
    ListOf<CounterPlan>{"counter_plans", &Trace::counter_plans, Role::kCounterPlan, false, "counter_plan",
                        "collections of kernel counters"},
    ListOf<CounterRange>{"counter_ranges", &Trace::counter_ranges, Role::kCounterRange, false, "counter_range",
                         "kernels with counters"},
    ListOf<CounterValue>{"counter_values", &Trace::counter_values, Role::kPlain, false, "counter_values",
                         "their counters"},
    ListOf<PcSample>{"pc_samples", &Trace::pc_samples, Role::kPlain, false, "pc_sample",
                     "samples of the instructions that warps were at"},
    ListOf<Instruction>{"instructions", &Trace::instructions, Role::kPlain, false, "instruction",
                        "the instructions of these samples"},
    ListOf<Clock>{"clocks", &Trace::clocks}, ListOf<Loss>{"losses", &Trace::losses},
    ListOf<Notice>{"notices", &Trace::notices});

// The time or the start of an element, 0 for what has none.
template <class T>
constexpr int64_t WhenOf(const T& item) {
  if constexpr (requires { item.time_ns; }) {
    return item.time_ns;
  } else if constexpr (requires { item.start_ns; }) {
    return item.start_ns;
  } else {
    return 0;
  }
}

// Whether a field of the struct has the role.
template <class T>
constexpr bool HasRole(Role role) {
  bool has = false;
  T item{};
  T::Fields(item, [&](const FieldOf& field, auto&) { has = has || field.role == role; });
  return has;
}

// Calls f(ListOf<T>) for each.
template <class F>
constexpr void ForEachList(F&& f) {
  std::apply([&f](const auto&... list) { (f(list), ...); }, kLists);
}

}  // namespace gprof
