#include "cli/arguments/run_set_arguments.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "cli/arguments/options.h"
#include "gprof/error.h"

namespace gprof::cli {

namespace fs = std::filesystem;

void RunSetArguments::AddOptions(CLI::App& app) {
  AddStepOption(app, &step_, "Filters");
  selection_.AddOptions(app);
  app.add_flag("--merge", merges_, "treat the traces as ranks of one run instead of separate runs")->group("Filters");
  app.add_option("--commit", commit_, "commit of the program (default: from the CI environment)")
      ->type_name("HASH")
      ->group("Filters");
}

RunSetOptions RunSetArguments::Read(const std::string& step) const {
  RunSetOptions options;
  options.selection = selection_.Read();
  options.selected = Describe(options.selection);
  options.analysis.step = step_.empty() ? step : step_;
  options.merges = merges_;
  options.commit = commit_.empty() ? CommitOfEnvironment() : commit_;
  return options;
}

std::string CommitOfEnvironment() { return EnvironmentText({"GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT"}); }

std::string BaselinePath(const std::string& name, const std::string& folder) {
  std::error_code error;
  if (fs::exists(name, error)) return name;
  const fs::path path = fs::path(folder) / (name + ".json");
  if (fs::exists(path, error)) return path.string();
  std::vector<std::string> known;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".json") known.push_back(at->path().stem().string());
  }
  std::sort(known.begin(), known.end());
  throw Error(ExitCode::kUnreadable, "'" + name + "' is neither a file nor a baseline in " + folder,
              NearestHint(name, known, "create one with gprof-cli baseline save NAME TRACE..."));
}

}  // namespace gprof::cli
