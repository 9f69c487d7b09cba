// The options of `counters` that say what is measured of which launches, in the words of ncu.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/measuring/counter_run.h"
#include "counters/counter_plan.h"
#include "export/tables/ncu_page.h"
#include "launch/run/launch.h"

namespace gprof::cli {

class CounterArguments {
 public:
  void AddMetrics(CLI::App& app);
  void AddCollection(CLI::App& app);
  void AddFlags(CLI::App& app);

  // What follows the options of `app` is the program.
  void TakeProgram(const CLI::App& app);
  const std::vector<std::string>& program() const { return program_; }

  bool PrintsCsv() const { return prints_csv_; }
  NcuPage CsvPage() const;
  // Of options that say how values are printed: empty where they do.
  std::string WhatHasNoEffect() const;
  bool MeasuresRanges() const { return Value("--replay-mode") == "range"; }
  bool LocksClocks() const { return !Value("--clock-control").empty() && Value("--clock-control") != "none"; }
  bool SamplesInstructions() const { return Value("--page") == "source"; }
  // One of the words, the first without the option.
  std::string Word(std::string_view option, const std::vector<std::string>& words) const;

  // Throws Error where an option has a value that it does not know.
  void CheckWords() const;
  // With --import: a regular expression for the kernels to print, empty for all. Throws Error for options that choose
  // in another way.
  std::string ShownKernels() const;
  // Throws Error, with the command for Nsight Compute, for what the range profiler of CUPTI cannot do.
  void RefuseWhatCannotBe() const;
  counters::Wanted Wanted() const;
  bool WantsMetricsAlone() const { return wanted_.sets.empty() && wanted_.sections.empty() && !metrics_.empty(); }
  // All but the metrics.
  void Read(CounterWishes* wishes) const;
  void ReadSampling(const std::string& code_folder, CounterWishes* wishes) const;
  void SetCapture(LaunchOptions* options) const;

 private:
  static constexpr std::size_t kValues = 19;

  const std::string& Value(std::string_view option) const;
  uint32_t Number(std::string_view option) const;
  [[noreturn]] void Refuse(const std::string& what) const;
  void RefuseKernelsInRanges() const;
  void RefuseKill() const;
  void RefuseControls() const;
  void RefuseNames() const;
  void CheckMetrics() const;
  void SetPage(const std::string& page);
  // Nothing is measured before cudaProfilerStart.
  bool WaitsForProfilerStart() const;
  bool EndsProgram() const { return Value("--kill") == "on" || Value("--kill") == "yes"; }
  void AddNvtx(CLI::App& app);
  std::string NvtxLines() const;
  std::string NcuCommand() const;

  std::vector<std::string> program_, metrics_, nvtx_include_, nvtx_exclude_;
  counters::Wanted wanted_;
  uint32_t hang_limit_s_ = 20;
  std::array<std::string, kValues> values_;  // of the options with the words of ncu
  bool has_nvtx_ = false, prints_csv_ = false, is_like_ncu_ = false;
};

}  // namespace gprof::cli
