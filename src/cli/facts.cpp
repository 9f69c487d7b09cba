#include "cli/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kLabelColumns = 11;

class Defects {
 public:
  // `singular` and `plural` follow the count.
  void Add(const char* key, uint64_t count, const char* singular, const char* plural, bool makes_incomplete) {
    if (count == 0) return;
    list_.push_back({key, count, CountOf(static_cast<int64_t>(count), singular, plural), makes_incomplete});
  }
  void Add(const char* key, bool is_so, const char* text) {
    if (is_so) list_.push_back({key, 1, text, true});
  }
  std::vector<Defect> Take() { return std::move(list_); }

 private:
  std::vector<Defect> list_;
};

}  // namespace

std::vector<Defect> DefectsOf(const Trace& trace) {
  const TraceHealth& h = trace.health;
  Defects d;
  d.Add("truncated", h.is_truncated, "the file ends within a chunk");
  d.Add("damaged_chunks", h.damaged_chunks, "chunk is damaged", "chunks are damaged", true);
  d.Add("skipped_bytes", h.skipped_bytes, "byte belongs to no chunk", "bytes belong to no chunk", true);
  d.Add("missing_chunks", h.missing_chunks, "chunk is missing", "chunks are missing", true);
  d.Add("unknown_chunks", h.unknown_chunks, "chunk is of a kind that this version does not know",
        "chunks are of a kind that this version does not know", true);
  d.Add("lost_records", h.lost_records, "record was lost while recording", "records were lost while recording", true);
  d.Add("bad_times", h.bad_times, "GPU operation has no usable times and is left out",
        "GPU operations have no usable times and are left out", true);
  d.Add("unfinished_processes", h.unfinished_processes,
        "process did not end cleanly: its last moments may be missing",
        "processes did not end cleanly: their last moments may be missing", true);
  d.Add("unmatched_launches", h.unmatched_launches, "launching call has no GPU operation in the trace",
        "launching calls have no GPU operation in the trace", false);
  d.Add("unmatched_ops", h.unmatched_ops, "GPU operation has no launching call in the trace",
        "GPU operations have no launching call in the trace", false);
  d.Add("early_ops", h.early_ops, "GPU operation seems to start before its call",
        "GPU operations seem to start before their call", false);
  d.Add("unmatched_nvtx_ends", h.unmatched_nvtx_ends, "NVTX range ends without a start",
        "NVTX ranges end without a start", false);
  d.Add("open_ranges", h.open_ranges, "NVTX range never ends", "NVTX ranges never end", false);
  d.Add("missing_strings", h.missing_strings, "name is missing", "names are missing", false);
  d.Add("duplicate_chunks", h.duplicate_chunks, "chunk is there twice", "chunks are there twice", false);
  return d.Take();
}

std::string ReasonText(trace::LossReason reason) {
  switch (reason) {
    case trace::LossReason::kNoMemory: return "no memory";
    case trace::LossReason::kWriteFailed: return "write failed";
    case trace::LossReason::kCuptiDropped: return "dropped by CUPTI";
    case trace::LossReason::kNoTime: return "no time stamps";
    case trace::LossReason::kUnknownRecord: return "unknown record";
    case trace::LossReason::kFork: return "fork";
  }
  return "reason " + std::to_string(static_cast<unsigned>(reason));
}

std::string LevelText(trace::NoticeLevel level) {
  switch (level) {
    case trace::NoticeLevel::kInfo: return "info";
    case trace::NoticeLevel::kWarning: return "warning";
    case trace::NoticeLevel::kError: return "error";
  }
  return "level " + std::to_string(static_cast<unsigned>(level));
}

std::string CudaVersion(uint32_t version) {
  return version == 0 ? "" : fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::vector<std::string> WhyNoGpuWork(const Trace& trace) {
  if (!trace.ops.empty()) return {};
  std::vector<std::string> reasons;
  for (const Notice& notice : trace.notices) {
    if (notice.level != trace::NoticeLevel::kInfo) reasons.emplace_back(trace.Text(notice.message));
  }
  if (!reasons.empty()) return reasons;
  if (trace.processes.empty()) return {"No process recorded anything: the program made no CUDA or NVTX call."};
  if (trace.api_calls.empty()) return {"The program made no CUDA call that could be recorded."};
  return {"The program made " + CountOf(static_cast<int64_t>(trace.api_calls.size()), "CUDA call") +
          ", and none of them started work on a GPU."};
}

std::string FormatCell(const Cell& cell, Unit unit) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  const auto* whole = std::get_if<int64_t>(&cell);
  const auto* real = std::get_if<double>(&cell);
  if (whole == nullptr && real == nullptr) return "-";
  const double value = whole != nullptr ? static_cast<double>(*whole) : *real;
  switch (unit) {
    case Unit::kNs: return FormatNs(value);
    case Unit::kBytes: return FormatBytes(value);
    case Unit::kPercent: return FormatPercent(value);
    case Unit::kBytesPerSecond: return FormatBytesPerSecond(value);
    case Unit::kPerSecond: return FormatPerSecond(value);
    case Unit::kText:
    case Unit::kCount: break;
  }
  return whole != nullptr ? FormatCount(*whole) : FormatNumber(value);
}

std::string LabeledLine(const std::string& label, const std::string& text, const Terminal& terminal) {
  std::string out = Style(terminal.has_color).Bold(label);
  std::size_t used = DisplayWidth(label);
  for (const std::string& line : Wrap(Printable(text), terminal.columns - kLabelColumns)) {
    out += std::string(kLabelColumns - std::min(used, kLabelColumns), ' ') + line + "\n";
    used = 0;
  }
  return out;
}

}  // namespace gprof::cli
