#include "analysis/findings/finding_lines.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/statistics.h"
#include "analysis/places/stack_lines.h"
#include "analysis/result/display_names.h"
#include "analysis/samples/python_line_sums.h"

namespace gprof {
namespace {

constexpr double kLeastOfLine = 20;  // below it no line stands for the finding
constexpr double kNearlyAll = 95;    // from here on it is as good as all of it

// What comes once, as the time before a loop, would hide the line that holds up the GPU in each of its iterations.
int64_t IdleOf(const PythonLineSum& sum, const std::vector<std::string>& causes) {
  int64_t ns = 0;
  ForEachCause([&](Cause cause) {
    for (const std::string& name : causes) ns += name == InfoOf(cause).name ? sum.judged_idle[cause] : 0;
  });
  return ns;
}

struct WeightOf {
  std::string_view id;  // or what it begins with
  int64_t PythonLineSum::*weight;
};

// What the share of a line is measured by: the time or number that a finding is about. Findings that are not here are
// about no line.
constexpr WeightOf kWeights[] = {
    {"sync.drains", &PythonLineSum::sync_ns},
    {"sync.site", &PythonLineSum::sync_ns},
    {"sync.implied", &PythonLineSum::memory_ns},
    {"memory.churn", &PythonLineSum::memory_ns},
    {"memory.", &PythonLineSum::memory_calls},
    {"memcpy.pageable", &PythonLineSum::pageable_ns},
    {"memcpy.round_trip", &PythonLineSum::copy_ns},
    {"memcpy.small", &PythonLineSum::copies},
    {"memcpy.overlap", &PythonLineSum::copy_ns},
    {"gpu.copy_bound", &PythonLineSum::copy_ns},
    {"launch.bound", &PythonLineSum::kernels},
    {"launch.blocking", &PythonLineSum::call_ns},
    {"kernels.small", &PythonLineSum::kernels},
    {"kernels.chain", &PythonLineSum::operations},
    {"gpu.kernel_bound", &PythonLineSum::kernel_ns},
    {"gpu.graph_bound", &PythonLineSum::kernel_ns},
    {"critical.kernel", &PythonLineSum::kernel_ns},
    {"occupancy.small_block", &PythonLineSum::kernel_ns},
    {"occupancy.small_grid", &PythonLineSum::kernel_ns},
    {"occupancy.tail", &PythonLineSum::kernel_ns},
};

const WeightOf* WeightFor(std::string_view id) {
  const auto* found =
      std::find_if(std::begin(kWeights), std::end(kWeights), [&](const WeightOf& w) { return id.starts_with(w.id); });
  return found == std::end(kWeights) ? nullptr : found;
}

class LineNamer {
 public:
  explicit LineNamer(const AnalysisInput& input)
      : trace_(input.trace()), lines_(input.shared().python_lines()), sums_(SumByPythonLine(input)) {}

  void Name(Finding* finding) const {
    if (!finding->subject.line.empty()) return;
    const std::vector<int64_t> weights = WeightsFor(*finding);
    const int64_t all = std::accumulate(weights.begin(), weights.end(), int64_t{0});
    if (all <= 0) return;
    const auto most = std::max_element(weights.begin(), weights.end());
    const double percent = PercentOf(*most, all);
    // The last one is of no line.
    if (most + 1 == weights.end() || percent < kLeastOfLine) return;
    const PythonLine& line = lines_.all()[static_cast<std::size_t>(most - weights.begin())];
    finding->subject.line = PlaceOf(trace_, line);
    // The host's own code ran before the call that its time is known by.
    const bool is_before = finding->id == "idle.host" || finding->id == "idle.os" || finding->id == "idle.mpi";
    finding->message += (percent >= kNearlyAll ? "; " : "; mostly ") + std::string(is_before ? "before " : "at ") +
                        NameOf(trace_, line);
  }

 private:
  // By line, and of none. Empty where lines do not tell.
  std::vector<int64_t> WeightsFor(const Finding& finding) const {
    const std::string_view id = finding.id;
    std::vector<int64_t> weights;
    if (id.starts_with("idle.")) {
      std::vector<std::string> causes = finding.subject.causes;
      if (causes.empty()) causes.emplace_back(id.substr(id.find('.') + 1));
      for (const PythonLineSum& sum : sums_) weights.push_back(IdleOf(sum, causes));
      return weights;
    }
    const WeightOf* of_id = WeightFor(id);
    if (of_id == nullptr) return weights;
    if (!finding.subject.kernel.empty()) return OfKernel(finding.subject.kernel, *of_id);
    for (const PythonLineSum& sum : sums_) weights.push_back(sum.*of_id->weight);
    return weights;
  }

  // The time, or the number, of the launches of one kernel.
  std::vector<int64_t> OfKernel(const std::string& kernel, const WeightOf& of_id) const {
    std::vector<int64_t> weights(sums_.size());
    std::vector<uint8_t> is_it(trace_.ops.TraitsCount());
    for (uint32_t i = 0; i < is_it.size(); ++i) {
      const PackedOps::Traits& traits = trace_.ops.TraitsAt(i);
      is_it[i] = traits.kind == OpKind::kKernel && KernelName(trace_, traits.name) == kernel ? 1 : 0;
    }
    for (const Operation op : OperationsOf(trace_)) {
      if (is_it[op.kind_number()] == 0) continue;
      const uint32_t line = lines_.OfCall(op.call());
      weights[line == kNone ? weights.size() - 1 : line] +=
          of_id.weight == &PythonLineSum::kernel_ns ? op.duration_ns() : 1;
    }
    return weights;
  }

  const Trace& trace_;
  const PythonLines& lines_;
  const std::vector<PythonLineSum> sums_;
};

}  // namespace

void NameLines(const AnalysisInput& input, std::vector<AnalysisResult>* results) {
  if (!input.shared().python_lines().HasCalls()) return;
  const LineNamer namer(input);
  for (AnalysisResult& result : *results) {
    for (Finding& finding : result.findings) namer.Name(&finding);
  }
}

}  // namespace gprof
