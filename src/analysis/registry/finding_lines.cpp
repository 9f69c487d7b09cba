#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "analysis/causes/python_line_sums.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/places/stack_lines.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/finding_words.h"
#include "analysis/registry/run_analyses.h"
#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"

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

class LineNamer {
 public:
  explicit LineNamer(const AnalysisInput& input)
      : trace_(input.trace()), lines_(input.shared().python_lines()), sums_(SumByPythonLine(input)) {}

  void Name(Finding* finding) const {
    const FindingInfo* const info = FindFinding(finding->id);
    if (info == nullptr || !finding->subject.line.empty()) return;
    const LineMeasure& measure = info->place.line;
    const std::vector<int64_t> weights = WeightsFor(*finding, measure);
    const int64_t all = std::accumulate(weights.begin(), weights.end(), int64_t{0});
    if (all <= 0) return;
    const auto most = std::ranges::max_element(weights);
    const double percent = PercentOf(*most, all);
    // The last one is of no line.
    if (most + 1 == weights.end() || percent < kLeastOfLine) return;
    const PythonLine& line = lines_.all()[static_cast<std::size_t>(most - weights.begin())];
    finding->subject.line = PlaceOf(trace_, line);
    const std::string second = SecondLine(*finding, weights, *most, all);
    const bool is_all = percent >= kNearlyAll || !second.empty();
    AddPlace(
        (is_all ? "" : "mostly ") + std::string(measure.is_before ? "before " : "at ") + NameOf(trace_, line) + second,
        finding);
  }

 private:
  // Copies in two directions are made by two lines as a rule. Empty where those are not nearly all of it.
  std::string SecondLine(const Finding& finding, std::vector<int64_t> weights, int64_t most, int64_t all) const {
    const bool is_two_way = finding.id == "memcpy.pageable" && finding.subject.direction.empty();
    if (!is_two_way) return "";
    weights.pop_back();  // of no line
    *std::ranges::find(weights, most) = 0;
    const auto second = std::ranges::max_element(weights);
    if (PercentOf(*second, all) < kLeastOfLine || PercentOf(most + *second, all) < kNearlyAll) return "";
    return " and " + NameOf(trace_, lines_.all()[static_cast<std::size_t>(second - weights.begin())]);
  }

  // By line, and of none. Empty where lines do not tell.
  std::vector<int64_t> WeightsFor(const Finding& finding, const LineMeasure& measure) const {
    std::vector<int64_t> weights;
    if (measure.is_idle) {
      for (const PythonLineSum& sum : sums_) weights.push_back(IdleOf(sum, finding.subject.causes));
    } else if (measure.sum != nullptr && !finding.subject.kernel.empty()) {
      return OfKernel(finding.subject.kernel, measure.sum);
    } else if (measure.sum != nullptr) {
      for (const PythonLineSum& sum : sums_) weights.push_back(sum.*measure.sum);
    }
    return weights;
  }

  // The time, or the number, of the launches of one kernel.
  std::vector<int64_t> OfKernel(const std::string& kernel, int64_t PythonLineSum::*sum) const {
    std::vector<int64_t> weights(sums_.size());
    std::vector<uint8_t> is_it(trace_.ops.TraitsCount());
    std::map<NameId, bool> known;  // whether that is the name of the kernel
    for (uint32_t i = 0; i < is_it.size(); ++i) {
      const PackedOps::Traits& traits = trace_.ops.TraitsAt(i);
      if (traits.kind != OpKind::kKernel) continue;
      const auto [at, is_new] = known.try_emplace(traits.name);
      if (is_new) at->second = KernelName(trace_, traits.name) == kernel;
      is_it[i] = at->second ? 1 : 0;
    }
    for (const Operation op : OperationsOf(trace_)) {
      if (is_it[op.kind_number()] == 0) continue;
      const uint32_t line = lines_.LineOfCall(op.call());
      weights[line == kNone ? weights.size() - 1 : line] += sum == &PythonLineSum::kernel_ns ? op.duration_ns() : 1;
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
