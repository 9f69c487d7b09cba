// gprof-cli doctor: whether recording works on this machine, and what to do about the rest. docs/commands/doctor.md
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "base/text.h"
#include "cli/arguments/options.h"
#include "cli/commands/commands.h"
#include "cli/talk.h"
#include "gprof/error.h"
#include "gprof/trace/calibration_file.h"
#include "launch/calibrate/calibrate.h"
#include "launch/calibrate/calibration_load.h"
#include "launch/doctor/doctor.h"
#include "report/json_values.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kTitleColumns = 22, kStateColumns = 10;

// The same in text and JSON.
const char* StateText(CheckState state) {
  switch (state) {
    case CheckState::kGood:
      return "ok";
    case CheckState::kWarning:
      return "warning";
    case CheckState::kBad:
      return "failed";
    case CheckState::kNotHere:
      return "n/a";
  }
  return "";
}

std::string Colored(CheckState state, const std::string& text, const Style& style) {
  switch (state) {
    case CheckState::kGood:
      return style.Green(text);
    case CheckState::kWarning:
      return style.Yellow(text);
    case CheckState::kBad:
      return style.Red(text);
    case CheckState::kNotHere:
      return style.Dim(text);
  }
  return text;
}

std::string Padded(const std::string& text, std::size_t columns) {
  return text + std::string(columns > text.size() ? columns - text.size() : 1, ' ');
}

std::string RenderCheck(const MachineCheck& check, const Terminal& terminal) {
  const Style style(terminal.has_color);
  const std::size_t indent = kStateColumns + kTitleColumns;
  const std::size_t width = terminal.columns > indent + 20 ? terminal.columns - indent : 20;
  std::string out = Colored(check.state, Padded(StateText(check.state), kStateColumns), style) +
                    style.Bold(Padded(check.title, kTitleColumns));
  bool is_first = true;
  for (const std::string& line : Wrap(Printable(check.detail), width)) {
    out += (is_first ? "" : std::string(indent, ' ')) + line + "\n";
    is_first = false;
  }
  for (const std::string& line : Wrap(Printable(check.advice.empty() ? "" : "-> " + check.advice), width)) {
    if (!line.empty()) out += std::string(indent, ' ') + style.Cyan(line) + "\n";
  }
  return out;
}

class Doctor : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("--format", format_, "text (default) or json")
        ->type_name("text|json")
        ->check(OneOf({"text", "json"}))
        ->group("Output");
    app.add_flag("--calibrate", calibrates_,
                 "measure in about 5 seconds what recording costs on this machine; reports of later runs then estimate "
                 "the slow-down from that")
        ->group("Calibration");
    // What --calibrate runs under the tracer: operations or nodes, and the file for the result.
    app.add_option("--calibration-load", load_, "do operations in a loop and write what they took")
        ->expected(2)
        ->group("");
  }

  int Run() override {
    if (!load_.empty()) return RunLoad();
    if (calibrates_) return RunCalibration();
    const std::vector<MachineCheck> checks = Examine(ThisMachine());
    const auto bad = std::count_if(checks.begin(), checks.end(),
                                   [](const MachineCheck& check) { return check.state == CheckState::kBad; });
    WriteResult(format_ == "json" ? RenderJson(checks, bad == 0) : RenderText(checks, bad));
    return CodeOf(bad == 0 ? ExitCode::kGood : ExitCode::kGateFailed);
  }

 private:
  int RunLoad() const {
    RunCalibrationLoad(load_[0] == "nodes" ? LoadKind::kGraphNodes : LoadKind::kOperations, load_[1]);
    return CodeOf(ExitCode::kGood);
  }

  int RunCalibration() const {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    const MachineCalibration calibration = Calibrate({self, "doctor", "--calibration-load"});
    const std::string path = SaveCalibration(calibration);
    WriteResult(format_ == "json" ? CalibrationJson(calibration, path) : CalibrationText(calibration, path));
    return CodeOf(ExitCode::kGood);
  }

  static std::string CalibrationJson(const MachineCalibration& calibration, const std::string& path) {
    Json json = {{"schema", "gprof.calibration/1"},
                 {"machine", calibration.machine},
                 {"gpu", calibration.gpu},
                 {"measured_unix_s", calibration.measured_unix_s},
                 {"path", path},
                 {"costs", Json::array()}};
    for (const OperationCost& cost : calibration.costs) {
      json["costs"].push_back({{"operation", NameOf(cost)},
                               {"threads", cost.threads},
                               {"call_ns", cost.call_ns},
                               {"cold_call_ns", cost.cold_call_ns},
                               {"gpu_ns", cost.gpu_ns}});
    }
    return ToText(json);
  }

  static std::string CalibrationText(const MachineCalibration& calibration, const std::string& path) {
    std::string out = "Cost of recording one operation on " + calibration.gpu + ", in nanoseconds:\n\n";
    out += Padded("operation", kTitleColumns) + " threads      call   cold call       GPU\n";
    for (const OperationCost& cost : calibration.costs) {
      out += Padded(NameOf(cost), kTitleColumns) +
             fmt::format("{:>8}{:>10}{:>12}{:>10}\n", cost.threads, cost.call_ns, cost.cold_call_ns, cost.gpu_ns);
    }
    return out + "\nWritten to " + path + "\n";
  }

  static std::string NameOf(const OperationCost& cost) {
    return std::string(trace::kRecordedOperationNames[static_cast<std::size_t>(cost.operation)]);
  }

  static std::string RenderJson(const std::vector<MachineCheck>& checks, bool works) {
    Json json = {{"schema", "gprof.doctor/1"}, {"works", works}, {"checks", Json::array()}};
    for (const MachineCheck& check : checks) {
      json["checks"].push_back({{"id", check.id},
                                {"title", check.title},
                                {"state", StateText(check.state)},
                                {"detail", check.detail},
                                {"advice", check.advice}});
    }
    return ToText(json);
  }

  static std::string RenderText(const std::vector<MachineCheck>& checks, std::ptrdiff_t bad) {
    const Terminal terminal = DetectTerminal(STDOUT_FILENO);
    std::string out;
    for (const MachineCheck& check : checks) out += RenderCheck(check, terminal);
    if (bad == 0) return out + "\nNo problems found.\n";
    return out + "\n" + std::to_string(bad) + (bad == 1 ? " check" : " checks") + " failed.\n";
  }

  std::string format_ = "text";
  bool calibrates_ = false;
  std::vector<std::string> load_;
};

}  // namespace

std::unique_ptr<Command> MakeDoctor() { return std::make_unique<Doctor>(); }

}  // namespace gprof::cli
