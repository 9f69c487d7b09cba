// What a trace cannot tell, in words, and which metrics are not known for it, which is not the same as zero.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// The catalogue of facts.
struct FactInfo {
  Fact fact;
  std::string_view key;   // in JSON and Python: "api_calls"
  std::string_view name;  // "<another tool> did not record CUDA calls"
  std::string_view why;   // the same of a trace of ours, as a sentence
};
const FactInfo& InfoOf(Fact fact);
// nullptr: no fact has this key.
const FactInfo* FindFact(std::string_view key);

template <class F>
void ForEachFact(FactSet facts, F take) {
  for (uint32_t i = 0; i < kFactCount; ++i) {
    if (facts.Has(static_cast<Fact>(i))) take(static_cast<Fact>(i));
  }
}

// What its reader says that the trace lacks, and what there is nothing of in it: of that a zero would mean nothing.
FactSet UnknownFacts(const Trace& trace);

// "Nsight Systems 2024.6.2 did not record CUDA calls", "the trace has no CUDA call". `fact` is not known of the trace.
std::string WhyUnknown(const TraceHead& trace, Fact fact);

// Takes the metrics out that need one of these.
void DropUnknownMetrics(FactSet unknown, std::span<AnalysisResult> results);

}  // namespace gprof
