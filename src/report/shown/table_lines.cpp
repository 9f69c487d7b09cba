#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "base/units.h"
#include "report/shown/shown_tables.h"

namespace gprof {
namespace {

// Above this share of the work of all streams one of them did it all, whatever the others did.
constexpr double kNearlyAllPercent = 99;

class Streams {
 public:
  explicit Streams(const AnalysisResult& result) : result_(result) {}

  std::vector<std::string> Lines() const {
    const Table* const streams = FindTable(result_, "streams");
    const int64_t used = MetricOf("streams.used");
    if (streams == nullptr || streams->rows.empty() || used <= 0) return {};
    const int64_t kernels = Sum(*streams, "kernels"), copies = Sum(*streams, "copies");
    if (used == 1) return {Made(used) + ": " + (kernels == 0 || copies == 0 ? "nothing to overlap" : InOne(*streams))};
    const std::map<int64_t, int64_t> levels = Levels();
    std::vector<std::string> lines = {Made(used) + ": " + AtOnce(levels)};
    int64_t work_ns = 0;  // of all streams, also of those that have no row
    for (const auto& [level, ns] : levels) work_ns += level * ns;
    const double percent = PercentOf(Number(*streams, 0, "busy_ns"), work_ns);
    if (percent >= kNearlyAllPercent) lines.front() += "; " + MainOne(*streams, percent);
    const bool did_overlap = !levels.empty() && levels.rbegin()->first >= 2;
    if (const std::string overlap = Overlap(); did_overlap && !overlap.empty()) lines.push_back(overlap);
    return lines;
  }

 private:
  // -1: not known.
  int64_t MetricOf(std::string_view id) const { return static_cast<int64_t>(TotalOf(result_, id).value_or(-1)); }

  static int64_t Number(const Table& table, size_t row, std::string_view key) {
    return ValueAt<int64_t>(table, table.rows[row], key);
  }
  // Of the rows that there are.
  static int64_t Sum(const Table& table, std::string_view key) {
    int64_t sum = 0;
    for (size_t row = 0; row < table.rows.size(); ++row) sum += Number(table, row, key);
    return sum;
  }

  // Default streams are used without being made.
  std::string Made(int64_t used) const {
    const int64_t made = MetricOf("streams.created");
    const std::string text = made > 0 ? FormatCount(made) + " made, " + FormatCount(used) + " used" : "";
    return text.empty() ? CountOf(used, "stream") : text;
  }

  static std::string InOne(const Table& streams) {
    return CountOf(Sum(streams, "kernels"), "kernel") + " and " + CountOf(Sum(streams, "copies"), "copy", "copies") +
           " ran in it one after the other";
  }

  static std::string MainOne(const Table& streams, double percent) {
    return ValueAt<std::string>(streams, streams.rows[0], "name") + " did " + FormatPercent(percent) +
           " of the work (" + CountOf(Number(streams, 0, "kernels"), "kernel") + ", " +
           CountOf(Number(streams, 0, "copies"), "copy", "copies") + ")";
  }

  // Time by the number of streams at work, over all GPUs.
  std::map<int64_t, int64_t> Levels() const {
    const Table* const table = FindTable(result_, "concurrency");
    std::map<int64_t, int64_t> levels;
    for (size_t row = 0; table != nullptr && row < table->rows.size(); ++row) {
      if (const int64_t level = Number(*table, row, "streams"); level > 0)
        levels[level] += Number(*table, row, "time_ns");
    }
    return levels;
  }

  static std::string AtOnce(const std::map<int64_t, int64_t>& levels) {
    if (levels.empty() || levels.rbegin()->first < 2) return "never two at once";
    constexpr int64_t kLevelsShown = 4;
    std::string text;
    int64_t busy_ns = 0, rest_ns = 0;
    for (const auto& [level, ns] : levels) busy_ns += ns;
    for (const auto& [level, ns] : levels) {
      const std::string share = FormatCount(level) + " for " + FormatPercent(PercentOf(ns, busy_ns));
      if (level > kLevelsShown) {
        rest_ns += ns;
      } else {
        text += text.empty() ? "at once " + share + " of busy time" : ", " + share;
      }
    }
    if (rest_ns > 0) text += ", more for " + FormatPercent(PercentOf(rest_ns, busy_ns));
    return text;
  }

  std::string Overlap() const {
    const Table* const overlap = FindTable(result_, "overlap");
    if (overlap == nullptr) return "";
    std::map<std::string, std::pair<int64_t, int64_t>> kinds;  // time and base, over all GPUs
    for (size_t row = 0; row < overlap->rows.size(); ++row) {
      auto& [time_ns, base_ns] = kinds[ValueAt<std::string>(*overlap, overlap->rows[row], "kind")];
      time_ns += Number(*overlap, row, "time_ns");
      base_ns += Number(*overlap, row, "base_ns");
    }
    const auto share = [&](const char* kind) {
      return FormatPercent(PercentOf(kinds[kind].first, kinds[kind].second));
    };
    std::string text;
    if (kinds.contains("copies with kernels"))
      text = "Copies beside kernels: " + share("copies with kernels") + " of copy time";
    if (!kinds.contains("kernels of several streams")) return text;
    return text + (text.empty() ? "Kernels" : "; kernels") +
           " of several streams: " + share("kernels of several streams") + " of kernel time";
  }

  const AnalysisResult& result_;
};

}  // namespace

std::vector<std::string> StreamLines(const Report& report) {
  for (const Section& section : report.sections) {
    if (section.analysis->name == "streams") return Streams(section.result).Lines();
  }
  return {};
}

std::vector<std::string> OperatorLines(const Report& report) {
  const auto calls = TotalOf(report, "ops.calls"), cpu_ns = TotalOf(report, "ops.cpu_self_ns"),
             gpu_ns = TotalOf(report, "ops.gpu_self_ns");
  if (!calls || !cpu_ns) return {};
  std::string text = CountOf(static_cast<int64_t>(*calls), "operator call") + ": CPU self " + FormatNs(*cpu_ns);
  if (gpu_ns) text += ", GPU self " + FormatNs(*gpu_ns);
  if (gpu_ns && *cpu_ns > 0) text += " (" + FormatPercent(100 * *gpu_ns / *cpu_ns) + " of CPU)";
  return {text};
}

std::vector<std::string> KernelLines(const Report& report) {
  struct Known {
    std::string_view id, name;
  };
  constexpr Known kKnown[] = {{"gpu.sm_active_percent", "SMs active"},
                              {"gpu.tensor_active_percent", "tensor cores"},
                              {"gpu.dram_percent", "DRAM bandwidth"}};
  std::string text;
  for (const Known& known : kKnown) {
    const auto percent = TotalOf(report, known.id);
    if (!percent) continue;
    text += (text.empty() ? "Samples over the GPU window: " : ", ") + std::string(known.name) + " " +
            (*percent == 0 ? "not used" : FormatPercent(*percent));
  }
  return text.empty() ? std::vector<std::string>() : std::vector<std::string>{text};
}

}  // namespace gprof
