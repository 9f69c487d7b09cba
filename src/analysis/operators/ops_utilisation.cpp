#include "analysis/operators/ops_utilisation.h"

#include <string>
#include <utility>

#include "analysis/facts/statistics.h"
#include "analysis/operators/operators.h"
#include "analysis/operators/step_flops.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"
#include "analysis/steps/step_windows.h"
#include "base/text.h"
#include "base/units.h"

namespace gprof {
namespace {

Table UtilisationTable(const StepFlops& counted, const StepWindows& steps) {
  Table table{"ops_mfu",
              "Model FLOPs utilisation",
              {{"mfu_percent", "MFU", Unit::kPercent, false},
               {"flops", "FLOP/step", Unit::kCount, false},
               {"tflops", "TFLOP/s", Unit::kText, false},
               {"mean_ns", "Step", Unit::kNs, false},
               {"counted_percent", "GPU counted", Unit::kPercent, false},
               {"steps", "Steps", Unit::kCount, false},
               {"devices", "GPUs", Unit::kCount, true}},
              {},
              "MFU: time the floating-point operations of a step would take at the dense peak of their types and the "
              "maximum clock, in percent of the step time; recomputed operations count each time. GPU counted: GPU "
              "time of operators with a formula."};
  if (counted.flops == 0 || steps.count() == 0) return table;
  const double percent = counted.UtilisationPercent(steps);
  if (percent == 0) table.note += " The peak of one type is not known.";
  table.rows.push_back({percent == 0 ? Cell() : Cell(percent), counted.flops / steps.count(),
                        TeraflopsText(counted.flops, steps.total_ns()),
                        static_cast<double>(steps.total_ns()) / static_cast<double>(steps.count()),
                        PercentOf(counted.counted_ns, counted.gpu_ns), steps.count(), counted.devices});
  return table;
}

Table UncountedTable(const StepFlops& counted, const StepWindows& steps, uint32_t max_rows) {
  Table table{"ops_without_flops",
              "Operators without FLOPs",
              {{"gpu_percent", "GPU (%)", Unit::kPercent, false},
               {"gpu_ns", "GPU time", Unit::kNs, false},
               {"kernels", "GPU ops", Unit::kCount, false},
               {"operator", "Operator", Unit::kText, false}},
              {},
              std::string("Operators without a formula or without known sizes. Percent of the GPU time of ") +
                  (steps.count() > 0 ? "the steps." : "all operations with a known call.")};
  table.is_detail = true;
  if (counted.flops == 0) return table;
  const std::size_t shown = RowsShown(counted.uncounted.size(), max_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    const UncountedOperator& sum = counted.uncounted[i];
    table.rows.push_back({PercentOf(sum.gpu_ns, counted.gpu_ns), sum.gpu_ns, sum.kernels,
                          sum.name.empty() ? std::string("(no operator)") : Utf8(sum.name)});
  }
  NoteLeftOut(&table, counted.uncounted.size());
  return table;
}

}  // namespace

void AddUtilisation(const AnalysisInput& input, const Operators& operators, const AnalysisOptions& options,
                    AnalysisResult* result) {
  const StepWindows steps = operators.empty() ? StepWindows() : StepWindows(input, options.step);
  const StepFlops counted(input, operators, steps);
  if (const double percent = counted.UtilisationPercent(steps); percent > 0) {
    AddMetric(result, "ops.mfu_percent", percent);
  }
  result->tables.push_back(UtilisationTable(counted, steps));
  result->tables.push_back(UncountedTable(counted, steps, options.max_rows));
}

}  // namespace gprof
