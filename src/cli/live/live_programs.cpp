#include "cli/live/live_programs.h"

#include <algorithm>
#include <optional>
#include <set>

#include "collect/run/own_process.h"
#include "gprof/error.h"
#include "launch/session/session_socket.h"

namespace gprof::cli {
namespace {

// A step is counted where it ended. Longer ones are not seen.
constexpr int64_t kLongestStepNs = 20'000'000'000;

}  // namespace

int64_t LivePrograms::Attend(int64_t now_ns) {
  if (now_ns < due_ns_) return due_ns_;
  Find(now_ns);
  for (auto at = programs_.begin(); at != programs_.end();) {
    try {
      Read(at->second.get());
      ++at;
    } catch (const Error&) {
      at = programs_.erase(at);  // it has ended meanwhile
    }
  }
  return due_ns_ = now_ns + interval_ns_;
}

void LivePrograms::Find(int64_t now_ns) {
  std::set<std::string> found;
  for (const FoundRun& recorder : FindRecorders(RunFolderBases())) {
    found.insert(recorder.path);
    if (programs_.contains(recorder.path)) continue;
    try {
      auto followed = std::make_unique<Followed>(recorder);
      followed->program.recorder = recorder.session;
      followed->read_until_ns = now_ns;
      programs_.emplace(recorder.path, std::move(followed));
    } catch (const Error&) {
      // It has ended since it was found.
    }
  }
  std::erase_if(programs_, [&](const auto& entry) { return !found.contains(entry.first); });
}

void LivePrograms::Read(Followed* followed) const {
  const int64_t from_ns = followed->read_until_ns, until_ns = MonotonicNs();
  const Json status = followed->reader.Refresh();
  LiveProgram& program = followed->program;
  program.program = PathOfText(TextAt(status, "program"));
  program.pid = static_cast<int64_t>(NumberAt(status, "program_pid", 0));
  program.recorder_bytes = NumberAt(status, "memory_bytes", 0);
  program.snapshots = NumberAt(status, "snapshots", 0);
  TopReading reading;
  if (const std::optional<Trace> trace = followed->reader.Between(from_ns, until_ns))
    reading = TopOf(*trace, until_ns - from_ns, 0);
  reading.time_ns = until_ns - from_ns;
  program.totals.Add(reading);
  if (const std::optional<Trace> longer = followed->reader.Between(from_ns - kLongestStepNs, until_ns))
    program.totals.Add(StepsThatEndedAfter(*longer, from_ns));
  followed->read_until_ns = until_ns;
  followed->reader.Forget(until_ns - kLongestStepNs);
}

std::vector<const LiveProgram*> LivePrograms::All() const {
  std::vector<const LiveProgram*> all;
  for (const auto& [path, followed] : programs_) all.push_back(&followed->program);
  return all;
}

LiveReader& LivePrograms::ReaderOf(const std::string& recorder) {
  Find(MonotonicNs());
  std::vector<Followed*> fitting;
  for (const auto& [path, followed] : programs_) {
    if (recorder.empty() || followed->program.recorder == recorder) fitting.push_back(followed.get());
  }
  if (fitting.size() == 1) return fitting.front()->reader;
  if (fitting.empty()) throw Error(ExitCode::kUsage, "no such recorder");
  throw Error(ExitCode::kUsage, "several recorders are running: add ?recorder=NAME");
}

}  // namespace gprof::cli
