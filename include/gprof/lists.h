// The lists of Trace, for what goes over all of them: their names in the Python module, the structs they are of, what
// their elements are to others.
#pragma once

#include <cstdint>
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
    ListOf<Module>{"modules", &Trace::modules, Role::kModule}, ListOf<Frame>{"frames", &Trace::frames, Role::kFrame},
    ListOf<StackNode>{"stacks", &Trace::stacks, Role::kStack}, ListOf<Symbol>{"symbols", &Trace::symbols},
    ListOf<CpuSample>{"cpu_samples", &Trace::cpu_samples, Role::kPlain, true},
    ListOf<ThreadSwitch>{"switches", &Trace::switches, Role::kPlain, true},
    ListOf<OsCall>{"os_calls", &Trace::os_calls, Role::kPlain, true},
    ListOf<MetricSource>{"metric_sources", &Trace::metric_sources, Role::kMetricSource},
    ListOf<MetricSample>{"metric_samples", &Trace::metric_samples},
    ListOf<MetricLoss>{"metric_losses", &Trace::metric_losses, Role::kPlain, true},
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

// Calls f(ListOf<T>) for each.
template <class F>
constexpr void ForEachList(F&& f) {
  std::apply([&f](const auto&... list) { (f(list), ...); }, kLists);
}

}  // namespace gprof
