#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "analysis/causes/counters/counter_rules.h"
#include "analysis/findings/finding_catalogue.h"
#include "base/units.h"

namespace gprof {

std::vector<DiagnosedKernel> DiagnosedKernels(const Trace& trace, std::span<const KernelCounters> kernels) {
  std::vector<DiagnosedKernel> diagnosed;
  for (const KernelCounters& kernel : kernels) {
    const trace::DeviceRecord* const properties = DevicePropertiesOf(trace, kernel);
    diagnosed.push_back({&kernel, LimitsOf(kernel, properties), DiagnosesOf(kernel, properties)});
  }
  return diagnosed;
}

std::string VerdictOf(const DiagnosedKernel& k) {
  if (k.diagnoses.empty()) return "";
  const std::string_view finding = k.diagnoses.front().finding;
  std::string words(finding.substr(finding.find('.') + 1));
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::vector<Finding> FindingsOf(const DiagnosedKernel& k) {
  std::vector<Finding> findings;
  for (const Diagnosis& diagnosis : k.diagnoses) {
    Finding finding = NewFinding(diagnosis.finding, diagnosis.percent);
    finding.message = diagnosis.message;
    finding.evidence = diagnosis.evidence;
    finding.subject.kernel = k.kernel->name;
    // What only says where the time goes is no reason to put off its cause.
    if (diagnosis.is_cause || findings.empty())
      finding.gain_ns = std::llround(diagnosis.percent / 100 * k.kernel->TotalNs());
    finding.basis =
        fmt::format("{} of {} {}, an upper bound", FormatPercent(diagnosis.percent), FormatNs(k.kernel->TotalNs()),
                    k.kernel->timeline_launches > 0 ? "in all launches" : "with counters");
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::string ConditionsOf(const CounterPlan& plan) {
  std::string words;
  const auto add = [&](const char* text) { words += (words.empty() ? "" : ", ") + std::string(text); };
  switch (plan.caches) {
    case trace::CacheControl::kNone:
      add("caches not flushed");
      break;
    case trace::CacheControl::kL2:
      add("L2 flushed before each pass");
      break;
    case trace::CacheControl::kAll:
      add("caches flushed before each pass");
      break;
    case trace::CacheControl::kUnknown:
      break;
  }
  switch (plan.clocks) {
    case trace::ClockControl::kNone:
      add("clocks not locked");
      break;
    case trace::ClockControl::kBase:
      add("clocks locked to the base clock");
      break;
    case trace::ClockControl::kBoost:
      add("clocks locked to the boost clock");
      break;
    case trace::ClockControl::kUnknown:
      break;
  }
  return words;
}

}  // namespace gprof
