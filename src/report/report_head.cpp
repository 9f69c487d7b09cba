#include "report/report_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/result/histogram.h"
#include "base/text.h"
#include "base/units.h"
#include "report/trace_words.h"

namespace gprof {
namespace {

std::string Programs(const TraceHead& trace, std::size_t columns) {
  if (trace.processes.empty()) return "";
  const auto traced = std::ranges::find_if_not(trace.processes, IsSeen);
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

void AddVersions(const TraceHead& trace, std::vector<std::string>* parts) {
  for (const Process& process : trace.processes) {
    if (process.driver_version == 0) continue;
    parts->push_back("CUDA driver " + FormatCudaVersion(process.driver_version));
    return;
  }
}

std::string Machine(const TraceHead& trace) {
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
std::string PartialText(const RunFacts& run) {
  const auto ranks = static_cast<int64_t>(run.stands_for.size());
  if (ranks == 0) return "";
  if (ranks == 1) return "of " + run.stands_for.front().path + ": results without records";
  return "of " + CountOf(ranks, "trace") + ": sums over the ranks; medians are accurate to " +
         FormatPercent(kBucketErrorPercent) +
         " or omitted, and effects of ranks on each other are not "
         "included (gprof-cli ranks has them)";
}

}  // namespace

std::vector<HeadLine> HeadOf(const Report& report, std::size_t columns) {
  const TraceHead& trace = *report.Whole().head;
  std::vector<HeadLine> lines;
  const auto add = [&](const char* label, std::string text) {
    if (!text.empty()) lines.push_back({label, std::move(text)});
  };
  add("Trace", fmt::format("{}, {}, {}", trace.path, FormatBytes(trace.health.file_bytes),
                           CountOf(static_cast<int64_t>(trace.record_count), "record")));
  add("Snapshot", SnapshotReason(trace));
  add("Partial", PartialText(report.Whole()));
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
  if (!CapturesText(trace).empty()) add("Recorded", RecordedText(trace));
  add("Kernels", KernelTimeText(trace));
  return lines;
}

std::string ProgramOf(const Report& report, std::size_t columns) {
  for (const HeadLine& line : HeadOf(report, columns)) {
    if (line.label == "Program") return line.text;
  }
  return report.Whole().head->path;
}

}  // namespace gprof
