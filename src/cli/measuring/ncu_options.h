// Options of Nsight Compute that `counters` does not have: they are read, so that a command line of ncu works as it is
// where that is possible, and says what to do where it is not.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace gprof::cli {

class NcuOptions {
 public:
  // Hidden from help.
  void AddOptions(CLI::App& app);
  // Throws Error for those without which the command would do something else.
  void Refuse() const;
  // A line for each one that has no effect.
  void Warn(const std::function<void(const std::string&)>& warn) const;

 private:
  std::vector<CLI::Option*> added_;  // in the order of the table
  std::vector<std::string> values_;
};

}  // namespace gprof::cli
