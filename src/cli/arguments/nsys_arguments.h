// Takes the options of `nsys profile` that are none of ours, so that the command lines people have go on to work.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launch/run/launch.h"

namespace gprof::cli {

class NsysArguments {
 public:
  // Those of the table that `app` does not have, so call it last. Help leaves them out: there are a hundred.
  void AddOptions(CLI::App& app);
  // What they mean for `options`, where they mean something. Throws Error for those that cannot be had.
  void Read(LaunchOptions* options);
  // A warning in the words of a table, once for all that it is true of.
  void Note(const std::string& spelling, std::string_view sentence);
  void Warn(const std::function<void(const std::string&)>& warn) const;

 private:
  std::vector<std::pair<const CLI::Option*, std::size_t>> added_;  // and where they are in the table
  std::vector<std::string> values_;                                // by place in the table
  std::vector<std::pair<std::string_view, std::string>> notes_;    // sentence and spellings
};

}  // namespace gprof::cli
