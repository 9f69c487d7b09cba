#include "cli/arguments/program_arguments.h"

#include <string.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cli/arguments/nsys_options.h"
#include "cli/arguments/options.h"
#include "cli/recording/compress_trace.h"
#include "cli/talk.h"
#include "gprof/error.h"

namespace gprof::cli {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

bool IsVariableName(std::string_view name) {
  const auto is_good = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_good);
}

// "A=1,B=2" as Nsight Systems has it. A comma that no NAME= follows belongs to the value.
Variables ReadVariables(const std::string& text) {
  Variables variables;
  for (const std::string& piece : SplitList(text)) {
    const std::size_t equals = piece.find('=');
    if (equals != std::string::npos && IsVariableName(piece.substr(0, equals))) {
      variables.emplace_back(piece.substr(0, equals), piece.substr(equals + 1));
    } else if (!variables.empty()) {
      variables.back().second += "," + piece;
    } else {
      throw Error(ExitCode::kUsage, "-e needs NAME=VALUE, not '" + text + "'");
    }
    if (variables.back().first.starts_with("GPROF_")) {
      throw Error(ExitCode::kUsage, "-e cannot set " + variables.back().first,
                  "GPROF_* variables are reserved for the tracer; see gprof-cli help profile for the options");
    }
  }
  return variables;
}

[[noreturn]] void RefuseDomain(const std::string& name) {
  std::vector<std::string> names;
  for (const NsysTrace& trace : NsysTraces()) names.emplace_back(trace.name);
  const std::string nearest = Nearest(name, names);
  throw Error(ExitCode::kUsage, "-t: unknown value '" + name + "'",
              nearest.empty() ? "use cuda, nvtx, cuda,nvtx or none" : "did you mean " + nearest + "?");
}

}  // namespace

std::string SignalName(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

void ProgramArguments::AddFlushOption(CLI::App& app) {
  app.add_option(
         "--flush-ms,--cuda-flush-interval", options_.flush_ms,
         "maximum time in ms before a record is written to the file (default 500); bounds the loss if the machine dies")
      ->type_name("MS")
      ->check(WholeNumber(0, 3'600'000))
      ->group("Output");
}

void ProgramArguments::AddCompressOption(CLI::App& app) {
  app.add_flag("--compress", is_compressed_,
               "compress the trace when APP exits (a fifth to two fifths smaller); all commands read it")
      ->group("Output");
}

void ProgramArguments::AddTraceOptions(CLI::App& app) {
  constexpr char kGroup[] = "Trace options";
  app_ = &app;
  app.add_option("-t,--trace", trace_, "what to trace: cuda,nvtx (default), cuda, nvtx or none")
      ->type_name("LIST")
      ->group(kGroup);
  app.add_flag("--cuda-trace-all-apis", options_.all_apis, "also trace cheap query calls such as cudaGetDevice")
      ->group(kGroup);
  app.add_option(
         "--cuda-graph-trace", options_.graph_trace,
         "trace CUDA graphs as a whole (graph, default), per node (node, higher overhead), or per node while the "
         "overhead is low (auto)")
      ->type_name("graph|node|auto")
      ->group(kGroup);
  app.add_flag("--cuda-memory-usage", options_.memory_usage, "also trace allocations, frees and memory pools")
      ->group(kGroup);
  app.add_flag("--cuda-um-cpu-page-faults", cpu_page_faults_, "also trace managed-memory migrations and page faults")
      ->group(kGroup);
  app.add_flag("--cuda-um-gpu-page-faults", gpu_page_faults_,
               "same as --cuda-um-cpu-page-faults: either one records both")
      ->group(kGroup);
  app.add_option("--host-load", host_load_,
                 "sample process CPU use, run-queue wait and memory, and system CPU use, this many times per second "
                 "(10)")
      ->type_name("on|off|HZ")
      ->group(kGroup);
  app.add_option("--cupti", options_.cupti_path, "use this libcupti instead of the one found automatically")
      ->type_name("PATH")
      ->group(kGroup);
}

void ProgramArguments::AddProgramOptions(CLI::App& app, ShowOutput show) {
  constexpr char kGroup[] = "Program";
  show_ = show;
  app.add_option("-e,--env-var", variables_, "environment variable for APP; repeatable, or comma-separated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->group(kGroup);
  app.add_option("-w,--show-output", show_output_,
                 show == ShowOutput::kByDefault ? "false discards stdout and stderr of APP"
                                                : "true shows stdout and stderr of APP on stderr (default false)")
      ->type_name("true|false")
      ->check(OneOf({"true", "false"}))
      ->group(kGroup);
  app.add_option("--trace-children", trace_children_, "false traces only APP, not its child processes")
      ->type_name("true|false")
      ->check(OneOf({"true", "false"}))
      ->group(kGroup);
  app.add_flag("-q,--quiet", options_.is_quiet, "print only errors, including from the tracer inside APP")
      ->group(kGroup);
}

LaunchOptions ProgramArguments::Read(const std::string& usage) {
  ReadTraceList();
  ReadGraphTrace();
  TakeProgram(usage);
  for (const std::string& text : variables_) {
    for (auto& variable : ReadVariables(text)) options_.variables.push_back(std::move(variable));
  }
  options_.program_output = OutputOf();
  options_.trace_children = trace_children_ == "true";
  options_.managed_memory = cpu_page_faults_ || gpu_page_faults_;
  options_.host_load_hz = HostLoadHz();
  nsys_.Read(&options_);
  options_.report_loss = Warn;
  if (is_compressed_) {
    options_.finish_trace = [is_quiet = options_.is_quiet](const FinishedTrace& trace) {
      CompressFinishedTrace(trace, is_quiet);
    };
  }
  if (!options_.is_quiet) {
    options_.warn = Warn;
    options_.say = Say;
    nsys_.Warn(Warn);
  }
  return options_;
}

ProgramOutput ProgramArguments::OutputOf() const {
  if (show_ == ShowOutput::kByDefault) return show_output_ == "false" ? ProgramOutput::kHidden : ProgramOutput::kShown;
  return show_output_ == "true" ? ProgramOutput::kOnStderr : ProgramOutput::kHidden;
}

double ProgramArguments::HostLoadHz() const {
  constexpr double kByDefault = 10, kMost = 100;
  if (host_load_ == "on") return kByDefault;
  if (host_load_ == "off") return 0;
  double hz = 0;
  const char* const end = host_load_.data() + host_load_.size();
  const auto [stop, error] = std::from_chars(host_load_.data(), end, hz);
  if (error != std::errc() || stop != end || !(hz > 0 && hz <= kMost)) {
    throw Error(ExitCode::kUsage, "--host-load: unknown value '" + host_load_ + "'",
                "use on, off, or a sampling rate in Hz up to 100");
  }
  return hz;
}

void ProgramArguments::ReadTraceList() {
  options_.trace_cuda = options_.trace_nvtx = false;
  bool wants_none = false;
  std::string missing;
  for (const std::string& name : SplitList(trace_)) {
    const NsysTrace* const known = FindNsysTrace(name);
    if (known == nullptr) RefuseDomain(name);
    options_.trace_cuda |= known->domain == NsysDomain::kCuda;
    options_.trace_nvtx |= known->domain == NsysDomain::kNvtx;
    wants_none |= known->domain == NsysDomain::kNone;
    if (known->domain == NsysDomain::kUnavailable) missing = name;
    if (!known->sentence.empty()) nsys_.Note("-t " + name, known->sentence);
  }
  if (!options_.trace_cuda && !options_.trace_nvtx && !wants_none) {
    throw Error(ExitCode::kUsage,
                "-t " + trace_ + ": nothing to record: " + std::string(FindNsysTrace(missing)->sentence),
                "add cuda or nvtx to -t");
  }
}

// Nsight Systems has "node:host-only" for graphs that the host launches, which are those that are recorded.
void ProgramArguments::ReadGraphTrace() {
  constexpr std::string_view kOrigins[] = {":host-only", ":host-and-device"};
  std::string& what = options_.graph_trace;
  const std::string asked = what;
  for (const std::string_view origin : kOrigins) {
    if (what.ends_with(origin)) what.resize(what.size() - origin.size());
  }
  if (asked.ends_with(kOrigins[1])) {
    nsys_.Note("--cuda-graph-trace=" + asked, "graphs launched from the device are not recorded");
  }
  const std::string wrong = what.empty() && asked.empty() ? "" : OneOf({"graph", "node", "auto"})(what);
  if (!wrong.empty()) {
    throw Error(ExitCode::kUsage, "--cuda-graph-trace: " + wrong, "see gprof-cli help profile");
  }
}

void ProgramArguments::TakeProgram(const std::string& usage) {
  options_.command = app_->remaining();
  if (!options_.command.empty() && options_.command.front() == "--") options_.command.erase(options_.command.begin());
  if (options_.command.empty()) throw Error(ExitCode::kUsage, "no program to run", usage);
}

}  // namespace gprof::cli
