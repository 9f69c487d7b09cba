#include "report/report.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "analysis/facts/judged_time.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/steps/step_finder.h"
#include "analysis/findings/change_catalogue.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/finding_words.h"
#include "analysis/findings/ranked_findings.h"
#include "analysis/registry/run_analyses.h"
#include "analysis/result/tables.h"
#include "base/text.h"
#include "base/units.h"
#include "trace/reshape/select.h"

namespace gprof {

namespace {

// Numbers before text before nothing.
bool ComesFirst(const Cell& a, const Cell& b) {
  const auto rank = [](const Cell& cell) { return std::get_if<std::string>(&cell) ? 1 : cell.index() == 0 ? 2 : 0; };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (const auto* text = std::get_if<std::string>(&a)) return *text < std::get<std::string>(b);
  if (rank(a) == 2) return false;
  const auto* a_whole = std::get_if<int64_t>(&a);
  const auto* b_whole = std::get_if<int64_t>(&b);
  if (a_whole != nullptr && b_whole != nullptr) return *a_whole > *b_whole;
  const auto real = [](const Cell& cell, const int64_t* whole) {
    return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(cell);
  };
  return real(a, a_whole) > real(b, b_whole);
}

void AddTotals(const AnalysisResult& result, std::vector<Metric>* totals) {
  std::ranges::copy_if(result.metrics, std::back_inserter(*totals),
                       [](const Metric& metric) { return metric.scope.empty(); });
}

std::vector<RankedFinding> JudgeAgainst(const std::vector<Finding>& findings, std::vector<Metric> totals,
                                        const JudgedTime& judged) {
  // What is copied and computed before the steady time comes once, and its idle time has findings of its own. Kernels
  // of NCCL with nothing beside them compete for a time of their own.
  const auto exposed = std::ranges::find_if(totals, [](const Metric& m) { return m.id == "nccl.exposed_ns"; });
  const double exposed_ns = exposed == totals.end() ? 0 : exposed->value;
  for (Metric& metric : totals) {
    if (metric.id == "gpu.kernel_ns") {
      metric.value = std::max(0.0, static_cast<double>(judged.devices.kernel_ns) - exposed_ns);
    }
    if (metric.id == "gpu.copy_only_ns") metric.value = static_cast<double>(judged.CopyOnlyNs());
  }
  return JudgeFindings(findings, totals, {judged.devices.window_ns, judged.are_copies_once});
}

// In order, and with messages that are short whatever the names in them.
void Finish(std::vector<Finding>* findings) {
  for (Finding& finding : *findings) FitMessage(&finding);
  RankFindings(findings);
}

// ---- several programs in one trace ----

constexpr std::size_t kMostPrograms = 8;  // each of them is analysed by itself

bool IsAboutTheTrace(const Finding& finding) { return finding.id.starts_with("health."); }

// Processes that live at the same time belong to one program.
struct ProgramTime {
  Interval life;
  std::vector<uint32_t> processes;
};

// In order of time; those that take longest where there are many. Fewer than two: there is one program.
std::vector<ProgramTime> ProgramsOf(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  std::vector<ProgramTime> all;
  std::set<uint32_t> pids;
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    const Process& process = trace.processes[i];
    // Those of several machines are ranks; and a PID that names two processes cannot select one.
    if (process.world_size > 1 || !pids.insert(process.pid).second) return {};
    const Interval& window = input.shared().ops().WindowOf(i);
    if (window.start_ns >= window.end_ns) continue;
    all.push_back({{std::min(process.start_ns, window.start_ns), std::max(process.end_ns, window.end_ns)}, {i}});
  }
  std::ranges::sort(all, [](const auto& a, const auto& b) { return a.life.start_ns < b.life.start_ns; });
  std::vector<ProgramTime> programs;
  for (ProgramTime& next : all) {
    if (programs.empty() || programs.back().life.end_ns <= next.life.start_ns) {
      programs.push_back(std::move(next));
      continue;
    }
    ProgramTime& last = programs.back();
    last.life.end_ns = std::max(last.life.end_ns, next.life.end_ns);
    last.processes.push_back(next.processes.front());
  }
  if (programs.size() > kMostPrograms) {
    std::ranges::stable_sort(programs,
                             [](const auto& a, const auto& b) { return a.life.DurationNs() > b.life.DurationNs(); });
    programs.resize(kMostPrograms);
  }
  return programs;
}

std::string NameOf(const Trace& trace, const Process& process) {
  const std::string pid = std::to_string(process.pid);
  const std::string_view name = trace.Text(process.name);
  return name.empty() ? "process " + pid : std::string(name) + " (" + pid + ")";
}

ProgramVerdict JudgeProgram(const Trace& trace, const ProgramTime& program,
                            const std::vector<const Analysis*>& analyses, AnalysisOptions options) {
  Selection selection;
  for (const uint32_t process : program.processes) {
    selection.processes.push_back(std::to_string(trace.processes[process].pid));
  }
  const Trace alone = Select(trace, selection);
  const AnalysisInput input(alone);
  // A step of another program is none of this one.
  if (!options.step.empty() && !FindStep(input, options.step)) options.step.clear();
  options.is_brief = true;
  ProgramVerdict verdict;
  verdict.name = NameOf(trace, trace.processes[program.processes.front()]);
  for (const AnalysisResult& result : RunAll(input, analyses, options)) {
    AddTotals(result, &verdict.totals);
    std::ranges::copy_if(result.findings, std::back_inserter(verdict.findings),
                         [](const Finding& finding) { return !IsAboutTheTrace(finding); });
  }
  verdict.judged = JudgedBy(input, options.step);
  for (Finding& finding : verdict.findings) {
    finding.message = InMessage(verdict.name) + ": " + finding.message;
    if (finding.subject.process.empty()) finding.subject.process = verdict.name;
  }
  Finish(&verdict.findings);
  return verdict;
}

// What lies between two programs is neither one's idle time.
void JudgePrograms(const AnalysisInput& input, const std::vector<const Analysis*>& analyses,
                   const AnalysisOptions& options, Report* report) {
  const std::vector<ProgramTime> programs = ProgramsOf(input);
  if (programs.size() < 2) return;
  std::erase_if(report->findings, [](const Finding& finding) { return !IsAboutTheTrace(finding); });
  for (const ProgramTime& program : programs) {
    report->programs.push_back(JudgeProgram(input.trace(), program, analyses, options));
    const std::vector<Finding>& findings = report->programs.back().findings;
    report->findings.insert(report->findings.end(), findings.begin(), findings.end());
  }
}

// Each of them judged by itself, and then the larger savings first; what leads before what follows.
std::vector<RankedFinding> RankedByProgram(const Report& report) {
  std::vector<RankedFinding> all;
  for (const ProgramVerdict& program : report.programs) {
    const std::vector<RankedFinding> ranked = JudgeAgainst(program.findings, program.totals, program.judged);
    all.insert(all.end(), ranked.begin(), ranked.end());
  }
  const auto leads = [](const RankedFinding& r) { return r.leader == nullptr && !r.is_minor; };
  std::ranges::stable_sort(all, [&](const RankedFinding& a, const RankedFinding& b) {
    return leads(a) != leads(b) ? leads(a) : leads(a) && a.gain_ns > b.gain_ns;
  });
  for (const Finding& finding : report.findings) {
    if (IsAboutTheTrace(finding)) all.push_back({.finding = &finding, .gain_ns = finding.gain_ns});
  }
  return all;
}

// What key_averages().table(sort_by=…) of torch.profiler calls the columns of `ops`.
std::string_view ColumnOfTorch(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"cuda_time_total", "gpu_ns"},
      {"self_cuda_time_total", "gpu_self_ns"},
      {"device_time_total", "gpu_ns"},
      {"self_device_time_total", "gpu_self_ns"},
      {"cpu_time_total", "cpu_ns"},
      {"self_cpu_time_total", "cpu_self_ns"},
      {"cuda_time", "gpu_mean_ns"},
      {"cpu_time", "cpu_mean_ns"},
      {"device_time", "gpu_mean_ns"},
      {"cuda_memory_usage", "gpu_memory_bytes"},
      {"self_cuda_memory_usage", "gpu_memory_self_bytes"},
      {"device_memory_usage", "gpu_memory_bytes"},
      {"self_device_memory_usage", "gpu_memory_self_bytes"},
      {"cpu_memory_usage", "cpu_memory_bytes"},
      {"self_cpu_memory_usage", "cpu_memory_self_bytes"}};
  const auto* found = std::ranges::find_if(kNames, [&](const auto& known) { return known.first == name; });
  return found == std::end(kNames) ? name : found->second;
}

}  // namespace

// The other numbers give way to the one that the rows are sorted by.
void KeepColumn(std::size_t at, Table* table) {
  if (!table->columns[at].is_extra) return;
  constexpr std::size_t kStay = 2;
  std::size_t numbers = 0;
  for (Column& column : table->columns) {
    if (column.unit != Unit::kText && !column.is_extra) column.is_extra = numbers++ >= kStay;
  }
  table->columns[at].is_extra = false;
}

bool SortTables(const std::string& wanted, uint32_t max_rows, Report* report) {
  const std::string column(ColumnOfTorch(wanted));
  const bool is_count = wanted == "count";  // of torch, too
  bool is_found = false;
  for (Section& section : report->sections) {
    for (Table& table : section.result.tables) {
      const auto found = std::ranges::find_if(
          table.columns, [&](const Column& c) { return c.key == column || (is_count && c.key == "calls"); });
      if (found != table.columns.end()) {
        is_found = true;
        const auto at = static_cast<std::size_t>(found - table.columns.begin());
        std::ranges::stable_sort(table.rows, [at](const auto& a, const auto& b) { return ComesFirst(a[at], b[at]); });
        KeepColumn(at, &table);
      }
      CutRows(&table, max_rows);
    }
  }
  return is_found;
}

void LeaveOutShortRows(int64_t min_ns, uint32_t max_rows, Report* report) {
  constexpr std::string_view kSums[] = {"kernels", "ops", "ops_by_shape", "nvtx", "api", "memcpy", "modules"};
  for (Section& section : report->sections) {
    for (Table& table : section.result.tables) {
      const bool is_sum = std::ranges::find(kSums, table.id) != std::end(kSums);
      // A mean or a maximum is no longer than the sum.
      const auto is_long = [&](const std::vector<Cell>& row) {
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
          const auto* const ns = table.columns[i].unit == Unit::kNs ? std::get_if<int64_t>(&row[i]) : nullptr;
          if (ns != nullptr && *ns >= min_ns) return true;
        }
        return false;
      };
      if (is_sum) std::erase_if(table.rows, [&](const std::vector<Cell>& row) { return !is_long(row); });
      CutRows(&table, max_rows);
    }
  }
}

namespace {

// Each has found something, as `results` says in their order.
void AddSections(const std::vector<const Analysis*>& analyses, std::vector<AnalysisResult> results, Report* report) {
  for (std::size_t i = 0; i < analyses.size(); ++i) report->sections.push_back({analyses[i], std::move(results[i])});
  NameRanges(*report->run.head, &report->sections);
  for (const Section& section : report->sections) {
    const std::vector<Finding>& findings = section.result.findings;
    report->findings.insert(report->findings.end(), findings.begin(), findings.end());
  }
}

bool HasWholeGraphs(const Trace& trace) {
  for (const Operation op : OperationsOf(trace)) {
    if (op.shared().kind == OpKind::kGraph) return true;
  }
  return false;
}

}  // namespace

Report RunAnalyses(const Trace& trace, const std::vector<const Analysis*>& analyses, const AnalysisOptions& options) {
  const AnalysisInput input(trace);
  std::vector<AnalysisResult> results = RunAll(input, analyses, options);
  Report report{.run = FactsOf(input), .records = input};
  report.step = options.step;
  AddSections(analyses, std::move(results), &report);
  JudgePrograms(input, analyses, options, &report);
  if (report.programs.empty()) report.judged = JudgedBy(input, options.step);
  report.has_whole_graphs = HasWholeGraphs(trace);
  Finish(&report.findings);
  return report;
}

Report RunAnalyses(const Results& results, const std::vector<const Analysis*>& analyses,
                   const AnalysisOptions& options) {
  Report report{.run = FactsOf(results)};
  AddSections(analyses, ResultsOf(analyses, results, options), &report);
  report.judged = results.judged;
  Finish(&report.findings);
  return report;
}

namespace {

std::vector<RankedFinding> JudgedAsOne(const Report& report) {
  std::vector<Metric> totals;
  for (const Section& section : report.sections) AddTotals(section.result, &totals);
  return JudgeAgainst(report.findings, std::move(totals), report.judged);
}

// Time that findings compete for is time of GPUs, and where they do not name the one, of all of them.
bool IsSumOverGpus(const Finding& finding) {
  const FindingInfo* const info = FindFinding(finding.id);
  const bool is_of_gpus = info != nullptr && (!info->claims.ids[0].empty() || info->claims_its_causes);
  return is_of_gpus && finding.subject.device.empty() && finding.subject.stream.empty();
}

}  // namespace

std::vector<RankedFinding> RankedFindings(const Report& report) {
  std::vector<RankedFinding> ranked = report.programs.empty() ? JudgedAsOne(report) : RankedByProgram(report);
  const std::size_t gpus = report.run.used_devices.size();
  const TraceHead& whole = *report.Whole().head;
  for (RankedFinding& one : ranked) {
    if (IsSumOverGpus(*one.finding)) one.gpus = std::max<std::size_t>(gpus, 1);
    one.run_ns = whole.end_ns - whole.start_ns;
  }
  return ranked;
}

std::vector<RankedFinding> FindingsToShow(const Report& report) {
  std::vector<RankedFinding> ranked = RankedFindings(report);
  std::erase_if(ranked, [](const RankedFinding& r) { return IsAboutTheTrace(*r.finding); });
  return ranked;
}

std::span<const std::string> EvidenceToShow(const Report& report, const Finding& finding) {
  const std::span<const std::string> evidence = finding.evidence;
  return report.is_full || report.has_details ? evidence : evidence.first(std::min<std::size_t>(evidence.size(), 1));
}

std::string GainText(const RankedFinding& ranked) {
  const Finding& finding = *ranked.finding;
  const bool is_led = ranked.leader != nullptr;
  const int64_t gain_ns = ranked.GainNs();
  const std::optional<double> percent = ranked.PercentOfRun();
  std::string text = (finding.is_measured ? "Measured saving: " : "Potential saving: up to ") +
                     (percent ? FormatPercent(*percent) + " of the run, " : "") + FormatNs(gain_ns) +
                     (ranked.gpus > 1 ? ", summed over " + std::to_string(ranked.gpus) + " GPUs" : "") +
                     (finding.basis.empty() ? "" : " (" + finding.basis + ")") + ".";
  if (is_led) {
    text += " Overlaps with " + ranked.leader->id + "; do not add the two.";
  } else if (gain_ns < finding.gain_ns) {
    text += " Another " + FormatNs(finding.gain_ns - gain_ns) +
            " is covered by other findings or hidden behind other work.";
  }
  return text;
}

std::vector<std::string> ChangesToTry(const Report& report) {
  std::vector<std::string> changes;
  for (const RankedFinding& ranked : FindingsToShow(report)) {
    if (ranked.leader != nullptr || ranked.is_minor) continue;
    for (const std::string_view change : ChangesFor(ranked.finding->id)) {
      if (std::find(changes.begin(), changes.end(), change) == changes.end()) changes.emplace_back(change);
    }
  }
  return changes;
}

std::string MoreText(const Report& report) {
  if (report.is_full || report.has_details) return "";
  const std::string& path = report.Whole().head->path;
  const std::string more = "--full for all sections, --only NAME for one (--list for the names)";
  if (!report.traces.empty()) return "gprof-cli ranks TRACE... to compare them as ranks of one run; " + more;
  if (path.empty()) return more;
  const std::string quoted = ShellQuoted(path);
  return "gprof-cli report " + quoted + " --full, or gprof-cli view " + quoted;
}

std::optional<double> TotalOf(const Report& report, std::string_view metric) {
  for (const Section& section : report.sections) {
    if (const auto total = TotalOf(section.result, metric)) return total;
  }
  return std::nullopt;
}

bool HasHealth(const Report& report) {
  return std::ranges::any_of(report.sections,
                             [](const Section& section) { return section.analysis->name == "health"; });
}

void AddTraces(std::vector<TraceSummary> traces, const AnalysisOptions& options, Report* report) {
  // Not in the registry: it compares traces, and has nothing to say of one.
  static constexpr Analysis kTraces{"traces", "the traces of one run side by side", nullptr};
  FindStragglers(&traces);
  AnalysisResult result = CompareTraces(traces, options);
  report->findings.insert(report->findings.end(), result.findings.begin(), result.findings.end());
  Finish(&report->findings);
  report->sections.insert(report->sections.begin(), Section{&kTraces, std::move(result)});
  report->traces = std::move(traces);
}

}  // namespace gprof
