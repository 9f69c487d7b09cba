#include "report/report_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/facts/histogram.h"
#include "analysis/result/kept_results.h"
#include "base/text.h"
#include "base/units.h"
#include "report/trace_summary.h"

namespace gprof {
namespace {

std::string Programs(const Trace& trace, std::size_t columns) {
  if (trace.processes.empty()) return "";
  const auto traced = std::find_if_not(trace.processes.begin(), trace.processes.end(), IsSeen);
  const bool is_seen_only = traced == trace.processes.end();
  const Process& first = is_seen_only ? trace.processes.front() : *traced;
  const std::string_view command = trace.Text(first.command_line);
  std::string text(command.empty() ? trace.Text(first.name) : command);
  const std::size_t room = columns - 30;
  text = ShortenMiddle(Printable(text), std::max<std::size_t>(room, 20));
  std::set<std::pair<uint32_t, NameId>> pids;
  for (const Process& process : trace.processes) {
    if (is_seen_only || !IsSeen(process)) pids.insert({process.pid, process.host});
  }
  if (pids.size() > 1)
    text += " and " + CountOf(static_cast<int64_t>(pids.size()) - 1, "more process", "more processes");
  const std::string ranks = RanksText(trace);
  return ranks.empty() ? text : text + ", " + ranks;
}

void AddVersions(const Trace& trace, std::vector<std::string>* parts) {
  for (const Process& process : trace.processes) {
    if (process.driver_version == 0) continue;
    parts->push_back("CUDA driver " + FormatCudaVersion(process.driver_version));
    return;
  }
}

std::string Machine(const Trace& trace) {
  std::vector<std::string> parts;
  std::set<NameId> hosts;
  for (const Process& process : trace.processes) {
    if (hosts.insert(process.host).second && hosts.size() == 1) parts.emplace_back(trace.Text(process.host));
  }
  if (hosts.size() > 1) parts.front() += " and " + CountOf(static_cast<int64_t>(hosts.size()) - 1, "more host");
  std::map<std::string, unsigned> names;
  for (const Device& device : trace.devices) ++names[std::string(trace.Text(device.name))];
  for (const auto& [name, count] : names) {
    const std::string what = name.empty() ? "GPU" : name;  // of a source that does not describe them
    parts.push_back(count > 1 ? fmt::format("{} x {}", count, what) : what);
  }
  AddVersions(trace, &parts);
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

// What stands in for the records, and what that leaves out.
std::string PartialText(const Trace& trace) {
  if (trace.kept == nullptr) return "";
  const auto ranks = static_cast<int64_t>(trace.kept->traces.size());
  if (ranks == 1) return "of " + trace.kept->traces.front().path + ": results without records";
  return "of " + CountOf(ranks, "trace") + ": sums over the ranks; medians are accurate to " +
         FormatPercent(kBucketErrorPercent) +
         " or omitted, and effects of ranks on each other are not "
         "included (gprof-cli analyze has them)";
}

}  // namespace

std::vector<HeadLine> HeadOf(const Report& report, std::size_t columns) {
  const Trace& trace = report.Whole();
  std::vector<HeadLine> lines;
  const auto add = [&](const char* label, std::string text) {
    if (!text.empty()) lines.push_back({label, std::move(text)});
  };
  add("Trace", fmt::format("{}, {}, {}", trace.path, FormatBytes(trace.health.file_bytes),
                           CountOf(static_cast<int64_t>(trace.record_count), "record")));
  add("Partial", PartialText(trace));
  if (!trace.recorder.empty()) add("Recorded", "by " + trace.recorder);
  add("Program", Programs(trace, columns));
  add("Machine", Machine(trace));
  if (trace.end_ns > trace.start_ns) {
    add("Time", FormatNs(trace.end_ns - trace.start_ns) + " (first to last record)");
  }
  if (!report.programs.empty()) {
    std::string names;
    for (const ProgramVerdict& program : report.programs) names += (names.empty() ? "" : ", ") + program.name;
    add("Programs", CountOf(static_cast<int64_t>(report.programs.size()), "program") +
                        " in sequence, each judged separately: " + names);
  }
  add("Selected", report.selected);
  const std::string captures = CapturesText(trace), mode = CaptureModeText(trace);
  if (!captures.empty()) add("Recorded", captures + (mode.empty() ? "" : ": " + mode));
  return lines;
}

std::string ProgramOf(const Report& report, std::size_t columns) {
  for (const HeadLine& line : HeadOf(report, columns)) {
    if (line.label == "Program") return line.text;
  }
  return report.Whole().path;
}

}  // namespace gprof
