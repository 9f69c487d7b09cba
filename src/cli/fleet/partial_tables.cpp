#include "cli/fleet/partial_tables.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "export/tables/flat_tables.h"
#include "fleet/partial/partial_file.h"
#include "gprof/error.h"
#include "trace/file/mapped_file.h"

namespace gprof::cli {
namespace {

using Ranks = std::vector<RankSummary>;

void Known(int64_t value, RowWriter& row) { value < 0 ? row.Nothing() : row.Integer(value); }

// Rows begin with the rank and the name of its trace.
void Begin(const RankSummary& rank, RowWriter& row) {
  Known(rank.rank, row);
  row.Text(rank.source);
}

FlatTable RankTable(const Ranks& ranks) {
  return {
      "ranks",
      {"rank",        "trace",        "local_rank",     "world_size", "host",      "program",       "pid",
       "is_complete", "records",      "lost_records",   "wall_ns",    "window_ns", "busy_ns",       "kernel_ns",
       "nccl_ns",     "exposed_ns",   "idle_ns",        "mpi_ns",     "api_ns",    "kernels",       "api_calls",
       "clock_mhz",   "throttled_ns", "ecc_errors",     "gpu",        "gpu_uuid",  "day_offset_ns", "allocated_bytes",
       "used_bytes",  "tensor_bytes", "reserved_bytes", "gpu_bytes"},
      [&ranks](RowWriter& row) {
        for (const RankSummary& r : ranks) {
          Begin(r, row);
          Known(r.local_rank, row);
          r.world_size == 0 ? row.Nothing() : row.Integer(r.world_size);
          row.Text(r.host), row.Text(r.program), row.Integer(r.pid), row.Truth(r.is_complete);
          for (const int64_t value :
               {r.records, r.lost_records, r.wall_ns, r.window_ns, r.busy_ns, r.kernel_ns, r.nccl_ns, r.exposed_ns,
                r.IdleNs(), r.mpi_ns, r.api_ns, r.kernels, r.api_calls}) {
            row.Integer(value);
          }
          r.clock_mhz == 0 ? row.Nothing() : row.Integer(r.clock_mhz);
          Known(r.throttled_ns, row);
          Known(r.ecc_errors, row);
          row.Text(r.gpus.empty() ? "" : r.gpus.front());
          row.Text(r.gpu_uuids.empty() ? "" : r.gpu_uuids.front());
          r.has_day ? row.Integer(r.day_offset_ns) : row.Nothing();
          for (const int64_t bytes : {r.memory.allocated_bytes, r.memory.used_bytes, r.memory.tensor_bytes,
                                      r.memory.reserved_bytes, r.memory.gpu_bytes > 0 ? r.memory.gpu_bytes : -1}) {
            Known(bytes, row);
          }
          row.EndRow();
        }
      }};
}

FlatTable KernelTable(const Ranks& ranks) {
  return {"kernels", {"rank", "trace", "name", "count", "total_ns", "min_ns", "max_ns"}, [&ranks](RowWriter& row) {
            for (const RankSummary& r : ranks) {
              for (const RankKernel& kernel : r.kernel_times) {
                Begin(r, row);
                row.Text(kernel.name.empty() ? "(others)" : kernel.name);
                for (const int64_t value : {kernel.count, kernel.total_ns, kernel.min_ns, kernel.max_ns}) {
                  row.Integer(value);
                }
                row.EndRow();
              }
            }
          }};
}

FlatTable CopyTable(const Ranks& ranks) {
  return {
      "copies", {"rank", "trace", "direction", "memory", "count", "size_bytes", "total_ns"}, [&ranks](RowWriter& row) {
        for (const RankSummary& r : ranks) {
          for (const RankCopies& copy : r.copies) {
            Begin(r, row);
            row.Text(copy.direction), row.Text(copy.memory);
            row.Integer(copy.count), row.Integer(copy.bytes), row.Integer(copy.total_ns);
            row.EndRow();
          }
        }
      }};
}

FlatTable CallTable(const Ranks& ranks) {
  return {"calls", {"rank", "trace", "library", "function", "count", "total_ns"}, [&ranks](RowWriter& row) {
            const auto add = [&](const RankSummary& r, const char* library, const std::vector<RankCalls>& calls) {
              for (const RankCalls& call : calls) {
                Begin(r, row);
                row.Text(library), row.Text(call.name), row.Integer(call.count), row.Integer(call.total_ns);
                row.EndRow();
              }
            };
            for (const RankSummary& r : ranks) {
              add(r, "CUDA", r.api);
              add(r, "MPI", r.mpi);
            }
          }};
}

FlatTable RangeTable(const Ranks& ranks) {
  return {"ranges", {"rank", "trace", "path", "count", "total_ns", "gpu_busy_ns", "kernels"}, [&ranks](RowWriter& row) {
            for (const RankSummary& r : ranks) {
              for (const RankRange& range : r.ranges) {
                Begin(r, row);
                row.Text(range.path), row.Integer(range.count), row.Integer(range.total_ns);
                row.Integer(range.gpu_busy_ns), row.Integer(range.kernels);
                row.EndRow();
              }
            }
          }};
}

// All idle time of a cause has no place; the others are where the host was meanwhile.
FlatTable IdleTable(const Ranks& ranks) {
  return {"idle", {"rank", "trace", "cause", "kind", "place", "idle_ns"}, [&ranks](RowWriter& row) {
            const auto add = [&](const RankSummary& r, std::string_view cause, std::string_view kind,
                                 std::string_view place, int64_t ns) {
              Begin(r, row);
              row.Text(cause), row.Text(kind), row.Text(place), row.Integer(ns);
              row.EndRow();
            };
            for (const RankSummary& r : ranks) {
              ForEachCause([&](Cause cause) {
                const int64_t ns = r.idle_ns[static_cast<size_t>(cause)];
                if (ns > 0) add(r, InfoOf(cause).name, "all", "", ns);
              });
              for (const IdlePlace& place : r.places) add(r, place.cause, place.kind, place.name, place.idle_ns);
            }
          }};
}

FlatTable StepTable(const Ranks& ranks) {
  return {"steps",
          {"rank", "trace", "path", "first_step", "steps", "wall_ns", "kernel_ns", "copy_ns", "exposed_ns", "idle_ns"},
          [&ranks](RowWriter& row) {
            for (const RankSummary& r : ranks) {
              const StepColumns& s = r.steps;
              for (size_t i = 0; i < s.wall_ns.size(); ++i) {
                const int64_t first = static_cast<int64_t>(i) * s.steps_in_one;
                int64_t idle_ns = 0;
                for (const auto& of_cause : s.idle_ns) idle_ns += of_cause[i];
                Begin(r, row);
                row.Text(s.path);
                for (const int64_t value : {first, std::min(s.steps_in_one, s.count - first), s.wall_ns[i],
                                            s.kernel_ns[i], s.copy_ns[i], s.exposed_ns[i], idle_ns}) {
                  row.Integer(value);
                }
                row.EndRow();
              }
            }
          }};
}

FlatTable CollectiveTable(const Ranks& ranks) {
  return {"collectives",
          {"rank", "trace", "communicator_name", "number", "arrival_ns", "duration_ns"},
          [&ranks](RowWriter& row) {
            for (const RankSummary& r : ranks) {
              for (const Communicator& c : r.communicators) {
                for (size_t i = 0; i < c.numbers.size(); ++i) {
                  Begin(r, row);
                  row.Text(c.name);
                  row.Integer(c.numbers[i]), row.Integer(c.arrival_ns.ns[i]), row.Integer(c.duration_ns[i]);
                  row.EndRow();
                }
              }
            }
          }};
}

}  // namespace

std::vector<RankSummary> RanksOf(const std::string& path) {
  const MappedFile file(path);
  std::vector<RankSummary> ranks = ReadPartial(file.bytes(), path);
  std::erase_if(ranks, [](const RankSummary& rank) { return !rank.unreadable.empty(); });
  return ranks;
}

void WritePartialTables(const std::vector<RankSummary>& ranks, std::string_view format, const std::string& folder) {
  const std::vector<FlatTable> tables = {RankTable(ranks), KernelTable(ranks),    CopyTable(ranks),
                                         CallTable(ranks), RangeTable(ranks),     IdleTable(ranks),
                                         StepTable(ranks), CollectiveTable(ranks)};
  if (WriteFlatTables(format, tables, folder)) return;
  throw Error(ExitCode::kUsage, "--format " + std::string(format) + " needs the records of a trace",
              "csv, jsonl and parquet have tables of a partial");
}

}  // namespace gprof::cli
