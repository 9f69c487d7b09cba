#include "analysis/topics/host/mpi_arrivals.h"

#include <algorithm>
#include <map>

namespace gprof {
namespace {

// Calls of one process, in order.
using Calls = std::vector<const MpiCall*>;

std::map<uint32_t, Calls> CollectivesOfWorld(const Trace& trace) {
  std::map<uint32_t, Calls> by_process;
  for (const MpiCall& call : trace.mpi_calls) {
    if (call.process == kNone || call.communicator != kMpiWorld || call.is_unfinished) continue;
    if (call.error == 0 && WaitsForAll(trace.Text(call.function))) by_process[call.process].push_back(&call);
  }
  return by_process;
}

bool IsWholeWorld(const Trace& trace, const std::map<uint32_t, Calls>& by_process) {
  if (by_process.size() < 2) return false;
  const Process& first = trace.processes[by_process.begin()->first];
  return std::ranges::all_of(by_process, [&](const auto& of_process) {
    return of_process.second.front()->communicator_size == by_process.size() &&
           trace.processes[of_process.first].host == first.host;
  });
}

// The n-th call of each rank is the same collective, as MPI has it. From where the functions differ on, something is
// missing.
bool IsSameOfAll(const std::vector<const Calls*>& ranks, size_t n) {
  return std::ranges::all_of(ranks, [&](const Calls* calls) {
    return n < calls->size() && (*calls)[n]->function == (*ranks.front())[n]->function;
  });
}

void AddCollective(const std::vector<const Calls*>& ranks, size_t n, MpiLateness* all) {
  const auto start = [&](size_t rank) { return (*ranks[rank])[n]->start_ns; };
  size_t last = 0;
  for (size_t i = 1; i < ranks.size(); ++i) {
    if (start(i) > start(last)) last = i;
  }
  ++all->ranks[last].last;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const MpiCall& call = *(*ranks[i])[n];
    const int64_t waited_ns = std::min(start(last), call.end_ns) - call.start_ns;
    all->ranks[i].waited_ns += waited_ns;
    all->ranks[last].held_up_ns += waited_ns;
    all->time.start_ns = std::min(all->time.start_ns, call.start_ns);
    all->time.end_ns = std::max(all->time.end_ns, call.end_ns);
  }
  ++all->collectives;
}

}  // namespace

std::string_view WithoutLargeCount(std::string_view function) {
  if (function.ends_with("_c")) function.remove_suffix(2);
  return function;
}

bool WaitsForAll(std::string_view function) {
  constexpr std::string_view kFunctions[] = {"MPI_Barrier",    "MPI_Allreduce",      "MPI_Allgather",
                                             "MPI_Allgatherv", "MPI_Alltoall",       "MPI_Alltoallv",
                                             "MPI_Alltoallw",  "MPI_Reduce_scatter", "MPI_Reduce_scatter_block"};
  return std::ranges::find(kFunctions, WithoutLargeCount(function)) != std::end(kFunctions);
}

MpiLateness MpiLatenessOf(const Trace& trace) {
  MpiLateness all;
  const std::map<uint32_t, Calls> by_process = CollectivesOfWorld(trace);
  if (!IsWholeWorld(trace, by_process)) return all;
  std::vector<uint32_t> processes;
  for (const auto& [process, calls] : by_process) processes.push_back(process);
  std::ranges::stable_sort(processes,
                           [&](uint32_t a, uint32_t b) { return trace.processes[a].rank < trace.processes[b].rank; });
  std::vector<const Calls*> ranks;
  for (const uint32_t process : processes) {
    ranks.push_back(&by_process.at(process));
    all.ranks.push_back({.process = process});
  }
  all.time = {INT64_MAX, INT64_MIN};
  for (size_t n = 0; IsSameOfAll(ranks, n); ++n) AddCollective(ranks, n, &all);
  if (all.collectives == 0) return {};
  return all;
}

}  // namespace gprof
