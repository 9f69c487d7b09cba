#include "cli/live/recorder_protocol.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "base/units.h"
#include "cli/arguments/options.h"
#include "cli/commands/command.h"
#include "cli/recording/session_protocol.h"
#include "cli/talk.h"
#include "collect/run/own_process.h"
#include "gprof/error.h"

namespace gprof::cli {
namespace {

int64_t UnixNs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

// Of a program that is recorded within a budget.
Json SlowDownOf(const Recorder& recorder) {
  const MeasuredSlowDown measured = recorder.SlowDown();
  if (!measured.IsKnown()) return nullptr;
  Json json = {{"percent", measured.percent},
               {"low_percent", measured.low_percent},
               {"high_percent", measured.high_percent},
               {"windows", measured.windows}};
  if (measured.IsOfShares()) {
    const PercentInterval average = OnAverage(measured);
    json["base"] = {{"percent", measured.base.middle},
                    {"low_percent", measured.base.low},
                    {"high_percent", measured.base.high},
                    {"windows", measured.base_windows}};
    json["average"] = {{"percent", average.middle}, {"low_percent", average.low}, {"high_percent", average.high}};
  }
  return json;
}

// When it recorded what, of the time since its first window.
Json WindowsOf(const Recorder& recorder) {
  const SeenWindows::Sums sums = recorder.Windows();
  if (sums.windows == 0) return nullptr;
  return {{"count", sums.windows}, {"window_ns", sums.window_ns}, {"base_ns", sums.base_ns}, {"all_ns", sums.all_ns}};
}

Json StatusOf(const Recorder& recorder, const std::string& app) {
  const Ring& ring = recorder.ring();
  const int64_t since_ns = static_cast<int64_t>(ring.complete_since_ns());
  return {{"ok", true},
          {"program", TextOfPath(app)},
          {"program_pid", recorder.program()},
          {"time_unix_ns", UnixNs()},
          {"keep_ns", recorder.settings().limits.keep_ns},
          {"memory_bytes", ring.BytesInMemory()},
          {"memory_limit_bytes", recorder.settings().limits.memory_bytes},
          {"complete_ns", since_ns == 0 ? Json() : Json(MonotonicNs() - since_ns)},
          {"forgotten_records", ring.forgotten_records()},
          {"slow_down", SlowDownOf(recorder)},
          {"windows", WindowsOf(recorder)},
          {"snapshots", recorder.taken().size()}};
}

Json FactsOf(const TakenSnapshot& taken) {
  return {{"ok", true},
          {"output", TextOfPath(taken.path)},
          {"reason", TextOfPath(taken.reason)},
          {"bytes", taken.bytes},
          {"from_ns", taken.from_ns},
          {"until_ns", taken.until_ns},
          {"took_ns", taken.took_ns}};
}

Answer CarryOut(Recorder& recorder, const std::string& app, const Json& request) {
  const std::string what = TextAt(request, "do");
  if (what == "status") return Ready(StatusOf(recorder, app));
  if (what == "flush") {
    const uint32_t number = recorder.Flush();
    return [&recorder, number, app]() -> std::optional<std::string> {
      return recorder.IsFlushed(number) ? std::optional(LineOf(StatusOf(recorder, app))) : std::nullopt;
    };
  }
  if (what != "snapshot") {
    throw Error(ExitCode::kUsage, "'" + PathOfText(what) + "' is not a command of a recorder",
                "the recorder may run a different version of gprof-cli");
  }
  std::optional<OutputFile> output;
  const std::string path = PathOfText(TextAt(request, "output"));
  if (!path.empty()) {
    output.emplace(-1);
    output->path = output->absolute_path = path;
    output->device = NumberAt(request, "device", 0);
    output->inode = NumberAt(request, "inode", 0);
    output->run = NumberAt(request, "run", 0);
  }
  const uint64_t number = recorder.Request(PathOfText(TextAt(request, "reason")), std::move(output));
  return [&recorder, number]() -> std::optional<std::string> {
    const TakenSnapshot* const taken = recorder.Find(number);
    if (taken == nullptr) return std::nullopt;
    if (taken->failure.empty()) return LineOf(FactsOf(*taken));
    return LineOf(JsonOf(Error(ExitCode::kUnreadable, taken->failure)));
  };
}

bool IsPidOf(const FoundRun& recorder, const std::string& text) {
  if (std::to_string(recorder.launcher_pid) == text) return true;
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return false;
  return std::to_string(NumberAt(AskSession(recorder, {{"do", "status"}}), "program_pid", 0)) == text;
}

Json SettingsIn(const FoundRun& run) {
  std::ifstream file(run.path + "/" + trace::kRecorderFile, std::ios::binary);
  std::string line;  // what follows is Recorder's own
  std::getline(file, line);
  return Json::parse(line, nullptr, false);
}

// The end of the last chunk is the last that is known of the program.
int64_t LastNs(const Ring& ring) {
  uint64_t last_ns = 0;
  for (const RingChunk& chunk : ring.Chunks()) last_ns = std::max(last_ns, chunk.header.last_ns);
  return static_cast<int64_t>(last_ns);
}

void RecoverOne(const FoundRun& run, const Json& settings) {
  const auto keep_ns = static_cast<int64_t>(NumberAt(settings, "keep_ns", 0));
  const std::unique_ptr<Ring> ring = Ring::OpenToRead(run.path + "/" + trace::kRingFile);
  if (!ring) return;
  ring->Follow();
  const int64_t until_ns = LastNs(*ring);
  if (until_ns == 0) return;
  OutputFile output = OpenDefaultOutput(PathOfText(TextAt(settings, "output")), 1, false);
  const Snapshot snapshot =
      WriteSnapshot(*ring, {.run = output.run,
                            .write = AppendTo({output.absolute_path, output.device, output.inode, output.run}),
                            .from_ns = until_ns - keep_ns,
                            .until_ns = until_ns,
                            .reason = "the recorder was killed",
                            .writer = OwnProcessKey()});
  if (snapshot.error != 0) {
    throw Error(ExitCode::kUnreadable, "cannot write '" + output.path + "': " + std::strerror(snapshot.error));
  }
  Say("a recorder was killed: its last " + FormatNs(until_ns - snapshot.from_ns) + " are in '" + output.path +
      "'. Next: gprof-cli report " + ShellQuoted(output.path));
}

}  // namespace

Answer AnswerRecorder(Recorder& recorder, const std::string& app, const std::string& line) {
  return AnswerLine(line, [&](const Json& request) { return CarryOut(recorder, app, request); });
}

FoundRun ChooseRecorder(const std::string& text) {
  const std::vector<FoundRun> recorders = FindRecorders(RunFolderBases());
  std::string names;
  for (const FoundRun& recorder : recorders) {
    names += (names.empty() ? "" : ", ") + recorder.session;
    if (recorder.session == text || IsPidOf(recorder, text)) return recorder;
  }
  if (recorders.empty() || !text.empty()) {
    throw Error(ExitCode::kUsage, text.empty() ? "no recorder is running" : "no recorder '" + text + "'",
                names.empty() ? "start one with gprof-cli record APP" : "available: " + names);
  }
  if (recorders.size() > 1) {
    throw Error(ExitCode::kUsage, "several recorders are running", "choose one by its name or PID: " + names);
  }
  return recorders.front();
}

std::string SettingsText(const RecorderSettings& settings, const std::string& output) {
  std::error_code failed;
  return LineOf({{"output", TextOfPath(std::filesystem::absolute(output, failed).string())},
                 {"keep_ns", static_cast<uint64_t>(settings.limits.keep_ns)}});
}

void RecoverRecorders() {
  for (const FoundRun& run : FindRuns(RunFolderBases())) {
    if (access((run.path + "/" + trace::kRecorderFile).c_str(), F_OK) != 0 || !ArenasIn(run.path).empty()) continue;
    const std::unique_ptr<RunClaim> claim = RunClaim::Take(run);
    const Json settings = claim ? SettingsIn(run) : Json();
    if (!settings.is_object()) continue;
    try {
      RecoverOne(run, settings);
    } catch (const Error& error) {
      // It stays where it is, for the next command.
      Warn(std::string("a recorder was killed, and its last seconds cannot be written: ") + error.what());
      continue;
    }
    const std::string ring = run.path + "/" + trace::kRingFile;
    unlink(ring.c_str());
    unlink(Ring::LastingPath(ring).c_str());
    unlink((run.path + "/" + trace::kRecorderFile).c_str());
    RemoveRunFolder(run.path);
  }
}

}  // namespace gprof::cli
