// The options that make the result of a check known to a CI system, and the files that they ask for.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gate/check/verdict.h"

namespace gprof::cli {

class CiOutputs {
 public:
  void AddOptions(CLI::App& app);

  // Throws Error where the options make no sense, before anything is read.
  void Check() const;

  // Writes each file whole or not at all; annotations go to stderr, where GitHub reads them as well as on stdout.
  // Throws the first Error in the end: one file that cannot be written keeps no other from being written.
  void Write(const CheckResult& result) const;

  // What went wrong before there was a result: in the same files, so that nobody takes those of an earlier run for
  // this one's. Never throws.
  void WriteError(const Error& error) const;

 private:
  bool HasAnnotations() const;
  // What is to be written of `result`, which has to outlive them.
  std::vector<std::function<void()>> Steps(const CheckResult& result) const;

  std::string junit_, summary_, code_quality_, metrics_, open_metrics_;
  std::string annotations_ = "auto";
};

// Behind what the step has written before where `path` is $GITHUB_STEP_SUMMARY, else as a file of its own.
void WriteSummary(const std::string& path, std::string_view text);

}  // namespace gprof::cli
