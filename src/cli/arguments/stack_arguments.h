// The options about call stacks at calls that take long: those of operating system calls, and --cudabacktrace.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "launch/run/launch.h"

namespace gprof::cli {

class StackArguments {
 public:
  void AddOptions(CLI::App& app, const std::string& group);
  // After `options` says what is traced: adds variables for the tracer.
  void Read(LaunchOptions* options) const;
  bool AreWanted(const LaunchOptions& options) const;

 private:
  uint64_t os_calls_ns_ = 80'000;
  uint32_t os_frames_ = 24, os_bytes_ = 65'536;
  std::string cuda_ = "none";
};

}  // namespace gprof::cli
