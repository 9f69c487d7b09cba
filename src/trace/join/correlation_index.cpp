#include "trace/join/correlation_index.h"

#include <algorithm>

#include "trace/load/huge_pages.h"
#include "trace/load/list_slices.h"

namespace gprof {

CorrelationIndex::CorrelationIndex(const std::vector<CorrelationExtent>& extents, std::size_t cores)
    : tables_(extents.size()) {
  for (std::size_t p = 0; p < tables_.size(); ++p) {
    const CorrelationExtent& e = extents[p];
    const uint64_t width = e.count == 0 ? 0 : uint64_t{e.high} - e.low + 1;
    tables_[p].first = e.low;
    if (width == 0 || width > 16 * uint64_t{e.count} + 1024) continue;
    ReserveHuge(tables_[p].dense, width);
    tables_[p].dense.resize(width);
  }
  Clear(cores);
}

void CorrelationIndex::Clear(std::size_t cores) {
  for (Table& t : tables_) {
    ForEachPiece(t.dense.size(), cores, [&](Trace::Slice piece) {
      std::fill(t.dense.begin() + piece.first, t.dense.begin() + piece.last, kNone);
    });
  }
}

uint64_t CorrelationIndex::CountIds(std::size_t cores) const {
  std::atomic<uint64_t> ids{0};
  for (const Table& t : tables_) {
    ForEachPiece(t.dense.size(), cores, [&](Trace::Slice piece) {
      const auto free = std::count(t.dense.begin() + piece.first, t.dense.begin() + piece.last, kNone);
      ids += piece.last - piece.first - static_cast<uint64_t>(free);
    });
  }
  return ids;
}

// Two pieces that add the same id either see the other's call, or both find the place free: then there are fewer ids
// than were new.
void CorrelationIndex::Settle(const Trace& trace, const Added& all, std::size_t cores) {
  if (cores > 1 && (all.has_met_others || all.new_ids != CountIds(cores))) {
    Clear(cores);
    AddInOrder(trace, true);
  }
  const auto is_sparse = [&](const Process& p) {
    return tables_[static_cast<std::size_t>(&p - trace.processes.data())].dense.empty();
  };
  if (std::any_of(trace.processes.begin(), trace.processes.end(), is_sparse)) AddInOrder(trace, false);
}

// The calls of processes with a dense table, or of those without one.
void CorrelationIndex::AddInOrder(const Trace& trace, bool is_dense) {
  const PackedCalls& calls = trace.api_calls;
  for (std::size_t thread = 0; thread < trace.threads.size(); ++thread) {
    Table& t = tables_[trace.threads[thread].process];
    if (t.dense.empty() == is_dense) continue;
    const Trace::Slice slice = trace.thread_api_calls[thread];
    for (uint32_t call = slice.first; call < slice.last; ++call) {
      const uint32_t correlation = calls.Correlation(call);
      if (correlation == 0) continue;
      uint32_t& entry = is_dense ? t.dense[correlation - t.first] : t.sparse(0, correlation);
      if (entry == kNone || IsOuter(calls, call, entry)) entry = call;
    }
  }
}

}  // namespace gprof
