// The options that `profile` and `launch` have in common: what to record, and how to run the program.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "launch/launch.h"

namespace gprof::cli {

class ProgramArguments {
 public:
  void AddTraceOptions(CLI::App& app);
  void AddProgramOptions(CLI::App& app);
  void AddFlushOption(CLI::App& app);
  // The options, the program and its arguments. `usage` is for whoever forgot the program.
  LaunchOptions Read(const std::string& usage);

 private:
  void ReadTraceList();
  void TakeProgram(const std::string& usage);

  CLI::App* app_ = nullptr;
  LaunchOptions options_;
  std::string trace_ = "cuda,nvtx";
  std::string show_output_ = "true", trace_children_ = "true";
  bool cpu_page_faults_ = false, gpu_page_faults_ = false;
  std::vector<std::string> variables_;
};

// "SIGTERM"
std::string SignalName(int signal);

}  // namespace gprof::cli
