// What runs beside a program that is recorded always: keeps the end of its trace, looks for what is worth a snapshot,
// and takes one when that happens or somebody asks.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/run/attendant.h"
#include "launch/run/launch.h"
#include "launch/run/trace_output.h"
#include "launch/salvage/run_folder_files.h"
#include "launch/session/session_socket.h"
#include "recorder/ring.h"
#include "recorder/ring_snapshot.h"
#include "recorder/watch.h"

namespace gprof {

struct RecorderSettings {
  RingLimits limits;
  WatchOptions watch;
  bool on_failure = true;                   // the program ends with an exit code other than 0, or by a signal
  std::string file;                         // a snapshot is taken when it appears; empty: none
  int64_t cooldown_ns = 60'000'000'000;     // after a snapshot that nobody asked for
  uint32_t most = 10;                       // of those
  std::string settings;                     // what is left in the run folder (kRecorderFile)
  std::function<OutputFile()> open_output;  // throws Error
  std::function<void(const std::string&)> say, warn;
  // Answers a line that came through the socket.
  std::function<Answer(class Recorder&, const std::string&)> answer_to;
};

struct TakenSnapshot {
  uint64_t number = 0;                // of the request
  std::string path, reason, failure;  // a failure: why there is none
  TraceFile file;
  uint64_t bytes = 0;
  int64_t from_ns = 0, until_ns = 0;
  int64_t took_ns = 0;  // from the request to the end of the file
};

// The program of a recorder, as that has left it in its folder; 0: none.
pid_t RecordedProgram(const FoundRun& run);

class Recorder : public RunCompanion {
 public:
  // Throws Error where the folder cannot be used.
  Recorder(RunFolder* folder, RecorderSettings settings);
  ~Recorder() override;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void OnProgramStart(pid_t program) override;
  int64_t Attend(int64_t now_ns) override;
  void AddDescriptors(std::vector<pollfd>* descriptors) const override { server_->AddDescriptors(descriptors); }
  void OnCaptureSignal() override { Request("signal"); }
  void OnProgramEnd(int exit_code, int signal) override;
  std::vector<TraceFile> Traces() const override;

  // Takes a snapshot as soon as the processes have written what they have, and where they make no progress what they
  // are in the midst of. Into `output`, or where the settings say. Returns its number.
  uint64_t Request(const std::string& reason, std::optional<OutputFile> output = {});
  // Null while it is not taken yet.
  const TakenSnapshot* Find(uint64_t number) const;

  // Has all processes write what they have. Returns the number of the order.
  uint32_t Flush() { return Order(trace::CaptureWish::kFlush); }
  bool IsFlushed(uint32_t number) const;

  const Ring& ring() const { return *ring_; }
  MeasuredSlowDown SlowDown() const;
  SeenWindows::Sums Windows() const;
  const RecorderSettings& settings() const { return settings_; }
  const std::vector<TakenSnapshot>& taken() const { return taken_; }
  pid_t program() const { return program_; }

 private:
  struct Job {
    uint64_t number;
    std::string reason;
    std::optional<OutputFile> output;
    int64_t asked_ns;
    uint32_t epoch;
  };
  uint32_t Order(trace::CaptureWish wish);
  void Follow(int64_t now_ns);
  void LookForTriggers(int64_t now_ns);
  void Trigger(const std::string& reason, int64_t now_ns);
  void Take(Job* job);

  RunFolder* folder_;
  RecorderSettings settings_;
  std::unique_ptr<Ring> ring_;
  Watch watch_;
  std::unique_ptr<SessionServer> server_;
  pid_t program_ = -1;
  std::list<Job> jobs_;
  std::vector<TakenSnapshot> taken_;
  uint64_t requests_ = 0;
  int64_t patient_until_ns_ = 0;  // with processes that do not write what they have
  uint32_t triggered_ = 0;
  int64_t next_look_ns_ = 0, quiet_until_ns_ = 0;
  bool is_file_seen_ = false, is_full_told_ = false;
};

}  // namespace gprof
