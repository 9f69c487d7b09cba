#include "report/analysis_names.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "report/nsys/nsys_reports.h"

namespace gprof {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

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

constexpr Pair kNeeds[] = {
    {"steps",
     "No NVTX range repeats often enough to be a step. Put a range around each iteration, or name one: --step."},
    {"nvtx", "The trace has no NVTX ranges. Mark phases of the program with them (in PyTorch: torch.cuda.nvtx.range)."},
    {"python_lines", "The trace has no Python call stacks. gprof-cli profile records those of CUDA calls by default."},
    {"ops",
     "The trace has no PyTorch operators. Record them with gprof-cli profile --pytorch ops, which begins when PyTorch "
     "initialises CUDA."},
    {"modules", "The trace has no PyTorch modules. Record them with gprof-cli profile --pytorch modules."},
    {"os_calls",
     "The trace has no long operating system calls. Shorter ones: gprof-cli profile -t osrt --osrt-threshold NS."},
    {"mpi", "The trace has no MPI calls."},
    {"nccl", "The trace has no NCCL collectives."},
    {"memcpy", "The trace has no copies or memsets."},
    {"kernels", "The trace has no kernels."},
    {"memory", "The trace has no allocations. Record them with gprof-cli profile --cuda-memory-usage."},
    {"gemms", "The trace has no cuBLAS matrix multiplications."},
    {"graphs", "The trace has no CUDA graph launches."},
    {"cpu_functions", "The trace has no CPU samples: gprof-cli doctor says whether they can be recorded here."},
    {"gpu_metrics",
     "The trace has no GPU metrics. Record hardware counters with gprof-cli profile --gpu-metrics-devices all."},
    {"counters", "The trace has no kernel counters. Record them with gprof-cli counters."},
    {"source", "The trace has no instruction samples. Record them with gprof-cli counters --page source."},
    {"directives",
     "The trace has no OpenMP or OpenACC constructs. Record them with gprof-cli profile -t openmp,openacc."},
    {"balance", "It compares GPUs, and the program used fewer than two."},
    {"sharing", "No GPU was used by several processes."}};

}  // namespace

std::vector<const Analysis*> AnalysesCalled(std::string_view name) {
  if (const Analysis* analysis = FindAnalysis(name)) return {analysis};
  std::vector<const Analysis*> analyses;
  const auto* word = std::find_if(std::begin(kOtherWords), std::end(kOtherWords),
                                  [name](const OtherWord& w) { return w.name == name; });
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
  return result.findings.empty() && std::none_of(result.tables.begin(), result.tables.end(), has_rows);
}

std::string_view WhyEmpty(std::string_view analysis) {
  const auto* found = std::find_if(std::begin(kNeeds), std::end(kNeeds),
                                   [analysis](const Pair& need) { return need.first == analysis; });
  return found == std::end(kNeeds) ? std::string_view() : found->second;
}

}  // namespace gprof
