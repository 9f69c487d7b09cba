#include "recorder/recorder.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "collect/run/own_process.h"
#include "gprof/error.h"
#include "launch/run/progress.h"

namespace gprof {
namespace {

constexpr int64_t kLookNs = 100'000'000;            // between two looks at what was recorded
constexpr int64_t kPollNs = 2'000'000;              // while processes write what they have
constexpr int64_t kPatienceNs = 500'000'000;        // with those that do not
constexpr int64_t kLookPatienceNs = 5'000'000'000;  // with those that look up the functions on all stacks
constexpr int64_t kQuietNs = 1'000'000'000;         // a program that has told nothing for so long makes no progress

std::string FileIn(const RunFolder& folder, const char* name) { return folder.path() + "/" + name; }

// The settings, which are a line, and the program below.
bool WriteRecorderFile(const RunFolder& folder, const std::string& settings, pid_t program) {
  std::ofstream file(FileIn(folder, trace::kRecorderFile), std::ios::binary);
  file << settings << '\n' << program << '\n';
  file.close();
  return !file.fail();
}

}  // namespace

Recorder::Recorder(RunFolder* folder, RecorderSettings settings)
    : folder_(folder),
      settings_(std::move(settings)),
      ring_(Ring::Open(FileIn(*folder, trace::kRingFile), settings_.limits)),
      watch_(settings_.watch) {
  if (!ring_ || !WriteRecorderFile(*folder, settings_.settings, 0)) {
    throw Error(ExitCode::kLaunchFailed, "cannot record into '" + folder->path() + "': " + std::strerror(errno),
                "run gprof-cli doctor for advice");
  }
  is_file_seen_ = !settings_.file.empty() && access(settings_.file.c_str(), F_OK) == 0;
  server_ = std::make_unique<SessionServer>(
      folder->path(), [this](const std::string& line) { return settings_.answer_to(*this, line); });
}

pid_t RecordedProgram(const FoundRun& run) {
  std::ifstream file(run.path + "/" + trace::kRecorderFile, std::ios::binary);
  std::string settings;
  pid_t program = 0;
  std::getline(file, settings);
  return file >> program ? program : 0;
}

void Recorder::OnProgramStart(pid_t program) {
  program_ = program;
  WriteRecorderFile(*folder_, settings_.settings, program);
}

// Processes that live on are told first, as the tracer would complain of a file that is gone.
Recorder::~Recorder() {
  CaptureOrder order = folder_->order();
  order.wish = trace::CaptureWish::kCancel;
  folder_->Publish(order);
  const std::string ring = FileIn(*folder_, trace::kRingFile);
  unlink(ring.c_str());
  unlink(Ring::LastingPath(ring).c_str());
  unlink(FileIn(*folder_, trace::kRecorderFile).c_str());
}

int64_t Recorder::Attend(int64_t now_ns) {
  if (now_ns >= next_look_ns_) {
    Follow(now_ns);
    LookForTriggers(now_ns);
    next_look_ns_ = now_ns + kLookNs;
  }
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    if (!IsFlushed(job->epoch)) {
      ++job;
      continue;
    }
    Take(&*job);
    job = jobs_.erase(job);
  }
  const int64_t answer_ns = server_->Attend(now_ns);
  return std::min({next_look_ns_, answer_ns, jobs_.empty() ? kNoDeadline : now_ns + kPollNs});
}

void Recorder::Follow(int64_t now_ns) {
  ring_->Follow([this](const RingChunk& chunk) { watch_.Take(*ring_, chunk); });
  ring_->Forget(now_ns);
  if (ring_->can_forget() || is_full_told_) return;
  is_full_told_ = true;
  settings_.warn("the file system of '" + folder_->path() + "' cannot give back parts of a file: recording stops at " +
                 FormatBytes(static_cast<double>(folder_->order().limit_bytes)));
}

void Recorder::LookForTriggers(int64_t now_ns) {
  const std::string what = watch_.Look(now_ns);
  if (!what.empty()) Trigger(what, now_ns);
  if (settings_.file.empty()) return;
  const bool is_there = access(settings_.file.c_str(), F_OK) == 0;
  if (is_there && !is_file_seen_) Trigger("'" + settings_.file + "' appeared", now_ns);
  is_file_seen_ = is_there;
}

void Recorder::Trigger(const std::string& reason, int64_t now_ns) {
  if (now_ns < quiet_until_ns_ || triggered_ >= settings_.most) return;
  ++triggered_;
  quiet_until_ns_ = now_ns + settings_.cooldown_ns;
  Request(reason);
}

uint64_t Recorder::Request(const std::string& reason, std::optional<OutputFile> output) {
  const int64_t now_ns = MonotonicNs();
  const bool looks = watch_.QuietNs(now_ns) >= kQuietNs;
  const uint32_t epoch = Order(looks ? trace::CaptureWish::kLook : trace::CaptureWish::kFlush);
  jobs_.push_back({++requests_, reason, std::move(output), now_ns, epoch});
  return requests_;
}

uint32_t Recorder::Order(trace::CaptureWish wish) {
  CaptureOrder order = folder_->order();
  order.wish = wish;
  const int64_t patience_ns = wish == trace::CaptureWish::kLook ? kLookPatienceNs : kPatienceNs;
  patient_until_ns_ = std::max(patient_until_ns_, MonotonicNs() + patience_ns);
  return folder_->Publish(order);
}

bool Recorder::IsFlushed(uint32_t number) const {
  return MonotonicNs() > patient_until_ns_ || ProgressOf(*folder_, number).IsComplete();
}

void Recorder::Take(Job* job) {
  ring_->Follow([this](const RingChunk& chunk) { watch_.Take(*ring_, chunk); });
  TakenSnapshot taken;
  taken.number = job->number;
  taken.reason = job->reason;
  try {
    if (!job->output) job->output.emplace(settings_.open_output());
    const OutputFile& output = *job->output;
    taken.path = output.path;
    taken.file = {output.absolute_path, output.device, output.inode, output.run};
    taken.until_ns = job->asked_ns;
    const Snapshot snapshot = WriteSnapshot(
        *ring_, {.run = taken.file.run,
                 .write = AppendTo(taken.file),
                 .from_ns = job->asked_ns - settings_.limits.keep_ns,
                 .until_ns = job->asked_ns,
                 .reason = job->reason,
                 .writer = OwnProcessKey(),
                 .is_in_pause = [this](const trace::ProcessKey& process) { return watch_.IsInPause(process); }});
    taken.bytes = snapshot.bytes;
    taken.from_ns = snapshot.from_ns;
    if (snapshot.error != 0) taken.failure = "cannot write '" + taken.path + "': " + std::strerror(snapshot.error);
  } catch (const Error& error) {
    taken.failure = error.what();
  }
  taken.took_ns = MonotonicNs() - job->asked_ns;
  if (!taken.failure.empty()) {
    settings_.warn("no snapshot (" + taken.reason + "): " + taken.failure);
  } else {
    settings_.say("wrote snapshot '" + taken.path + "' (" + FormatBytes(static_cast<double>(taken.bytes)) +
                  "): " + taken.reason + ". Next: gprof-cli report " + taken.path);
  }
  taken_.push_back(std::move(taken));
  malloc_trim(0);  // it took megabytes for a moment, and the recorder stays for days
}

MeasuredSlowDown Recorder::SlowDown() const { return watch_.SlowDown(MonotonicNs()); }
SeenWindows::Sums Recorder::Windows() const { return watch_.Windows(MonotonicNs()); }

const TakenSnapshot* Recorder::Find(uint64_t number) const {
  const auto at =
      std::find_if(taken_.begin(), taken_.end(), [number](const auto& one) { return one.number == number; });
  return at == taken_.end() ? nullptr : &*at;
}

void Recorder::OnProgramEnd(int exit_code, int signal) {
  const int64_t now_ns = MonotonicNs();
  Follow(now_ns);
  if (settings_.on_failure && (exit_code != 0 || signal != 0)) {
    const std::string how = signal != 0 ? "the program was killed by " + SignalName(signal)
                                        : "the program ended with exit code " + std::to_string(exit_code);
    jobs_.push_back({++requests_, how, {}, now_ns, 0});
  }
  for (Job& job : jobs_) Take(&job);
  jobs_.clear();
  server_->Attend(now_ns);
}

std::vector<TraceFile> Recorder::Traces() const {
  std::vector<TraceFile> traces;
  for (const TakenSnapshot& one : taken_) {
    if (one.failure.empty()) traces.push_back(one.file);
  }
  return traces;
}

}  // namespace gprof
