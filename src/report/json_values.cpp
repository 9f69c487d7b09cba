#include "report/json_values.h"

#include <variant>

#include "analysis/facts/recording/unknown_facts.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"
#include "gprof/version.h"
#include "report/trace_words.h"

namespace gprof {
namespace {

Json CapturesJson(const TraceHead& trace, std::size_t process) {
  Json captures = Json::array();
  if (process >= trace.process_captures.size()) return captures;
  const TraceHead::Slice slice = trace.process_captures[process];
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    const Capture& c = trace.captures[i];
    captures.push_back({{"number", c.number},
                        {"start_ns", c.start_ns},
                        {"end_ns", c.end_ns},
                        {"trigger", TriggerText(c.trigger)},
                        {"end_trigger", c.is_open ? Json() : Json(TriggerText(c.end_trigger))}});
  }
  return captures;
}

// -1 is "none".
Json RankJson(int32_t rank) { return rank < 0 ? Json() : Json(rank); }

Json ProcessJson(const TraceHead& trace, std::size_t index) {
  const Process& process = trace.processes[index];
  return {{"pid", process.pid},
          {"parent_pid", process.parent_pid},
          {"image", process.image},
          {"name", trace.Text(process.name)},
          {"command_line", trace.Text(process.command_line)},
          {"host", trace.Text(process.host)},
          {"start_ns", process.start_ns},
          {"end_ns", process.end_ns},
          {"ended_cleanly", process.has_end && !process.IsSalvaged()},
          {"end", process.has_end ? Json(EndReasonText(process)) : Json()},
          {"gpu_complete_until_ns", process.gpu_complete_until_ns == 0 ? Json() : Json(process.gpu_complete_until_ns)},
          {"rank", RankJson(process.rank)},
          {"local_rank", RankJson(process.local_rank)},
          {"world_size", process.world_size},
          {"rank_source", trace.Text(process.rank_source)},
          {"capture_mode", trace.Text(process.capture_mode)},
          {"captures", CapturesJson(trace, index)},
          {"forked", process.is_forked},
          {"tracer_version", trace.Text(process.tracer_version)},
          {"cupti_path", trace.Text(process.cupti_path)},
          {"cupti_version", process.cupti_version},
          {"driver_version", process.driver_version},
          {"runtime_version", process.runtime_version}};
}

Json DeviceJson(const TraceHead& trace, const Device& device) {
  const trace::DeviceRecord& properties = device.properties;
  return {
      {"ordinal", device.ordinal},
      {"name", trace.Text(device.name)},
      {"uuid", trace.Text(device.uuid)},
      {"compute_capability", std::to_string(properties.compute_major) + "." + std::to_string(properties.compute_minor)},
      {"sm_count", properties.sm_count},
      {"sm_clock_khz", properties.sm_clock_khz},
      {"memory_bytes", properties.memory_bytes},
      {"memory_bytes_per_second", properties.memory_bytes_per_second},
      {"l2_bytes", properties.l2_bytes},
      {"pcie_generation", properties.pcie_generation},
      {"pcie_lanes", properties.pcie_lanes}};
}

Json HealthJson(const TraceHead& trace) {
  const TraceHealth& h = trace.health;
  return {{"complete", h.IsComplete()},
          {"truncated", h.is_truncated},
          {"chunks", h.chunks},
          {"damaged_chunks", h.damaged_chunks},
          {"skipped_bytes", h.skipped_bytes},
          {"missing_chunks", h.missing_chunks},
          {"duplicate_chunks", h.duplicate_chunks},
          {"unknown_chunks", h.unknown_chunks},
          {"unknown_records", h.unknown_records},
          {"lost_records", h.lost_records},
          {"unfinished_processes", h.unfinished_processes},
          {"salvaged_processes", h.salvaged_processes},
          {"unfinished_gpu_work", h.unfinished_gpu_work},
          {"gpu_pauses", h.gpu_pauses},
          {"ops_from_before", h.ops_from_before},
          {"unmatched_launches", h.unmatched_launches},
          {"unmatched_ops", h.unmatched_ops},
          {"bad_times", h.bad_times},
          {"early_ops", h.early_ops},
          {"worst_early_ns", h.worst_early_ns},
          {"unmatched_nvtx_ends", h.unmatched_nvtx_ends},
          {"open_ranges", h.open_ranges},
          {"missing_strings", h.missing_strings}};
}

}  // namespace

std::string ToText(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

const char* SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      break;
  }
  return "warning";
}

Json TableJson(const Table& table, std::string_view analysis) {
  Json json = {{"id", table.id}, {"analysis", analysis}, {"title", table.title}, {"note", NoteOf(table)}};
  json["columns"] = Json::array();
  for (const Column& column : table.columns) {
    json["columns"].push_back({{"key", column.key}, {"title", column.title}, {"unit", UnitName(column.unit)}});
  }
  json["rows"] = Json::array();
  for (const auto& row : table.rows) {
    Json cells = Json::object();
    for (std::size_t i = 0; i < row.size() && i < table.columns.size(); ++i)
      cells[table.columns[i].key] = CellJson(row[i]);
    json["rows"].push_back(std::move(cells));
  }
  return json;
}

Json CellJson(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<int64_t>(&cell)) return *whole;
  if (const auto* real = std::get_if<double>(&cell)) return NumberJson(*real);
  return nullptr;
}

void AddTraceFacts(const TraceHead& trace, Json* json) {
  Json& out = *json;
  out["gprof_cli"] = kVersion;
  out["trace"] = {{"path", trace.path},
                  {"file_bytes", trace.health.file_bytes},
                  {"records", trace.record_count},
                  {"start_ns", trace.start_ns},
                  {"end_ns", trace.end_ns},
                  {"duration_ns", trace.end_ns - trace.start_ns}};
  if (const std::string reason = SnapshotReason(trace); !reason.empty()) out["trace"]["snapshot_reason"] = reason;
  if (!trace.recorder.empty()) {
    out["trace"]["recorder"] = trace.recorder;
    out["trace"]["lacks"] = Json::array();
    ForEachFact(trace.lacks, [&](Fact fact) { out["trace"]["lacks"].push_back(InfoOf(fact).name); });
  }
  out["processes"] = Json::array();
  for (std::size_t i = 0; i < trace.processes.size(); ++i) out["processes"].push_back(ProcessJson(trace, i));
  out["devices"] = Json::array();
  for (const Device& device : trace.devices) out["devices"].push_back(DeviceJson(trace, device));
  out["health"] = HealthJson(trace);
  out["losses"] = Json::array();
  for (const Loss& loss : trace.losses) {
    out["losses"].push_back(
        {{"reason", ReasonText(loss.reason)}, {"kind", loss.kind}, {"count", loss.count}, {"time_ns", loss.time_ns}});
  }
  out["notices"] = Json::array();
  for (const Notice& notice : trace.notices) {
    out["notices"].push_back(
        {{"level", LevelText(notice.level)}, {"message", trace.Text(notice.message)}, {"time_ns", notice.time_ns}});
  }
}

}  // namespace gprof
