// The verdict for machines: schema gprof.check/1.
#include <algorithm>
#include <optional>

#include "analysis/result/metrics.h"
#include "cli/render/render_check.h"
#include "gate/runs/measurement_json.h"
#include "gprof/version.h"
#include "report/json_values.h"

namespace gprof::cli {
namespace {

Json OrNull(const std::optional<double>& value) { return value ? NumberJson(*value) : Json(); }

Json RuleJson(const RuleResult& rule) {
  return {{"rule", rule.rule},
          {"verdict", VerdictName(rule.verdict)},
          {"metric", rule.metric},
          {"scope", rule.scope},
          {"unit", UnitName(rule.unit)},
          {"value", OrNull(rule.value)},
          {"limit", OrNull(rule.limit)},
          {"baseline", OrNull(rule.baseline)},
          {"message", rule.message},
          {"reason", rule.reason},
          {"evidence", rule.evidence},
          {"file", rule.file.empty() ? Json() : Json(rule.file)},
          {"line", rule.file.empty() ? Json() : Json(rule.line)}};
}

}  // namespace

std::string RenderCheckJson(const CheckResult& result) {
  const auto count = [&](Verdict verdict) {
    return std::count_if(result.rules.begin(), result.rules.end(),
                         [verdict](const RuleResult& rule) { return rule.verdict == verdict; });
  };
  Json json = {{"schema", "gprof.check/1"},
               {"gprof_cli", kVersion},
               {"name", result.name},
               {"verdict", VerdictName(result.verdict)},
               {"exit_code", static_cast<int>(ExitCodeOf(result.verdict))},
               {"line", result.line},
               {"passed", count(Verdict::kPass)},
               {"warned", count(Verdict::kWarn)},
               {"failed", count(Verdict::kFail)},
               {"inconclusive", count(Verdict::kInconclusive)},
               {"sources", result.sources},
               {"selected", result.selected},
               {"baseline", result.baseline.empty() ? Json() : Json(result.baseline)},
               {"baseline_runs", result.baseline_count},
               {"fingerprint", FingerprintJson(result.fingerprint)},
               {"notes", result.notes}};
  json["rules"] = Json::array();
  for (const RuleResult& rule : result.rules) json["rules"].push_back(RuleJson(rule));
  return ToText(json);
}

}  // namespace gprof::cli
