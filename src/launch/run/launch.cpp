#include "launch/run/launch.h"

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gprof/error.h"
#include "gprof/trace/delay_request.h"
#include "gprof/trace/run_folder.h"
#include "launch/run/attendant.h"
#include "launch/run/child.h"
#include "launch/run/environment.h"
#include "launch/run/find_program.h"
#include "launch/run/relay.h"
#include "launch/run/time_limit.h"
#include "launch/run/trace_output.h"
#include "launch/salvage/remaining.h"
#include "launch/salvage/run_folder_files.h"
#include "launch/salvage/salvage.h"
#include "launch/session/capture_control.h"
#include "launch/session/collector_processes.h"
#include "launch/session/measuring_watch.h"
#include "launch/session/session.h"
#include "launch/session/session_socket.h"

namespace gprof {
namespace {

// Null where none can be made: what a killed process had not written is lost then, and nothing else.
std::unique_ptr<RunFolder> MakeRunFolder(const LaunchOptions& options) {
  if (options.TracesNothing() && !options.session) return nullptr;
  std::string why;
  const std::string name = options.session ? options.session->name : options.recorder ? options.recorder->name : "";
  std::unique_ptr<RunFolder> folder = RunFolder::Make(name, &why);
  if (folder) return folder;
  const std::string what = "no shared memory for the run: " + why;
  const char* const hint = "run gprof-cli doctor for advice";
  const bool needs_it = options.capture.IsCommanded() || options.capture.ends_program || options.recorder;
  if (needs_it) throw Error(ExitCode::kLaunchFailed, what, hint);
  options.warn(what + "; a killed program will lose unwritten data (" + hint + ")");
  return nullptr;
}

// What the launcher does beside waiting for the program.
class Companions {
 public:
  Companions(RunFolder* folder, const LaunchOptions& options, const std::string& tracer, const OutputFile* output)
      : salvager_(folder->path(),
                  SalvageOptions{.tracer = tracer, .report_loss = options.report_loss, .traces = &folder->traces()}),
        collectors_(folder, options.collect, options.warn),
        measuring_(folder->path(), options.show_measuring) {
    run_.folder = folder->path();
    run_.program_name = std::filesystem::path(options.command.front()).filename().string();
    for (const std::string& word : options.command) run_.command_line += (run_.command_line.empty() ? "" : " ") + word;
    run_.follows_children = options.trace_children;
    run_.wants_untraced = options.collect.WantsUntraced() && !options.TracesNothing();
    run_.follows_captures = !options.capture.begin.empty();
    run_.flush_ns = options.flush_ns();
    if (options.session) {
      session_ = std::make_unique<Session>(options.session->name, folder, &salvager_);
      server_ = std::make_unique<SessionServer>(
          folder->path(),
          [session = session_.get(), answer_to = options.session->answer_to](const std::string& line) {
            return answer_to(*session, line);
          },
          [session = session_.get()] { return session->is_closed(); });
      attendants_ = {&salvager_, &collectors_, session_.get(), server_.get()};
      return;
    }
    CaptureOrder order;
    order.output = output->absolute_path;
    order.device = output->device;
    order.inode = output->inode;
    order.run = output->run;
    if (options.recorder) order.limit_bytes = options.recorder->limit_bytes;
    control_ = std::make_unique<CaptureControl>(folder, options, std::move(order));
    attendants_ = {&salvager_, &collectors_, control_.get(), &measuring_};
    if (!options.recorder) return;
    recorder_ = options.recorder->make(folder);
    attendants_.push_back(recorder_.get());
  }

  const std::vector<Attendant*>& attendants() const { return attendants_; }

  void OnProgramStart(pid_t program) {
    run_.program = program;
    collectors_.Start(run_);
    if (session_) session_->OnProgramStart(program);
    if (control_) control_->OnProgramStart(program, MonotonicNs());
    if (recorder_) recorder_->OnProgramStart(program);
  }

  bool HasEndedProgram() const { return control_ && control_->has_ended_program(); }

  // Returns the path of the capture that the end of the program ended, where that is not known before.
  std::string OnProgramEnd(const ChildEnd& end) {
    const bool was_recording = session_ && session_->state() == SessionState::kRecording;
    std::string output = was_recording ? session_->output() : std::string();
    if (session_) session_->Finish();
    // What the launcher ended did not fail.
    const bool is_ours = HasEndedProgram();
    collectors_.Finish(is_ours ? 0 : end.exit_code, is_ours ? 0 : end.signal);
    salvager_.Finish(true);
    if (recorder_) recorder_->OnProgramEnd(end.exit_code, end.signal);
    if (server_) server_->Attend(MonotonicNs());
    return output;
  }

  const UntoldLosses& losses() const { return salvager_.losses(); }

  // What processes left that have ended since.
  void TakeLeavings() { salvager_.Finish(true); }

  // Of a session or a recorder.
  std::vector<TraceFile> Traces() const {
    std::vector<TraceFile> traces;
    if (recorder_) return recorder_->Traces();
    if (!session_) return traces;
    for (const CaptureOrder& order : session_->traces()) {
      traces.push_back({order.output, order.device, order.inode, order.run});
    }
    return traces;
  }

 private:
  Salvager salvager_;
  CollectorProcesses collectors_;
  MeasuringWatch measuring_;
  RunView run_;
  std::unique_ptr<CaptureControl> control_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<RunCompanion> recorder_;
  std::unique_ptr<SessionServer> server_;
  std::vector<Attendant*> attendants_;
};

// The trace file, but for a session, where `start` makes it; then the tracer is told where that would be by default.
std::optional<OutputFile> MakeOutput(const LaunchOptions& options, pid_t program, const RunFolder* folder,
                                     Environment* environment) {
  if (options.session) {
    environment->SetOutput(std::filesystem::absolute("run.trace").string(), "");
    return std::nullopt;
  }
  if (options.recorder) {
    std::optional<OutputFile> ring(OpenOutput(folder->path() + "/" + trace::kRingFile, program, false));
    environment->SetOutput(ring->absolute_path, ring->run_id);
    return ring;
  }
  std::optional<OutputFile> output(options.is_default_output
                                       ? OpenDefaultOutput(options.output, 1, options.may_overwrite)
                                       : OpenOutput(options.output, program, options.may_overwrite));
  environment->SetOutput(output->absolute_path, output->run_id);
  return output;
}

std::string WhyNotFinal(const RunMarks& marks, Companions* companions) {
  // Helpers of a program often end a moment after it.
  constexpr int64_t kPatienceNs = 2'000'000'000, kPollNs = 10'000'000;
  const int64_t deadline_ns = MonotonicNs() + kPatienceNs;
  std::vector<pid_t> remaining = RemainingProcesses(marks);
  while (!remaining.empty() && MonotonicNs() < deadline_ns) {
    if (IsAskedToStop()) return "interrupted";
    const timespec pause = {0, kPollNs};
    nanosleep(&pause, nullptr);
    remaining = RemainingProcesses(marks);
  }
  if (!remaining.empty()) return Describe(remaining);
  if (companions != nullptr) companions->TakeLeavings();
  return {};
}

// Workers of a program that hung would go on, and disturb the next run.
void KillRemaining(const RunMarks& marks) {
  for (const pid_t pid : RemainingProcesses(marks)) kill(pid, SIGKILL);
}

void FinishTraces(const LaunchOptions& options, const RunMarks& marks, const OutputFile* output,
                  Companions* companions) {
  std::vector<TraceFile> traces;
  if (companions != nullptr) traces = companions->Traces();
  if (output != nullptr && !options.recorder) {
    traces.push_back({output->path, output->device, output->inode, output->run});
  }
  for (const TraceFile& trace : traces) {
    options.finish_trace(
        {trace.path, trace.device, trace.inode, trace.run, [&] { return WhyNotFinal(marks, companions); }});
  }
}

int64_t UnixNs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// Tracers read it when they start. The path comes back.
std::string WriteRequest(const std::string& request, const char* name, const char* what, const RunFolder* folder) {
  if (folder == nullptr)
    throw Error(ExitCode::kLaunchFailed, std::string(what) + " need shared memory for the run",
                "run gprof-cli doctor for advice");
  const std::string path = folder->path() + "/" + name;
  std::ofstream file(path, std::ios::binary);
  file << request;
  file.close();
  if (!file)
    throw Error(ExitCode::kLaunchFailed, "cannot write '" + path + "'",
                "check that there is space left in shared memory");
  return path;
}

void WriteRequests(const LaunchOptions& options, const RunFolder* folder, Environment* environment) {
  if (!options.counters.empty())
    environment->SetCounters(WriteRequest(options.counters, trace::kCounterRequestFile, "kernel counters", folder));
  if (!options.delays.empty())
    environment->SetDelays(WriteRequest(options.delays, trace::delay_request::kFile, "delays", folder));
}

// The program has not run yet: what fails from here to its start costs no trace.
LaunchResult RunChild(const LaunchOptions& options, const std::string& tracer, Environment* environment) {
  // The child exists, halted, before the file does: %p is its pid. What is opened from here on is not inherited by it.
  const int signal = options.recorder ? options.recorder->signal : options.capture.toggle_signal;
  Child child(options.command, options.program_output, signal, options.output_file);
  const std::unique_ptr<RunFolder> folder = MakeRunFolder(options);
  std::optional<OutputFile> output = MakeOutput(options, child.pid(), folder.get(), environment);
  if (folder) environment->SetRunFolder(folder->path());
  WriteRequests(options, folder.get(), environment);
  if (!options.trace_children) environment->SetOnlyPid(child.pid());

  std::optional<Companions> companions;
  LaunchResult result;
  int64_t start_ns = 0;
  try {
    if (folder) companions.emplace(folder.get(), options, tracer, output ? &*output : nullptr);
    result.start_unix_ns = UnixNs();
    start_ns = MonotonicNs();
    child.Start(environment->entries());
  } catch (const Error&) {
    if (output) output->Remove();
    throw;
  }
  if (companions) companions->OnProgramStart(child.pid());
  if (options.session)
    options.say("session '" + options.session->name + "' is idle; start a capture with gprof-cli start");
  TimeLimit limit(options.time_limit_ns, child.pid());
  std::vector<Attendant*> attendants = {&limit};
  if (companions) {
    attendants.insert(attendants.end(), companions->attendants().begin(), companions->attendants().end());
  }
  const ChildEnd end = child.Wait(attendants);
  result.wall_ns = MonotonicNs() - start_ns;
  result.exit_code = end.signal != 0 ? 128 + end.signal : end.exit_code;
  result.signal = end.signal;
  result.stop_signal = end.stop_signal;
  result.has_timed_out = limit.is_over();
  result.was_ended_by_capture = companions && companions->HasEndedProgram();
  const RunMarks marks = {folder ? folder->path() : "", output ? output->run_id : ""};
  if (limit.is_over()) KillRemaining(marks);
  if (companions) {
    result.trace_path = companions->OnProgramEnd(end);
    result.lost_records = companions->losses().records;
    result.write_error = companions->losses().error;
  }
  if (output && output->IsDisplaced()) {
    options.report_loss("another program replaced '" + output->path +
                        "' during this run: the file does not belong to this run, and this recording is lost");
    result.is_displaced = true;
    result.trace_path.clear();
    return result;
  }
  if (output) result.trace_path = output->path;
  if (options.finish_trace) {
    // What came before is not for what is done now.
    result.late_signal = SettleSignals();
    FinishTraces(options, marks, output ? &*output : nullptr, companions ? &*companions : nullptr);
  }
  return result;
}

}  // namespace

void CheckProgramOf(const LaunchOptions& options) {
  const Environment environment(environ, options, FindTracer());
  CheckProgram(options.command.front(), environment.Get("PATH"));
}

LaunchResult RunTraced(const LaunchOptions& options) {
  if (options.command.empty()) throw Error(ExitCode::kLaunchFailed, "no program to run");
  const std::string tracer = FindTracer();
  Environment environment(environ, options, tracer);
  for (const std::string& warning : environment.warnings()) options.warn(warning);
  CheckProgram(options.command.front(), environment.Get("PATH"));
  return RunChild(options, tracer, &environment);
}

}  // namespace gprof
