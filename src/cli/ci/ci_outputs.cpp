#include "cli/ci/ci_outputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <set>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "cli/arguments/options.h"
#include "cli/ci/ci_formats.h"
#include "cli/talk.h"

namespace gprof::cli {
namespace {

bool IsSamePath(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  std::error_code error;
  return a == b || std::filesystem::weakly_canonical(a, error) == std::filesystem::weakly_canonical(b, error);
}

// With one write, or not at all: what is behind half of a table is no table any more.
void Append(const std::string& path, std::string_view text) {
  const auto fail = [&](int code) {
    throw Error(ExitCode::kUnreadable, "cannot append to '" + path + "': " + std::strerror(code));
  };
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) fail(errno);
  const off_t before = ::lseek(file, 0, SEEK_END);
  ssize_t written = -1;
  do {
    written = ::write(file, text.data(), text.size());
  } while (written < 0 && errno == EINTR);
  const int code = written < 0 ? errno : ENOSPC;
  const bool is_whole = written == static_cast<ssize_t>(text.size());
  if (!is_whole && written > 0 && before >= 0 && ::ftruncate(file, before) != 0)
    Warn("the summary in " + path + " is incomplete");
  ::close(file);
  if (!is_whole) fail(code);
}

std::string GitlabConfiguration() {
  const std::string file = EnvironmentText({"CI_CONFIG_PATH"});
  return file.empty() ? ".gitlab-ci.yml" : file;
}

}  // namespace

void WriteSummary(const std::string& path, std::string_view text) {
  if (IsSamePath(path, EnvironmentText({"GITHUB_STEP_SUMMARY"}))) {
    Append(path, text);
  } else {
    WriteFile(path, text);
  }
}

void CiOutputs::AddOptions(CLI::App& app) {
  app.add_option("--junit", junit_, "write JUnit XML with one test case per rule")->type_name("FILE")->group("CI");
  app.add_option("--summary", summary_, "write the result as Markdown; appends if FILE is $GITHUB_STEP_SUMMARY")
      ->type_name("FILE")
      ->group("CI");
  app.add_option("--annotations", annotations_,
                 "GitHub annotations for rules that did not pass: auto (default, only in GitHub Actions), "
                 "github (always) or none")
      ->type_name("auto|github|none")
      ->check(OneOf({"auto", "github", "none"}))
      ->group("CI");
  app.add_option("--gitlab-codequality", code_quality_,
                 "write a GitLab code quality report with one issue per rule that did not pass")
      ->type_name("FILE")
      ->group("CI");
  app.add_option("--gitlab-metrics", metrics_, "write a GitLab metrics report (OpenMetrics) of the judged metrics")
      ->type_name("FILE")
      ->group("CI");
  app.add_option("--openmetrics", open_metrics_,
                 "write the judged metrics for Prometheus, labelled with commit, host, GPU and kernel")
      ->type_name("FILE")
      ->group("CI");
}

void CiOutputs::Check() const {
  const std::array<std::pair<const char*, const std::string*>, 5> files = {{{"--junit", &junit_},
                                                                            {"--summary", &summary_},
                                                                            {"--gitlab-codequality", &code_quality_},
                                                                            {"--gitlab-metrics", &metrics_},
                                                                            {"--openmetrics", &open_metrics_}}};
  std::set<std::string> seen;
  for (const auto& [option, path] : files) {
    if (*path == "-") {
      throw Error(ExitCode::kUsage, std::string(option) + " needs a file: stdout is used for the result",
                  std::string("example: ") + option + " check.out");
    }
    if (!path->empty() && !seen.insert(*path).second) {
      throw Error(ExitCode::kUsage, std::string(option) + ": '" + *path + "' is also the target of another option");
    }
  }
}

bool CiOutputs::HasAnnotations() const {
  return annotations_ == "github" || (annotations_ == "auto" && EnvironmentText({"GITHUB_ACTIONS"}) == "true");
}

std::vector<std::function<void()>> CiOutputs::Steps(const CheckResult& result) const {
  std::vector<std::function<void()>> steps;
  if (!junit_.empty()) steps.push_back([&] { WriteFile(junit_, RenderJunit(result)); });
  if (!summary_.empty()) steps.push_back([&] { WriteSummary(summary_, RenderSummary(result)); });
  if (!code_quality_.empty()) {
    steps.push_back([&] {
      WriteFile(code_quality_, RenderCodeQuality(result, EnvironmentText({"CI_PROJECT_DIR"}), GitlabConfiguration()));
    });
  }
  if (!metrics_.empty()) steps.push_back([&] { WriteFile(metrics_, RenderOpenMetrics(result)); });
  if (!open_metrics_.empty()) steps.push_back([&] { WriteFile(open_metrics_, RenderLabelledMetrics(result)); });
  if (HasAnnotations())
    steps.push_back([&] { std::cerr << RenderAnnotations(result, EnvironmentText({"GITHUB_WORKSPACE"})); });
  return steps;
}

void CiOutputs::Write(const CheckResult& result) const {
  std::exception_ptr first;
  for (const auto& step : Steps(result)) {
    try {
      step();
    } catch (const Error&) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

void CiOutputs::WriteError(const Error& error) const {
  try {
    Write(ResultOfError(error));
  } catch (const std::exception&) {
    // `error` is on its way to the user already, and says more than a second one would.
  }
}

}  // namespace gprof::cli
