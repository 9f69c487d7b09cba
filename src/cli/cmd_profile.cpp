// gprof-cli profile: runs a program and records it. docs/commands/profile.md
#include <string.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/leftovers.h"
#include "cli/options.h"
#include "cli/recorded.h"
#include "cli/talk.h"
#include "launch/launch.h"

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
      throw Error(ExitCode::kUsage, "-e wants NAME=VALUE, not '" + text + "'");
    }
    if (variables.back().first.starts_with("GPROF_")) {
      throw Error(ExitCode::kUsage, "-e cannot set " + variables.back().first,
                  "GPROF_* is how gprof-cli talks to its tracer; gprof-cli help profile lists the options");
    }
  }
  return variables;
}

std::string SignalName(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

class Profile : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app_ = &app;
    AddOutputOptions(app);
    AddTraceOptions(app);
    AddProgramOptions(app);
  }

  int Run() override {
    ReadTraceList();
    TakeProgram();
    for (const std::string& text : variables_) {
      for (auto& variable : ReadVariables(text)) options_.variables.push_back(std::move(variable));
    }
    options_.show_output = show_output_ == "true";
    options_.warn = Warn;
    options_.report_loss = Warn;
    RecoverEarlierRuns();
    const LaunchResult result = RunTraced(options_);
    // The program has its code, and nothing that goes wrong from here on may change it.
    try {
      TellWhatWasRecorded(result);
    } catch (const std::exception& error) {
      Warn(std::string("cannot say what was recorded: ") + error.what());
    }
    return result.exit_code;
  }

 private:
  void AddOutputOptions(CLI::App& app) {
    app.add_option("-o,--output", options_.output,
                   "trace file, run.trace by default; %p is the pid of APP, %h the host, %n the first free number, "
                   "%q{NAME} an environment variable, %% a percent sign")
        ->type_name("FILE")
        ->group("Output");
    app.add_flag("-f,--force-overwrite", options_.may_overwrite, "replace the trace file if it exists")
        ->group("Output");
    app.add_option(
           "--flush-ms", options_.flush_ms,
           "longest time in ms that a record waits before it is in the file (500): what a killed machine can lose")
        ->type_name("MS")
        ->check(WholeNumber(1, 3'600'000))
        ->group("Output");
  }

  void AddTraceOptions(CLI::App& app) {
    app.add_option("-t,--trace", trace_, "what to record: cuda,nvtx (default), one of them, or none")
        ->type_name("LIST")
        ->group("What is recorded");
    app.add_flag("--cuda-trace-all-apis", options_.all_apis, "cheap query calls such as cudaGetDevice, too")
        ->group("What is recorded");
    app.add_option("--cuda-graph-trace", options_.graph_trace,
                   "CUDA graphs as a whole (graph, default), or every node of them (node), which costs more")
        ->type_name("graph|node")
        ->check(OneOf({"graph", "node"}))
        ->group("What is recorded");
    app.add_option("--cupti", options_.cupti_path, "libcupti to use in place of the one found")
        ->type_name("PATH")
        ->group("What is recorded");
  }

  void AddProgramOptions(CLI::App& app) {
    app.add_option("-e,--env-var", variables_, "environment variable for APP; repeat it, or separate by commas")
        ->type_name("NAME=VALUE")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false)
        ->group("Program");
    app.add_option("-w,--show-output", show_output_, "false sends stdout and stderr of APP to /dev/null")
        ->type_name("true|false")
        ->check(OneOf({"true", "false"}))
        ->group("Program");
  }

  void ReadTraceList() {
    options_.trace_cuda = options_.trace_nvtx = false;
    for (const std::string& domain : SplitList(trace_)) {
      if (domain == "cuda") {
        options_.trace_cuda = true;
      } else if (domain == "nvtx") {
        options_.trace_nvtx = true;
      } else if (domain != "none") {
        throw Error(ExitCode::kUsage, "-t does not know '" + domain + "'",
                    "it takes cuda, nvtx, both with a comma, or none");
      }
    }
  }

  void TakeProgram() {
    options_.command = app_->remaining();
    if (!options_.command.empty() && options_.command.front() == "--") options_.command.erase(options_.command.begin());
    if (options_.command.empty()) {
      throw Error(ExitCode::kUsage, "no program to run", "usage: gprof-cli profile [options] [--] APP [ARGS...]");
    }
  }

  void TellWhatWasRecorded(const LaunchResult& result) const {
    const std::string app = "'" + options_.command.front() + "'";
    const std::string end = result.signal != 0 ? app + " was killed by " + SignalName(result.signal) + "; " : "";
    const Recorded recorded = ScanTrace(result.trace_path);
    if (recorded.bytes == 0) {
      const bool was_asked = options_.trace_cuda || options_.trace_nvtx;
      Say(end + "nothing was recorded" +
          (was_asked ? ": " + app + " made no CUDA or NVTX call that the tracer could see" : ", as -t none asks"));
      return;
    }
    const char* const loss = recorded.loss_records != 0 ? " (records were lost: the report counts them)" : "";
    Say(end + "recorded " + Describe(recorded) + loss + ". Next: gprof-cli report " + ShellQuoted(result.trace_path));
  }

  CLI::App* app_ = nullptr;
  LaunchOptions options_;
  std::string trace_ = "cuda,nvtx";
  std::string show_output_ = "true";
  std::vector<std::string> variables_;
};

}  // namespace

std::unique_ptr<Command> MakeProfile() {
  return std::make_unique<Profile>();
}

}  // namespace gprof::cli
