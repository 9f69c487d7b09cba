// The catalogue of findings: all that is the same whenever one of its kind is made.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "gprof/analysis.h"

namespace gprof {

struct PythonLineSum;  // analysis/causes/python_line_sums.h

// How bad it is by the share that it has of the time it is about, which its analysis knows: of the window of the GPU as
// a rule.
struct SeverityRule {
  Severity least;
  double note_percent, warning_percent;  // from here on it is a note, a warning
  Severity SeverityAt(double percent) const;
};

// What the share is of that a line of Python has in a finding. Most of them are about no line.
struct LineMeasure {
  int64_t PythonLineSum::*sum = nullptr;
  bool is_idle = false;    // instead, idle time with the causes that the subject names
  bool is_before = false;  // the host's own code ran before the call that its time is known by
};

// Where it is seen: on the timeline, in the language of the page's filter box, and in the program.
struct WhereSeen {
  std::string_view query;     // empty: nowhere
  std::string_view why_none;  // then
  // Narrows the query to what the finding is about, where it says so: key:"name".
  std::string_view key{};
  std::string Subject::*name = nullptr;
  LineMeasure line{};

  constexpr WhereSeen LineWithMost(int64_t PythonLineSum::*sum) const { return With({.sum = sum}); }
  constexpr WhereSeen With(LineMeasure measure) const {
    WhereSeen place = *this;
    place.line = measure;
    return place;
  }
};

struct MetricIds {
  static constexpr size_t kMost = 7;
  std::string_view ids[kMost]{};
};

// Who claims time before whom, and what a reader is told before what: what explains another finding's time comes first.
enum class Layer : uint8_t {
  kBlocker,    // as a warning: nothing else counts before it is mended, so other findings about its time follow it
  kCause,      // why the host or a GPU waits at all
  kMechanism,  // what holds up the GPU
  kShape,      // how much of the GPU a launch fills: others that could run beside it would fill the rest
  kPlace,      // where time went, and others may say why
  kDetail,     // what more there is to say of a place
};

// Whether what a finding would save is saved again in a longer run.
enum class Recurs : uint8_t {
  kAlways,
  kNever,
  kWithCopies,  // unless the run copies only before and after what it repeats
};

struct FindingInfo {
  std::string_view id;
  std::string_view meaning;  // docs/commands/report.md
  SeverityRule severity;
  std::string_view table;  // that has the facts behind it; empty where none does
  WhereSeen place;
  std::string_view advice{};  // what to do about it; empty where that depends on more than its kind
  // The time that its gain is part of, as metrics; what fits best first. Findings compete for it (JudgeFindings).
  // Empty: it is about time that no other finding is about.
  MetricIds claims{};
  bool claims_its_causes = false;  // instead, idle time with the causes that its subject names, where it names any
  Layer layer = Layer::kMechanism;
  Recurs recurs = Recurs::kAlways;
  // Its gain is all the idle time of its causes, or of all short gaps: less what findings claimed that say why
  // (JudgeFindings).
  bool is_all_of_its_causes = false;
  // What `what-if` delays to measure its gain: launches, copies, or the kernel or the range of its subject. Empty: its
  // gain cannot be measured so.
  std::string_view delayed{};
};

std::span<const FindingInfo> FindingCatalogue();
const FindingInfo* FindFinding(std::string_view id);

// With the severity and the advice of the catalogue, which has to have the id. `percent`: see SeverityRule.
Finding NewFinding(std::string_view id, double percent = 0);

}  // namespace gprof
