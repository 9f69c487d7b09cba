#include "report/lines/placed_findings.h"

#include "analysis/facts/places/stack_lines.h"
#include "analysis/facts/shared_facts.h"
#include "base/text.h"

namespace gprof {

PlacedFindings PlacesOfFindings(const Report& report) {
  PlacedFindings places;
  for (NamedFinding& named : NamedFindings(report)) {
    const std::string& place = named.ranked.finding->subject.line;
    const PythonLine* found = nullptr;
    if (report.records && !place.empty()) {
      const Trace& trace = report.records->trace();
      for (const PythonLine& line : report.records->shared().python_lines().all()) {
        if (PlaceOf(trace, line) == place) found = &line;
        if (found != nullptr && IsOfProgram(trace.Text(found->file))) break;
      }
    }
    if (found == nullptr) {
      ++places.without_line;
      continue;
    }
    const std::string file = Utf8(report.records->trace().Text(found->file));
    places.placed.push_back({std::move(named), file, found->line});
  }
  return places;
}

std::string PathWithin(const std::string& root, const std::string& path) {
  const std::string folder = root.ends_with('/') ? root : root + "/";
  return path.starts_with(folder) ? path.substr(folder.size()) : path;
}

std::string RenderProblems(const Report& report, const std::string& root) {
  std::string out;
  for (const PlacedFinding& place : PlacesOfFindings(report).placed) {
    const Finding& finding = *place.named.ranked.finding;
    const char* const level = finding.severity == Severity::kWarning ? "warning" : "note";
    out += Printable(PathWithin(root, place.file) + ":" + std::to_string(place.line) + ": " + level + ": " +
                     finding.message + " [" + finding.id + "]") +
           "\n";
  }
  return out;
}

}  // namespace gprof
