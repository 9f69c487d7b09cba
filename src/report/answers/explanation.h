// What is behind one finding: its numbers, the rows that they come from, and how to check them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/answers/checks.h"
#include "report/answers/evidence.h"
#include "report/report.h"

namespace gprof {

enum class AnswerKind : uint8_t {
  kFound,
  kNotFound,    // what it needs was recorded, and it is not there
  kCannotTell,  // what it needs was not recorded
  kRecorded,    // of a fact
  kNotRecorded,
  kNoSuchWord,  // no finding has this id, whatever the trace
};

struct Explanation {
  AnswerKind answer = AnswerKind::kNoSuchWord;
  std::string id, meaning;
  std::optional<NamedFinding> named{};  // of kFound alone
  std::vector<Metric> metrics{};        // the times that it competes for, of the whole trace
  Table rows{};                         // those of its table that are about it, the first of them
  bool are_rows_narrowed = false;       // they name what the finding is about
  FindingCheck check{};
  std::string command{};             // that runs the check
  std::vector<std::string> more{};   // what would say more and was not recorded, with the reason
  std::vector<std::string> lacks{};  // of kCannotTell and kNotRecorded: what is missing
};

// Of each table: among these are the rows that a finding is about, as tables begin with what is worth most.
inline constexpr uint32_t kRowsToExplain = 1000;

// `word`: a finding of the report as FindNamed takes it, any id of the catalogue, or the key of a fact that the trace
// may lack ("cpu_samples"). The report has to have all tables.
Explanation Explain(const Report& report, std::string_view word);

// "schema": "gprof.explain/1".
std::string RenderExplanationJson(const Report& report, const Explanation& explanation);

}  // namespace gprof
