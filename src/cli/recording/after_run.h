// --stats and --export of `profile`: what is made of a trace when the program has ended.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace gprof::cli {

class AfterRun {
 public:
  void AddOptions(CLI::App& app);
  // Throws Error for formats that nobody knows, before the program runs.
  void Check();
  bool IsWanted() const { return wants_stats_ || !formats_.empty() || !unknown_.empty(); }
  // The program has its exit code, so this never fails: it warns.
  void Run(const std::string& trace_path, bool is_quiet) const;

 private:
  std::string export_;
  bool wants_stats_ = false;
  std::vector<std::string> formats_;  // of ours
  std::vector<std::string> unknown_;  // that Nsight Systems has and we do not
};

}  // namespace gprof::cli
