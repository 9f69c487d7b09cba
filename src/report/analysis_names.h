// What people call the analyses, and why one may have nothing to say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gprof/analysis.h"

namespace gprof {

// The analyses that a name means: one of ours, another word for some of them ("copies", "python"), or a report of nsys.
// Empty for any other.
std::vector<const Analysis*> AnalysesCalled(std::string_view name);

// All of these names.
std::vector<std::string> NamesOfAnalyses();

bool IsEmpty(const AnalysisResult& result);

// Why the trace has nothing for this analysis: nobody recorded it (`unknown`: UnknownFacts), or there was none. Empty
// where there is nothing to say about that.
std::string WhyEmpty(const TraceHead& trace, FactSet unknown, std::string_view analysis);

}  // namespace gprof
