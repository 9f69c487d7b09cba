#include "cli/arguments/counter_arguments.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "analysis/facts/counters/counter_sections.h"
#include "base/expression/regular_expression.h"
#include "base/text.h"
#include "cli/arguments/options.h"
#include "cli/measuring/nvtx_words.h"
#include "counters/metric_names.h"
#include "gprof/error.h"

namespace gprof::cli {
namespace {

// The words of ncu for what a collection is to be. What this build cannot collect goes into a command line for ncu.
struct CollectOption {
  const char *names, *type, *meaning;
};
constexpr CollectOption kCollect[] = {
    {"-k,--kernel-name", "NAME", "only kernels with this name, or regex:EXPRESSION"},
    {"--kernel-name-base", "function|mangled", "which name -k is compared with (default function)"},
    {"--kernel-id", "ID", "only this launch: context:stream:[operation:]name:number"},
    {"-s,--launch-skip", "N", "skip the first N matching launches, or ranges"},
    {"--launch-skip-before-match", "N", "skip the first N launches of any kernel"},
    {"-c,--launch-count", "N", "measure at most N launches, or ranges"},
    {"--filter-mode", "global|per-gpu|per-launch-config", "scope of the counts of -s and -c (default global)"},
    {"--replay-mode", "auto|none|kernel|range",
     "what is repeated for each pass: the kernel, nothing (none), or the kernel if one pass is not enough (auto, "
     "default); range: measure the whole run, or NVTX ranges, without replay"},
    {"--graph-profiling", "graph", "measure each launch of a CUDA graph as a whole"},
    {"--cache-control", "none|all", "all: flush L2 before each pass (CUDA 13.4 or later; default none)"},
    {"--clock-control", "none|base|boost",
     "base or boost: lock the clocks of the GPU while APP runs (CUDA 13.4 or later; default none)"},
    {"--target-processes", "all|application-only", "measure child processes too (all, default), or only APP"},
    {"--devices", "LIST", "only these GPUs, by CUDA ordinal"},
    {"--profile-from-start", "on|off", "off: measure only between cudaProfilerStart and cudaProfilerStop (default on)"},
    {"--kill", "on|off", "on: stop APP with SIGTERM after the launches of -c (default off)"},
    {"--page", "summary|details|raw|source",
     "what to print (default summary); source: sample instructions instead of counting"},
    {"--sampling-interval", "N", "with --page source: one sample every 2^N cycles, 5 to 31 (default: CUPTI's)"},
    {"--print-units", "base|auto", "with --csv: base units (ns, byte; default), or scaled ones (ms, Kbyte)"},
    {"--print-summary", "none|per-kernel|per-gpu|per-nvtx",
     "with --csv: one row per launch (none, default), or minimum, maximum and average of each metric per kernel, grid "
     "and block, per GPU or per NVTX range"}};
// Sets of ncu that have another name here.
constexpr std::string_view kDefaultOfNcu = "default", kSourceOfNcu = "source";
constexpr uint32_t kLaunchesOfEach = 3;  // with the same grid and block size
constexpr const char* kCollectGroup = "Collection";

// The tracer takes expressions of POSIX, and would say this after the program has begun.
void CheckExpression(std::string_view option, std::string_view value) {
  if (value.starts_with(kRegex)) RequirePosixExpression(option, std::string(value.substr(kRegex.size())));
}

// For a name without arguments, within one that may have them.
std::string AsWholeWord(std::string_view name) {
  std::string text = "(^|[^A-Za-z0-9_])";
  for (const char c : name) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text + "($|[^A-Za-z0-9_])";
}

std::string LongName(std::string_view names) { return std::string(names.substr(names.rfind(',') + 1)); }

}  // namespace

void CounterArguments::AddMetrics(CLI::App& app) {
  std::vector<std::string> sets = {std::string(kDefaultOfNcu), std::string(kSourceOfNcu)};
  for (const CounterSet& set : CounterSets()) sets.emplace_back(set.name);
  app.add_option("--set", wanted_.sets, "set of sections to measure (default light)")
      ->type_name("light|basic|detailed|full|roofline")
      ->check(OneOf(sets))
      ->allow_extra_args(false)
      ->group("Metrics");
  app.add_option("--section", wanted_.sections,
                 "section, by its name here or in ncu (see --list-sections); may be repeated")
      ->type_name("SECTION")
      ->allow_extra_args(false)
      ->group("Metrics");
  app.add_option(
         "--metrics", metrics_,
         "metrics, comma-separated: full names, base names, regex:EXPRESSION, group:SECTION, breakdown:THROUGHPUT")
      ->type_name("LIST")
      ->allow_extra_args(false)
      ->group("Metrics");
}

void CounterArguments::AddCollection(CLI::App& app) {
  static_assert(std::size(kCollect) == kValues);
  for (std::size_t i = 0; i < std::size(kCollect); ++i) {
    app.add_option(kCollect[i].names, values_[i], kCollect[i].meaning)
        ->type_name(kCollect[i].type)
        ->group(kCollectGroup);
  }
  AddNvtx(app);
  app.add_option(
         "--hang-limit", hang_limit_s_,
         "warn, with the name of the kernel, if measuring one launch takes longer than this (default 20; 0: never)")
      ->type_name("SECONDS")
      ->check(WholeNumber(0, 1'000'000))
      ->group(kCollectGroup);
}

void CounterArguments::AddFlags(CLI::App& app) {
  const auto add_flag = [&](const char* name, bool* flag, const char* meaning) {
    app.add_flag(name, *flag, meaning)->group(kCollectGroup);
  };
  add_flag("--nvtx", &has_nvtx_, "accepted, no effect: NVTX ranges of launches are always recorded");
  add_flag("--csv", &prints_csv_, "print CSV");
  add_flag("--like-ncu", &is_like_ncu_, "defaults of ncu: set basic, all launches, kernel replay");
}

void CounterArguments::AddNvtx(CLI::App& app) {
  const auto add = [&](const char* name, std::vector<std::string>* values, const char* meaning) {
    app.add_option(name, *values, meaning)->type_name("RANGE")->allow_extra_args(false)->group(kCollectGroup);
  };
  add("--nvtx-include", &nvtx_include_,
      "only launches in this NVTX range, in ncu's syntax: NAME, NAME/, DOMAIN@OUTER/INNER]; may be repeated");
  add("--nvtx-exclude", &nvtx_exclude_, "no launches in this NVTX range, in the same syntax; may be repeated");
}

void CounterArguments::TakeProgram(const CLI::App& app) {
  program_ = app.remaining();
  if (!program_.empty() && program_.front() == "--") program_.erase(program_.begin());
  if (std::erase(wanted_.sets, kSourceOfNcu) > 0) SetPage("source");
}

void CounterArguments::SetPage(const std::string& page) {
  for (std::size_t i = 0; i < std::size(kCollect); ++i) {
    if (LongName(kCollect[i].names) == "--page" && values_[i].empty()) values_[i] = page;
  }
}

// A metric that no chip has would be missed when the program has run.
void CounterArguments::CheckMetrics() const {
  for (const std::string& list : metrics_) {
    for (const std::string& word : SplitList(list)) counters::RequireMetricName(word);
  }
}

const std::string& CounterArguments::Value(std::string_view option) const {
  const auto at = std::find_if(std::begin(kCollect), std::end(kCollect),
                               [&](const CollectOption& known) { return LongName(known.names) == option; });
  return values_[static_cast<std::size_t>(at - std::begin(kCollect))];
}

uint32_t CounterArguments::Number(std::string_view option) const {
  const std::string& text = Value(option);
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (!text.empty() && (error != std::errc() || end != text.data() + text.size()))
    throw Error(ExitCode::kUsage, fmt::format("{}: '{}' is not a number", option, text));
  return number;
}

std::string CounterArguments::Word(std::string_view option, const std::vector<std::string>& words) const {
  const std::string& value = Value(option);
  if (value.empty()) return words.front();
  if (std::find(words.begin(), words.end(), value) != words.end()) return value;
  throw Error(ExitCode::kUsage, fmt::format("{}: unknown value '{}'", option, value),
              fmt::format("use {}", fmt::join(words, ", ")));
}

// What the range profiler of CUPTI cannot do, Nsight Compute can.
void CounterArguments::Refuse(const std::string& what) const {
  throw Error(ExitCode::kUsage, what, "collect with Nsight Compute, and read its output: " + NcuCommand());
}

// Before the program runs, not after it.
void CounterArguments::CheckWords() const {
  Word("--page", {"summary", "details", "raw", "source"});
  Word("--print-units", {"base", "auto"});
  Word("--print-summary", {"none", "per-kernel", "per-nvtx", "per-gpu"});
  Word("--cache-control", {"none", "all"});
  Word("--kill", {"off", "on", "no", "yes"});
}

void CounterArguments::RefuseWhatCannotBe() const {
  CheckWords();
  if (!Value("--graph-profiling").empty() && Word("--graph-profiling", {"graph", "node"}) == "node")
    Refuse(
        "--graph-profiling node: CUPTI's range profiler does not run the kernels of a graph that was instantiated "
        "before "
        "it was started; --graph-profiling graph measures each launch of a graph as one");
  RefuseControls();
  if (Value("--replay-mode") == "application")
    Refuse("--replay-mode application: kernels are run again within one run of the program, or measured in one pass");
  if (Value("--kernel-name-base") == "demangled")
    Refuse("--kernel-name-base demangled: names are compared without their arguments (function), or mangled");
  RefuseNames();
  CheckMetrics();
  RefuseKill();
  RefuseKernelsInRanges();
}

void CounterArguments::RefuseNames() const {
  CheckExpression("--kernel-name", Value("--kernel-name"));
  const std::string& id = Value("--kernel-id");
  const std::size_t first = id.find(':'), second = id.find(':', first + 1), last = id.rfind(':');
  if (!id.empty() && (first == std::string::npos || second == std::string::npos || last <= second))
    throw Error(
        ExitCode::kUsage, fmt::format("--kernel-id: '{}' needs four parts", id),
        "write CONTEXT:STREAM:NAME:NUMBER; an empty part matches all, as in ::saxpy:3, the third launch of saxpy");
  if (!id.empty()) CheckExpression("--kernel-id", std::string_view(id).substr(second + 1, last - second - 1));
  if (Value("--devices").empty()) return;
  for (const std::string& device : SplitList(Value("--devices"))) {
    constexpr std::string_view kDigits = "0123456789";
    if (device.empty() || device.find_first_not_of(kDigits) != std::string::npos)
      throw Error(ExitCode::kUsage, fmt::format("--devices: '{}' is not a number", device),
                  "write the CUDA ordinals of GPUs in the program, such as 0,2");
  }
}

// Whether the libcupti in use can, the tracer sees.
void CounterArguments::RefuseControls() const {
  if (Word("--clock-control", {"none", "base", "boost", "reset"}) == "reset")
    Refuse("--clock-control reset: clocks are locked by this command alone, and only while the program runs");
  if (SamplesInstructions() && (LocksClocks() || Value("--cache-control") == "all"))
    throw Error(ExitCode::kUsage, "--page source samples the program as it runs",
                "omit --cache-control and --clock-control, or choose another --page");
}

// Ends with the launches of -c, which have to be counted in one place.
void CounterArguments::RefuseKill() const {
  if (!EndsProgram()) return;
  const bool has_count = Number("--launch-count") != 0;
  if (has_count && !MeasuresRanges() && Word("--filter-mode", {"global", "per-gpu", "per-launch-config"}) == "global")
    return;
  throw Error(ExitCode::kUsage, "--kill on stops the program after the launches of --launch-count",
              "add -c N, and omit --replay-mode range and --filter-mode");
}

NcuPage CounterArguments::CsvPage() const {
  const std::string summary = Word("--print-summary", {"none", "per-kernel", "per-nvtx", "per-gpu"});
  NcuPage page;
  page.rows = summary == "per-kernel"        ? NcuRows::kKernels
              : summary == "per-gpu"         ? NcuRows::kGpus
              : summary == "per-nvtx"        ? NcuRows::kNvtxRanges
              : Value("--page") == "details" ? NcuRows::kMetrics
                                             : NcuRows::kLaunches;
  page.scales_units = Word("--print-units", {"base", "auto"}) == "auto";
  return page;
}

// The report averages over the launches of a kernel, and its units are those that suit each value.
std::string CounterArguments::WhatHasNoEffect() const {
  if (prints_csv_ || Value("--page") == "raw") return {};
  const NcuRows rows = CsvPage().rows;
  const bool sets_summary = rows == NcuRows::kGpus || rows == NcuRows::kNvtxRanges;
  if (sets_summary) return "--print-summary " + Value("--print-summary") + " has no effect without --csv";
  return Value("--print-units") == "base" ? "--print-units base has no effect without --csv" : "";
}

std::string CounterArguments::ShownKernels() const {
  for (const CollectOption& option : kCollect) {
    const std::string name = LongName(option.names);
    const bool is_about_output = name == "--page" || name.starts_with("--print-") || name == "--kernel-name";
    if (!is_about_output && !Value(name).empty())
      throw Error(ExitCode::kUsage, name + " is about measuring, and --import prints what was measured",
                  "choose kernels with -k; gprof-cli report has more ways to select");
  }
  if (!nvtx_include_.empty() || !nvtx_exclude_.empty() || !wanted_.sets.empty() || !wanted_.sections.empty() ||
      !metrics_.empty())
    throw Error(ExitCode::kUsage,
                "--set, --section, --metrics and --nvtx-... are about measuring, and --import prints what was measured",
                "choose kernels with -k; --page details has every section");
  const std::string& kernel = Value("--kernel-name");
  CheckExpression("--kernel-name", kernel);
  if (kernel.empty() || kernel.starts_with(kRegex)) return kernel.empty() ? kernel : kernel.substr(kRegex.size());
  return AsWholeWord(kernel);
}

// A range is all that runs in it.
void CounterArguments::RefuseKernelsInRanges() const {
  if (!MeasuresRanges()) return;
  if (nvtx_include_.empty() && !nvtx_exclude_.empty())
    throw Error(ExitCode::kUsage,
                "--replay-mode range with --nvtx-exclude needs --nvtx-include, which defines the ranges");
  for (const char* option :
       {"--kernel-name", "--kernel-name-base", "--kernel-id", "--launch-skip-before-match", "--filter-mode"}) {
    if (!Value(option).empty())
      throw Error(ExitCode::kUsage,
                  fmt::format("{} selects kernels, but --replay-mode range measures everything in a range", option),
                  "choose ranges with --nvtx-include, --nvtx-exclude, --profile-from-start off, -s and -c, or measure "
                  "kernels with --replay-mode kernel");
  }
}

std::string CounterArguments::NvtxLines() const {
  std::string lines;
  for (const std::string& text : nvtx_include_) lines += NvtxFilterLines(ReadNvtxPlace("--nvtx-include", text), false);
  for (const std::string& text : nvtx_exclude_) lines += NvtxFilterLines(ReadNvtxPlace("--nvtx-exclude", text), true);
  constexpr std::size_t kMostFilters = 16;  // that the tracer has room for
  if (nvtx_include_.size() + nvtx_exclude_.size() > kMostFilters)
    throw Error(ExitCode::kUsage, fmt::format("more than {} of --nvtx-include and --nvtx-exclude", kMostFilters));
  return lines;
}

bool CounterArguments::WaitsForProfilerStart() const {
  const std::string from_start = Word("--profile-from-start", {"on", "off", "yes", "no"});
  return from_start == "off" || from_start == "no";
}

void CounterArguments::SetCapture(LaunchOptions* options) const {
  options->capture.ends_program = EndsProgram();
  if (EndsProgram()) options->capture.kill_signal = SIGTERM;
  if (!WaitsForProfilerStart()) return;
  options->capture.begin = "cudaProfilerApi";
  options->capture.end = "repeat";
}

counters::Wanted CounterArguments::Wanted() const {
  counters::Wanted wanted = wanted_;
  for (std::string& set : wanted.sets) {
    if (set == kDefaultOfNcu) set = "basic";
  }
  for (const std::string& list : metrics_) {
    for (std::string& word : SplitList(list)) wanted.metrics.push_back(std::move(word));
  }
  const bool is_empty = wanted.sets.empty() && wanted.sections.empty() && wanted.metrics.empty();
  if (is_empty) wanted.sets.emplace_back(is_like_ncu_ ? "basic" : "light");
  return wanted;
}

void CounterArguments::Read(CounterWishes* wishes) const {
  wishes->replay = Word("--replay-mode", {"auto", "none", "kernel", "range"});
  if (is_like_ncu_ && Value("--replay-mode").empty()) wishes->replay = "kernel";
  wishes->kernel = Value("--kernel-name");
  wishes->name_base = Word("--kernel-name-base", {"function", "mangled"});
  wishes->kernel_id = Value("--kernel-id");
  wishes->skip_before = Number("--launch-skip-before-match");
  wishes->skip = Number("--launch-skip");
  wishes->count = Number("--launch-count");
  wishes->mode = Word("--filter-mode", {"global", "per-gpu", "per-launch-config"});
  // Who says nothing of it gets some launches of each sort, as one is much like the other.
  const bool says_which = MeasuresRanges() || !Value("--launch-count").empty() || !Value("--launch-skip").empty() ||
                          !Value("--filter-mode").empty() || !wishes->kernel_id.empty() || is_like_ncu_;
  if (!says_which) {
    wishes->count = kLaunchesOfEach;
    wishes->mode = "per-launch-config";
  }
  wishes->hang_limit_s = hang_limit_s_;
  wishes->range_lines = NvtxLines();
  wishes->graphs = Value("--graph-profiling");
  if (Value("--cache-control") == "all") wishes->caches = "all";
  if (LocksClocks()) wishes->clocks = Value("--clock-control");
  wishes->ends_program = EndsProgram();
  if (!Value("--devices").empty()) wishes->devices = SplitList(Value("--devices"));
}

void CounterArguments::ReadSampling(const std::string& code_folder, CounterWishes* wishes) const {
  wishes->code_folder = code_folder;
  wishes->sampling_period = Number("--sampling-interval");
  if (wishes->sampling_period != 0 && (wishes->sampling_period < 5 || wishes->sampling_period > 31))
    throw Error(ExitCode::kUsage, "--sampling-interval: from 5 to 31", "a sample is taken every 2^N cycles");
}

// What was asked for, in the words of ncu, which they are.
std::string CounterArguments::NcuCommand() const {
  std::string command = "ncu";
  const auto add = [&](const std::string& name, const std::string& value) {
    command += " " + name + " " + ShellQuoted(value);
  };
  for (std::size_t i = 0; i < std::size(kCollect); ++i) {
    const std::string name = LongName(kCollect[i].names);
    const bool is_ours = name == "--page" || name == "--print-units" || name == "--print-summary" ||
                         (name == "--replay-mode" && values_[i] == "none");
    if (!values_[i].empty() && !is_ours) add(name, values_[i]);
  }
  if (has_nvtx_ || !nvtx_include_.empty() || !nvtx_exclude_.empty()) command += " --nvtx";
  for (const std::string& range : nvtx_include_) add("--nvtx-include", range);
  for (const std::string& range : nvtx_exclude_) add("--nvtx-exclude", range);
  for (const std::string& set : wanted_.sets) add("--set", set == "light" ? "basic" : set);
  for (const std::string& name : wanted_.sections) {
    const CounterSection* const section = FindCounterSection(name);
    add("--section", section == nullptr ? name : std::string(section->ncu_name));
  }
  for (const std::string& list : metrics_) add("--metrics", list);
  command += " --csv --page raw --print-units base";
  for (const std::string& word : program_) command += " " + ShellQuoted(word);
  return command + " | gprof-cli report -";
}

}  // namespace gprof::cli
