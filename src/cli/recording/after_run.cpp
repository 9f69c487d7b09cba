#include "cli/recording/after_run.h"

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cli/arguments/options.h"
#include "cli/commands/command.h"
#include "cli/entry/run.h"
#include "cli/recording/recorded.h"
#include "cli/talk.h"
#include "export/export.h"
#include "gprof/error.h"

namespace gprof::cli {
namespace {

// Names that Nsight Systems has for formats of ours.
constexpr std::pair<std::string_view, std::string_view> kNsysNames[] = {{"jsonlines", "jsonl"}, {"json", "chrome"}};
constexpr std::array<std::string_view, 6> kOnlyNsys = {"arrow", "arrowdir", "hdf", "parquetdir", "text", "info"};

std::string OurName(const std::string& name) {
  for (const auto& [theirs, ours] : kNsysNames) {
    if (name == theirs) return std::string(ours);
  }
  return name;
}

// What fails is said as a warning: it must not hide how the program ended.
void RunLater(const std::string& command, const std::vector<std::string>& arguments) {
  try {
    RunCommand(*FindCommand(command), arguments);
  } catch (const Error& error) {
    Warn(command + " failed: " + error.what() + (error.hint().empty() ? "" : "; " + error.hint()));
  } catch (const std::exception& error) {
    Warn(command + " failed: " + error.what());
  }
}

bool HasNothing(const std::string& path) { return path.empty() || ScanTrace(path).HasNothing(); }

}  // namespace

void AfterRun::AddOptions(CLI::App& app) {
  constexpr char kGroup[] = "Output";
  app.add_flag("--stats", wants_stats_, "print the tables of gprof-cli stats on stdout when APP exits")->group(kGroup);
  app.add_option("--export", export_,
                 "also export the trace, next to it, in these formats: sqlite, jsonlines, json, and those of gprof-cli "
                 "export --list")
      ->type_name("LIST")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->group(kGroup);
}

void AfterRun::Check() {
  if (export_.empty()) return;
  for (const std::string& word : SplitList(export_)) {
    const std::string name = OurName(word);
    if (name == "none") continue;
    if (FindExporter(name) != nullptr) {
      formats_.push_back(name);
    } else if (std::find(kOnlyNsys.begin(), kOnlyNsys.end(), name) != kOnlyNsys.end()) {
      unknown_.push_back(name);
    } else {
      std::vector<std::string> names;
      for (const Exporter& exporter : AllExporters()) names.emplace_back(exporter.name);
      throw Error(ExitCode::kUsage, "--export: unknown format '" + word + "'",
                  NearestHint(name, names, "gprof-cli export --list lists the formats"));
    }
  }
}

void AfterRun::Run(const std::string& trace_path, bool is_quiet) const {
  for (const std::string& name : unknown_) {
    if (!is_quiet) Warn("--export=" + name + ": this format is not supported; most tools read sqlite or jsonl");
  }
  if (HasNothing(trace_path)) return;
  for (const std::string& name : formats_) {
    // The trace is new, so what lies beside it by that name is of an earlier one.
    std::vector<std::string> arguments = {trace_path, "--format", name, "--force-overwrite"};
    if (is_quiet) arguments.emplace_back("--quiet");
    RunLater("export", arguments);
  }
  if (wants_stats_) RunLater("stats", {trace_path});
}

}  // namespace gprof::cli
