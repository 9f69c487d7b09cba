// Tables of who and where, and of what is known to be missing.
#include "export/tables/list_tables.h"
#include "export/tables/record_rows.h"

namespace gprof {
namespace {

// clang-format off
constexpr std::string_view kProcessColumns[] = {
    "pid", "parent_pid", "name", "command_line", "host", "start_ns", "end_ns", "end", "is_forked", "rank", "local_rank",
    "world_size", "cores", "capture_mode", "tracer_version", "driver_version", "runtime_version", "cupti_version"};
// clang-format on
constexpr FieldColumn kThreadColumns[] = {{"pid"}, {"tid"}, {"name"}};
// clang-format off
constexpr std::string_view kDeviceColumns[] = {
    "device", "name", "uuid", "compute_major", "compute_minor", "sm_count", "sm_clock_khz", "memory_bytes",
    "memory_bytes_per_second", "l2_bytes", "max_threads_per_sm", "max_blocks_per_sm", "max_registers_per_sm",
    "max_shared_bytes_per_sm", "warp_size", "pcie_generation", "pcie_lanes"};
// clang-format on
constexpr FieldColumn kContextColumns[] = {{"pid"}, {"context", "id"}, {"device"}, {"null_stream"}};
constexpr FieldColumn kStreamColumns[] = {{"pid"},        {"context"},        {"stream", "id"}, {"device"},
                                          {"name"},       {"priority"},       {"created_ns"},   {"is_default"},
                                          {"is_created"}, {"is_non_blocking"}};
constexpr FieldColumn kCaptureColumns[] = {{"pid"}, {"number"}, {"start_ns"}, {"end_ns", "end_ns"}, {"is_open"}};
constexpr std::string_view kClockColumns[] = {"pid", "monotonic_ns", "realtime_ns",
                                              "tsc", "cupti_ns",     "uncertainty_ns"};

constexpr std::string_view kEndReasons[] = {"not known", "exit", "exec", "stopped", "died"};
constexpr std::string_view kLossReasons[] = {"not known",      "no memory",      "write failed", "dropped by CUPTI",
                                             "no time stamps", "unknown record", "fork",         "signal handler",
                                             "no access"};
constexpr FieldColumn kLossColumns[] = {
    {"time_ns"}, {"pid"}, {"reason", {}, kLossReasons}, {"lost_kind", "kind"}, {"count"}};
constexpr std::string_view kLevels[] = {"not known", "information", "warning", "error", "reason"};
constexpr FieldColumn kNoticeColumns[] = {{"time_ns"}, {"pid"}, {"level", {}, kLevels}, {"message"}};

// -1 is "none".
void AddRank(int32_t rank, RowWriter& row) {
  if (rank < 0) return row.Nothing();
  row.Integer(rank);
}

void WriteProcesses(RecordContext& context, RowWriter& row) {
  for (const Process& p : context.trace().processes) {
    row.Unsigned(p.pid);
    row.Unsigned(p.parent_pid);
    row.Text(context.Clean(p.name));
    row.Text(context.Clean(p.command_line));
    row.Text(context.Clean(p.host));
    row.Integer(p.start_ns);
    row.Integer(p.end_ns);
    AddWord(kEndReasons, p.has_end ? static_cast<std::size_t>(p.end_reason) : 0, row);
    row.Truth(p.is_forked);
    AddRank(p.rank, row);
    AddRank(p.local_rank, row);
    AddUnlessZero(p.world_size, row);
    AddUnlessZero(p.cores, row);
    row.Text(context.Clean(p.capture_mode));
    row.Text(context.Clean(p.tracer_version));
    AddUnlessZero(p.driver_version, row);
    AddUnlessZero(p.runtime_version, row);
    AddUnlessZero(p.cupti_version, row);
    row.EndRow();
  }
}

void WriteDevices(RecordContext& context, RowWriter& row) {
  for (const Device& device : context.trace().devices) {
    const trace::DeviceRecord& f = device.properties;
    row.Unsigned(device.ordinal);
    row.Text(context.Clean(device.name));
    row.Text(context.Clean(device.uuid));
    row.Unsigned(f.compute_major);
    row.Unsigned(f.compute_minor);
    for (const uint64_t value :
         {uint64_t{f.sm_count}, uint64_t{f.sm_clock_khz}, f.memory_bytes, f.memory_bytes_per_second, f.l2_bytes,
          uint64_t{f.max_threads_per_sm}, uint64_t{f.max_blocks_per_sm}, uint64_t{f.max_registers_per_sm},
          uint64_t{f.max_shared_bytes_per_sm}, uint64_t{f.warp_size}, uint64_t{f.pcie_generation},
          uint64_t{f.pcie_lanes}}) {
      AddUnlessZero(value, row);
    }
    row.EndRow();
  }
}

void WriteClocks(RecordContext& context, RowWriter& row) {
  for (const Clock& c : context.trace().clocks) {
    AddPid(context.trace(), c.process, row);
    row.Unsigned(c.anchor.monotonic_ns);
    row.Unsigned(c.anchor.realtime_ns);
    AddUnlessZero(c.anchor.tsc, row);
    AddUnlessZero(c.anchor.cupti_ns, row);
    row.Unsigned(c.anchor.uncertainty_ns);
    row.EndRow();
  }
}

}  // namespace

const RecordTable kProcessTable{"process", "traced processes", kProcessColumns, WriteProcesses};
const RecordTable kThreadTable = TableOfList<&Trace::threads, kThreadColumns>("thread", "their threads");
const RecordTable kDeviceTable{"device", "GPUs", kDeviceColumns, WriteDevices};
const RecordTable kContextTable = TableOfList<&Trace::contexts, kContextColumns>("context", "CUDA contexts");
const RecordTable kStreamTable = TableOfList<&Trace::streams, kStreamColumns>("stream", "streams");
const RecordTable kCaptureTable =
    TableOfList<&Trace::captures, kCaptureColumns>("capture", "intervals in which a process was recorded");
const RecordTable kClockTable{"clock", "clock readings, to convert times", kClockColumns, WriteClocks};
const RecordTable kLossTable = TableOfList<&Trace::losses, kLossColumns>("loss", "lost records");
const RecordTable kNoticeTable = TableOfList<&Trace::notices, kNoticeColumns>("notice", "tracer messages");

}  // namespace gprof
