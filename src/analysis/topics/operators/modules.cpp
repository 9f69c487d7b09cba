// Modules of a PyTorch model: CPU and GPU time and FLOPs of each, as a tree.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/operators/module_tree.h"
#include "analysis/facts/operators/operators.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/steps/step_windows.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "base/text.h"

namespace gprof {
namespace {

constexpr std::string_view kModulesNote =
    "GPU: time of the work launched in forward(), and of the operators of the module in the backward pass, if "
    "autograd's sequence numbers identify them. Self: excluding modules within. CPU: forward() alone.";

Table EmptyTable(bool is_folded, bool has_steps) {
  Table table{is_folded ? "modules" : "modules_each",
              is_folded ? "Modules" : "Modules by path",
              {{"gpu_percent", "GPU (%)", Unit::kPercent, false},
               {"gpu_ns", "GPU total", Unit::kNs, false},
               {"gpu_self_ns", "GPU self", Unit::kNs, false},
               {"gpu_backward_ns", "Backward", Unit::kNs, true},
               {"gpu_step_ns", "GPU/step", Unit::kNs, true},
               {"cpu_ns", "CPU total", Unit::kNs, false},
               {"cpu_self_ns", "CPU self", Unit::kNs, true},
               {"calls", "Calls", Unit::kCount, false},
               {"kernels", "GPU ops", Unit::kCount, true},
               {"flops", "FLOP", Unit::kCount, true},
               {"tflops", "TFLOP/s", Unit::kText, true, ColumnRole::kOwn},
               {"peak_percent", "% of peak", Unit::kPercent, true, ColumnRole::kRate,
                "of the dense peak of the types of its operators with known sizes, at the maximum clock"},
               {"type", "Type", Unit::kText, true},
               {"path", "Path", Unit::kText, true},
               {"module", "Module", Unit::kText, false}},
              {},
              std::string(kModulesNote),
              RowsOfRanks::kAddUp};
  if (is_folded) table.note += " Modules whose names differ only in numbers share a row.";
  if (has_steps) table.note += " Per step: excluding warm-up steps.";
  table.is_detail = !is_folded;
  return table;
}

std::vector<Cell> RowOf(const ModuleSum& sum, int64_t all_ns, int64_t steps) {
  const std::string tera = TeraflopsText(sum.flops, sum.gpu_ns);
  const bool has_peak = sum.least_ns > 0 && !sum.has_unknown_peak && sum.gpu_ns > 0;
  return {PercentOf(sum.gpu_ns, all_ns),
          sum.gpu_ns,
          sum.gpu_self_ns,
          sum.gpu_backward_ns,
          steps == 0 ? Cell() : Cell(static_cast<double>(sum.gpu_in_steps_ns) / static_cast<double>(steps)),
          sum.cpu_ns,
          sum.cpu_self_ns,
          sum.calls,
          sum.kernels,
          sum.flops == 0 ? Cell() : Cell(sum.flops),
          tera.empty() ? Cell() : Cell(tera),
          has_peak ? Cell(100 * sum.least_ns / static_cast<double>(sum.gpu_ns)) : Cell(),
          Utf8(sum.type),
          Utf8(sum.path)};
}

Table TableOf(const std::vector<ModuleSum>& modules, const ModuleSum& outside, bool is_folded, int64_t steps,
              uint32_t max_rows) {
  Table table = EmptyTable(is_folded, steps > 0);
  if (modules.empty()) return table;
  int64_t all_ns = outside.gpu_ns;
  for (const ModuleSum& sum : modules) all_ns += sum.gpu_self_ns;
  for (const uint32_t module : TreeOrder(modules)) {
    table.rows.push_back(RowOf(modules[module], all_ns, steps));
    table.rows.back().emplace_back(Utf8(NameInTree(modules, modules[module])));
  }
  if (outside.kernels > 0) {
    table.rows.push_back(RowOf(outside, all_ns, steps));
    table.rows.back().emplace_back(std::string("(no module)"));
  }
  CutRows(&table, max_rows);
  return table;
}

}  // namespace

AnalysisResult RunModules(const AnalysisInput& input, const AnalysisOptions& options) {
  const StepWindows steps =
      HasModules(input.trace()) ? StepWindows(input.trace(), FindStep(input, options.step)) : StepWindows();
  const ModuleTree tree(input, steps);
  const std::vector<ModuleSum> folded = tree.Folded();
  AnalysisResult result;
  result.tables.push_back(TableOf(folded, tree.outside, true, steps.count(), options.max_rows));
  const bool is_different = folded.size() < tree.modules.size();
  result.tables.push_back(TableOf(is_different ? tree.modules : std::vector<ModuleSum>(), tree.outside, false,
                                  steps.count(), options.max_rows));
  return result;
}

}  // namespace gprof
