// The result of a check in the forms that CI systems show. docs/ci.md
//
// Rules, reasons and names come from budgets and traces: whatever is in them, what comes out is valid.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "gate/check/verdict.h"

namespace gprof::cli {

// GitHub takes 1 MiB for a step, but only 65,536 characters for a comment.
inline constexpr std::size_t kMostSummaryBytes = 60'000;
// GitHub shows no more of one kind for a step.
inline constexpr std::size_t kMostAnnotations = 10;

// What is said of a rule, one thing a line: what is the case, why the rule is there, the evidence.
std::vector<std::string> LinesOf(const RuleResult& rule);

// The rules that did not pass: failures, what nobody can tell, warnings; of each kind what is furthest beyond its limit
// first.
std::vector<const RuleResult*> WorstFirst(const CheckResult& result);

// `path` as the CI system knows it: relative to `root`, the folder of the repository, where it lies in there.
std::string PathInRepository(const std::string& path, const std::filesystem::path& root);

// JUnit XML, one test case a rule. A rule that nobody can judge is an <error>: a gate does not pass for want of data.
std::string RenderJunit(const CheckResult& result);

// Markdown for the summary of a job or a comment: the verdict, what did not pass, and what did, folded away.
std::string RenderSummary(const CheckResult& result);

// Workflow commands of GitHub Actions, one a line.
std::string RenderAnnotations(const CheckResult& result, const std::filesystem::path& root);

// GitLab's code quality report: an issue for each rule that did not pass. Issues need a file: that of rules of the
// command line is `command_file`, in which the command probably stands.
std::string RenderCodeQuality(const CheckResult& result, const std::filesystem::path& root,
                              const std::string& command_file);

// GitLab's metrics report, in the text format of OpenMetrics: the figures that were judged.
std::string RenderOpenMetrics(const CheckResult& result);

// The same for Prometheus, where runs of many machines and commits meet: with the labels budget, commit, host, gpu, and
// kernel, device or nvtx for figures of one. GitLab would take each commit for a metric of its own.
std::string RenderLabelledMetrics(const CheckResult& result);

// A check that was not made, as a result that all of the above can show.
CheckResult ResultOfError(const Error& error);

}  // namespace gprof::cli
