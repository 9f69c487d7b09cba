// The options of `profile` that say when to record, spelled as Nsight Systems spells them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "launch/run/launch.h"

namespace gprof::cli {

class CaptureArguments {
 public:
  void AddOptions(CLI::App& app);
  void AddSignalOption(CLI::App& app);
  void AddWindowOptions(CLI::App& app);
  // What they mean together; throws Error where they contradict each other or what is recorded.
  CaptureOptions Read(bool trace_cuda, bool trace_nvtx) const;

 private:
  bool HasRange() const { return range_ != "none"; }
  void RefuseContradictions() const;
  void RefuseWhatIsMissing(bool trace_cuda, bool trace_nvtx) const;

  std::string delay_, duration_, kill_, nvtx_, range_end_, steps_, signal_, overhead_budget_;
  bool measures_overhead_ = false;
  std::string range_ = "none";
};

// "none", "sigterm", "SIGKILL", "9": the number, 0 for none. Throws Error in the name of `option`.
// "1", "1%" or "0.5 %": in millionths. Throws Error in the name of `option`.
uint32_t ReadBudgetPpm(const std::string& option, std::string text);

// As ReadSignal, of a signal that may be asked for by a name and is sent by hand.
int ReadCaptureSignal(const std::string& option, const std::string& text);

int ReadSignal(const std::string& option, const std::string& text);

// "skip=1,active=3" in full, as the tracer wants it.
std::string ReadSampleSteps(const std::string& text);

}  // namespace gprof::cli
