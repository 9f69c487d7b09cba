// The options of commands that have one result, and show it in any of three ways.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace gprof::cli {

class ResultArguments {
 public:
  void AddOptions(CLI::App& app);

  using Render = std::function<std::string()>;
  // Prints it, and writes the summary where one is wanted.
  void Show(const Render& text, const Render& markdown, const Render& json) const;

 private:
  std::string format_ = "text", summary_;
};

}  // namespace gprof::cli
