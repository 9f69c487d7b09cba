#include "analysis/host/mpi_gpu_work.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_set>

#include "analysis/facts/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/host/thread_waits.h"
#include "analysis/result/tables.h"
#include "base/saturate.h"

namespace gprof {
namespace {

struct GpuWork {
  SaturatingSum gpu_ns, bytes;
  int64_t copies = 0, kernels = 0;
  std::unordered_set<uint32_t> calls;
};

// The MPI call that a thread was in, kNone for none.
uint32_t MpiCallAt(const ThreadWaits& waits, uint32_t thread, int64_t time_ns) {
  const std::span<const ThreadWait> found = waits.Within(thread, time_ns, time_ns + 1);
  return !found.empty() && found.front().is_mpi ? found.front().call : kNone;
}

std::map<NameId, GpuWork> ByFunction(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  const ThreadWaits& waits = input.shared().host().waits;
  std::map<NameId, GpuWork> functions;
  for (const Operation op : OperationsOf(trace)) {
    if (op.call() == kNone) continue;
    const Call call(trace.api_calls, op.call());
    const uint32_t mpi_call = MpiCallAt(waits, call.thread(), call.start_ns());
    if (mpi_call == kNone) continue;
    GpuWork& work = functions[trace.mpi_calls[mpi_call].function];
    work.gpu_ns += op.duration_ns();
    work.calls.insert(mpi_call);
    if (op.is_kernel()) {
      ++work.kernels;
    } else {
      ++work.copies;
      work.bytes += static_cast<int64_t>(std::min<uint64_t>(op.shared().size_bytes, INT64_MAX));
    }
  }
  return functions;
}

}  // namespace

Table MpiGpuWorkTable(const AnalysisInput& input, uint32_t max_rows) {
  Table table{"mpi_gpu_work",
              "GPU work of MPI calls",
              {{"gpu_ns", "GPU time", Unit::kNs, false},
               {"copies", "Copies", Unit::kCount, false},
               {"bytes", "Copied", Unit::kBytes, false},
               {"kernels", "Kernels", Unit::kCount, false},
               {"calls", "Calls", Unit::kCount, false},
               {"function", "Function", Unit::kText, false}},
              {},
              "Copies, fills and kernels that the MPI library started within its calls, to move or combine data in GPU "
              "memory. Calls: MPI calls with such work."};
  for (const auto& [function, work] : ByFunction(input)) {
    table.rows.push_back({int64_t{work.gpu_ns}, work.copies, int64_t{work.bytes}, work.kernels,
                          static_cast<int64_t>(work.calls.size()), std::string(input.trace().Text(function))});
  }
  SortAndCut(&table, 0, 5, max_rows);
  return table;
}

}  // namespace gprof
