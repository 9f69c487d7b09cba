// Which runs a gate looks at, and which part of them: the same options for every command that judges runs.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/arguments/selection_arguments.h"
#include "gate/runs/run_set.h"

namespace gprof::cli {

class RunSetArguments {
 public:
  void AddOptions(CLI::App& app);

  // `step` is what stands in a budget, for where the command line says nothing.
  RunSetOptions Read(const std::string& step = {}) const;

 private:
  SelectionArguments selection_;
  std::string step_, commit_;
  bool merges_ = false;
};

// The commit of the program as the CI system says it (GITHUB_SHA, CI_COMMIT_SHA, GIT_COMMIT); empty elsewhere.
std::string CommitOfEnvironment();

// What `name` stands for: a path that is there, or a baseline of that name in `folder`. Throws Error for neither.
std::string BaselinePath(const std::string& name, const std::string& folder);

inline constexpr const char* kBaselineFolder = ".gprof/baselines";

}  // namespace gprof::cli
