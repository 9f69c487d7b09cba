#include "report/trace_amounts.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "analysis/facts/operations/operations.h"

namespace gprof {

std::vector<Amount> AmountsOf(const Trace& trace) {
  std::array<std::size_t, 5> counts{};
  for (const Operation op : OperationsOf(trace)) ++counts[static_cast<std::size_t>(op.shared().kind)];
  const auto ops = [&counts](OpKind kind) { return counts[static_cast<std::size_t>(kind)]; };
  return {{"kernels", "Kernels", ops(OpKind::kKernel)},
          {"graph_launches", "Graph launches", ops(OpKind::kGraph)},
          {"copies", "Copies", ops(OpKind::kMemcpy) + ops(OpKind::kPeerCopy)},
          {"memsets", "Memsets", ops(OpKind::kMemset)},
          {"api_calls", "CUDA calls", trace.api_calls.size()},
          {"syncs", "Synchronisations", trace.syncs.size()},
          {"memory_events", "Memory operations", trace.memory_events.size()},
          {"memory_pool_events", "Memory pool operations", trace.memory_pools.size()},
          {"managed_memory", "Managed memory", trace.managed_memory.size()},
          {"graph_nodes", "Graph nodes created", trace.graph_nodes.size()},
          {"event_records", "Events recorded", trace.event_records.size()},
          {"nvtx_ranges", "NVTX ranges", trace.ranges.size()},
          {"nvtx_marks", "NVTX marks", trace.marks.size()},
          {"nvtx_payloads", "NVTX payloads", trace.payloads.size()},
          {"captures", "Captures", trace.captures.size()},
          {"jits", "Compilations (JIT)", trace.jits.size()},
          {"overheads", "CUPTI overheads", trace.overheads.size()},
          {"os_calls", "OS calls", trace.os_calls.size()},
          {"mpi_calls", "MPI calls", trace.mpi_calls.size()},
          {"gemms", "Matrix multiplications", trace.gemms.size()},
          {"collectives", "NCCL operations", trace.collectives.size()},
          {"nccl_transfers", "NCCL network transfers", trace.nccl_transfers.size()},
          {"directives", "OpenMP and OpenACC constructs", trace.directives.size()},
          {"cpu_samples", "CPU samples", trace.cpu_samples.size()},
          {"switches", "Context switches", trace.switches.size()},
          {"stacks", "Stack frames", trace.stacks.size()},
          {"metric_sources", "Counters", trace.metric_sources.size()},
          {"metric_samples", "Counter samples", trace.metric_samples.size()},
          {"metric_losses", "Gaps in counters", trace.metric_losses.size()},
          {"counter_ranges", "Kernels with counters", trace.counter_ranges.size()},
          {"counter_values", "Kernel counters", trace.counter_values.size()},
          {"threads", "Threads", trace.threads.size()},
          {"streams", "Streams", trace.streams.size()},
          {"contexts", "Contexts", trace.contexts.size()}};
}

std::vector<Amount> AmountsOf(const Results& results) {
  std::vector<Amount> amounts = AmountsOf(Trace());
  for (Amount& amount : amounts) {
    amount.count = 0;
    for (const KeptAmount& kept : results.amounts) {
      if (kept.key == amount.key) amount.count += static_cast<std::size_t>(kept.count);
    }
  }
  return amounts;
}

std::size_t OperationsIn(const Trace& trace) { return trace.ops.size(); }

std::size_t OperationsIn(const Results& results) {
  constexpr std::string_view kOperations[] = {"kernels", "graph_launches", "copies", "memsets"};
  std::size_t operations = 0;
  for (const Amount& amount : AmountsOf(results)) {
    if (std::ranges::find(kOperations, amount.key) != std::end(kOperations)) {
      operations += amount.count;
    }
  }
  return operations;
}

}  // namespace gprof
