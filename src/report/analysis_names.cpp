#include "report/analysis_names.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "analysis/facts/recording/unknown_facts.h"
#include "base/text.h"
#include "report/nsys/nsys_reports.h"

namespace gprof {
namespace {

struct OtherWord {
  std::string_view name;
  std::array<std::string_view, 3> analyses;
};

// Words of other profilers and of the headings, and the analyses that are meant.
constexpr OtherWord kOtherWords[] = {{"copies", {"memcpy"}},
                                     {"copy", {"memcpy"}},
                                     {"memops", {"memcpy"}},
                                     {"memsets", {"memcpy"}},
                                     {"transfers", {"memcpy"}},
                                     {"os", {"os_calls"}},
                                     {"osrt", {"os_calls"}},
                                     {"osrt_sum", {"os_calls"}},
                                     {"io", {"os_calls"}},
                                     {"locks", {"os_calls"}},
                                     {"python", {"python_lines", "modules", "ops"}},
                                     {"pytorch", {"modules", "ops"}},
                                     {"torch", {"modules", "ops"}},
                                     {"operators", {"ops"}},
                                     {"cuda", {"api"}},
                                     {"calls", {"api"}},
                                     {"gpu", {"devices"}},
                                     {"gpus", {"devices"}},
                                     {"kernel", {"kernels"}},
                                     {"gaps", {"idle"}},
                                     {"concurrency", {"streams"}},
                                     {"overlap", {"streams"}},
                                     {"ranges", {"nvtx"}},
                                     {"step", {"steps"}},
                                     {"iterations", {"steps"}},
                                     {"waits", {"sync"}},
                                     {"synchronisation", {"sync"}},
                                     {"synchronization", {"sync"}},
                                     {"cpu", {"cpu_functions", "threads"}},
                                     {"samples", {"cpu_functions"}},
                                     {"managed", {"memory"}},
                                     {"um", {"memory"}},
                                     {"queue", {"launches"}},
                                     {"roofline", {"counters"}},
                                     {"quality", {"health"}},
                                     {"communication", {"nccl", "mpi"}}};

// Why an analysis has nothing to show of a trace.
struct Emptiness {
  std::string_view analysis;
  FactSet needs;            // where the trace lacks one of them, nobody knows whether there was any
  std::string_view none;    // where it lacks none of them
  std::string_view advice;  // how to get something to show
};

using enum Fact;
constexpr FactSet kNothing = FactSet::None();

constexpr Emptiness kEmptiness[] = {
    {"steps", kNvtx, "No NVTX range repeats often enough to be a step.",
     "Put a range around each iteration, or name one: --step."},
    {"nvtx", kNvtx, "The program used no NVTX ranges.",
     "Mark phases of the program with them (in PyTorch: torch.cuda.nvtx.range)."},
    {"python_lines", kNothing, "The trace has no Python call stacks.",
     "gprof-cli profile records those of CUDA calls by default."},
    {"ops", kNothing, "The trace has no PyTorch operators.",
     "Record them with gprof-cli profile --pytorch ops, which begins when PyTorch initialises CUDA."},
    {"modules", kNothing, "The trace has no PyTorch modules.", "Record them with gprof-cli profile --pytorch modules."},
    {"os_calls", kOsCalls, "No operating system call took long enough to be recorded.",
     "Record shorter ones with gprof-cli profile -t osrt --osrt-threshold NS."},
    {"mpi", kMpiCalls, "The program made no MPI calls.", {}},
    {"nccl", kOperations, "No kernel of NCCL ran.", {}},
    {"memcpy", kOperations, "The program made no copies or memsets on a GPU.", {}},
    {"kernels", kOperations, "No kernel ran.", {}},
    {"memory", kMemory, "The program allocated no memory of a GPU.", {}},
    {"gemms", kGemms, "The program made no matrix multiplications with cuBLAS.", {}},
    {"graphs", kApiCalls, "The program launched no CUDA graphs.", {}},
    {"cpu_functions", kCpuSamples, "No CPU sample was taken.",
     "gprof-cli doctor says whether they can be recorded here."},
    {"gpu_metrics", kGpuMetrics, "The trace has no hardware counters of a GPU over time.",
     "Record them with gprof-cli profile --gpu-metrics-devices all."},
    {"counters", kCounters, "No kernel was measured.", "Measure kernels with gprof-cli counters."},
    {"source", kNothing, "The trace has no instruction samples.", "Record them with gprof-cli counters --page source."},
    {"directives", kOpenMp | kOpenAcc, "The program ran no OpenMP or OpenACC constructs.",
     "They are recorded with gprof-cli profile -t openmp,openacc."},
    {"balance", kOperations, "It compares GPUs, and the program used fewer than two.", {}},
    {"sharing", kOperations, "No GPU was used by several processes.", {}}};

}  // namespace

std::vector<const Analysis*> AnalysesCalled(std::string_view name) {
  if (const Analysis* analysis = FindAnalysis(name)) return {analysis};
  std::vector<const Analysis*> analyses;
  const auto* word = std::ranges::find_if(kOtherWords, [name](const OtherWord& w) { return w.name == name; });
  if (word != std::end(kOtherWords)) {
    for (const std::string_view meant : word->analyses) {
      if (const Analysis* analysis = FindAnalysis(meant)) analyses.push_back(analysis);
    }
  } else if (const NsysReport* report = FindNsysReport(name); report != nullptr && !report->analysis.empty()) {
    analyses.push_back(FindAnalysis(report->analysis));
  }
  return analyses;
}

std::vector<std::string> NamesOfAnalyses() {
  std::vector<std::string> names;
  for (const Analysis& analysis : AllAnalyses()) names.emplace_back(analysis.name);
  for (const OtherWord& word : kOtherWords) names.emplace_back(word.name);
  for (const NsysReport& report : NsysReports()) {
    if (!report.analysis.empty()) names.emplace_back(report.name);
  }
  return names;
}

bool IsEmpty(const AnalysisResult& result) {
  const auto has_rows = [](const Table& table) { return !table.rows.empty(); };
  return result.findings.empty() && std::ranges::none_of(result.tables, has_rows);
}

std::string WhyEmpty(const TraceHead& trace, FactSet unknown, std::string_view analysis) {
  const auto* found =
      std::ranges::find_if(kEmptiness, [analysis](const Emptiness& empty) { return empty.analysis == analysis; });
  if (found == std::end(kEmptiness)) return {};
  std::string why;
  ForEachFact(found->needs & unknown, [&](Fact fact) { why += (why.empty() ? "" : "; ") + WhyUnknown(trace, fact); });
  if (!why.empty()) return AsSentence(std::move(why));
  return std::string(found->none) + (found->advice.empty() ? "" : " " + std::string(found->advice));
}

}  // namespace gprof
