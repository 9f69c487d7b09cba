// The options that `profile`, `launch` and `compare` have in common: what to record, and how to run the program.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/nsys_arguments.h"
#include "cli/arguments/stack_arguments.h"
#include "launch/run/launch.h"

namespace gprof::cli {

// What happens to what the program writes, unless -w says something else.
enum class ShowOutput : uint8_t {
  kByDefault,         // it goes where it would go without us
  kOnStderrIfWanted,  // stdout is for our result, so it is shown on stderr or not at all
};

class ProgramArguments {
 public:
  void AddTraceOptions(CLI::App& app);
  void AddProgramOptions(CLI::App& app, ShowOutput show = ShowOutput::kByDefault);
  void AddFlushOption(CLI::App& app);
  void AddCompressOption(CLI::App& app);
  // Options of Nsight Systems that mean nothing here, after all others.
  void AddNsysOptions(CLI::App& app) { nsys_.AddOptions(app); }
  // The options, the program and its arguments. `usage` is for whoever forgot the program.
  LaunchOptions Read(const std::string& usage);
  // The trace options alone, for a program that runs already.
  LaunchOptions ReadTraceOptions();

 private:
  ProgramOutput OutputOf() const;
  void ReadTraceList();
  void ReadOsrt();
  void ReadGraphTrace();
  void AddPythonOptions(CLI::App& app, const std::string& group);
  void AddCollectorOptions(CLI::App& app, const std::string& group);
  void AddSamplingOptions(CLI::App& app, const std::string& group);
  void ReadSampling();
  void ReadPythonSampling();
  void ReadSignalSampling();
  CpuScope ScopeOf(const std::string& option, const std::string& word);
  double HertzOf(const std::string& option, const std::string& value) const;
  void ReadGpuMetrics();
  void ReadPytorch();
  void TakeProgram(const std::string& usage);

  CLI::App* app_ = nullptr;
  LaunchOptions options_;
  NsysArguments nsys_;
  std::string trace_ = "cuda,nvtx,osrt,mpi,gemm,nccl";
  ShowOutput show_ = ShowOutput::kByDefault;
  std::string show_output_, trace_children_ = "true", host_load_, nvml_;
  std::string gpu_metrics_devices_ = "none", gpu_metrics_;
  std::optional<double> gpu_metrics_burst_;
  std::string python_backtrace_;
  uint64_t osrt_threshold_ns_ = 0;
  StackArguments stacks_;
  std::string sample_, switches_, backtrace_ = "dwarf", python_sampling_, sample_method_ = "perf";
  bool cpu_page_faults_ = false, gpu_page_faults_ = false;
  bool is_compressed_ = false, only_trace_ = false;
  std::vector<std::string> variables_;
};

}  // namespace gprof::cli
