// Runs a program with the tracer injected: what `gprof-cli profile` does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collect/run/collector_options.h"

namespace gprof {

// When it is recorded. By default from the begin of the program to its end.
struct CaptureOptions {
  // Decided in the program, by the tracer: GPROF_CAPTURE and what belongs to it. Empty: left to the tracer.
  std::string begin, end;
  std::string nvtx_range;     // RANGE@DOMAIN
  std::string sample_steps;   // as GPROF_SAMPLE_STEPS wants it
  std::string windows;        // as GPROF_WINDOWS wants them
  bool ends_program = false;  // when a process says that its capture range was the last one
  // Decided here, and told through the control page.
  int64_t delay_ns = 0;     // from the start of the program
  int64_t duration_ns = 0;  // 0: to the end
  int toggle_signal = 0;    // starts and stops when the launcher is sent it; 0: none
  int kill_signal = 0;      // for the program when the capture is over; 0: it goes on

  bool by_session = false;  // start and stop

  bool IsCommanded() const { return delay_ns != 0 || duration_ns != 0 || toggle_signal != 0 || by_session; }
};

// A trace that is done but for what processes of the run may still write.
struct FinishedTrace {
  std::string path;
  uint64_t device = 0, inode = 0, run = 0;
  // Why another file must not take its place, as a process lives on that would go on writing into this one: "process
  // 123 (server) of the run lives on". Empty: nothing writes it any more. Waits a moment for processes that are ending.
  std::function<std::string()> why_not_final;
};

class Session;

// What is answered to a request: asked again and again until there is something, a line without its end.
using Answer = std::function<std::optional<std::string>()>;
using AnswerTo = std::function<Answer(const std::string& request)>;

// With one, nothing is recorded before somebody asks for it through the socket of the session.
struct SessionOptions {
  std::string name;
  std::function<Answer(Session& session, const std::string& request)> answer_to;
};

class RunCompanion;
class RunFolder;

// With one, the trace is a file in the folder of the run of which only the end is kept.
struct RecorderOptions {
  std::string name;          // by which commands find it
  std::string settings;      // for who finds its folder when it is dead
  uint64_t limit_bytes = 0;  // that the file may take, should nobody forget what is old
  int signal = 0;            // that is told to it when the launcher is sent it; 0: none
  std::function<std::unique_ptr<RunCompanion>(RunFolder* folder)> make;
};

// Where stdout and stderr of the program lead.
enum class ProgramOutput : uint8_t {
  kShown,     // where they led anyway
  kHidden,    // /dev/null
  kOnStderr,  // both to stderr, where stdout is somebody else's
  kInFile,    // stdout to a file, stderr to /dev/null
};

// What is being measured, of a run that wants counters.
struct Measuring {
  std::string kernel;     // without its arguments
  uint64_t launches = 0;  // that are done
  uint32_t passes = 0;    // of each
};

struct LaunchOptions {
  std::vector<std::string> command;  // the program and its arguments
  std::string output = "run.trace";  // may hold %p %h %n %q{NAME} %%
  bool is_default_output = false;    // nobody chose it: where it is taken, run.2.trace and so on
  bool may_overwrite = false;
  bool trace_cuda = true, trace_nvtx = true, trace_osrt = true, trace_mpi = true, trace_gemm = true;
  bool trace_nccl = true, trace_nccl_proxy = false, trace_openmp = false, trace_openacc = false;
  bool trace_ucx = false, trace_cusparse = false, trace_cufft = false;
  std::optional<uint64_t> osrt_threshold_ns;  // empty: left to the tracer
  std::string osrt_functions;                 // empty: all
  bool osrt_file_access = false;
  // Of the program, unless it has them: libraries that annotate their calls by NVTX ask for them.
  std::vector<std::pair<std::string, std::string>> library_variables;
  std::string counters;    // which kernel counters to collect: gprof/trace/counter_request.h; empty: none
  std::string delays;      // what is delayed on purpose: gprof/trace/delay_request.h; empty: nothing
  bool may_delay = false;  // of what is attached to: another time it may be asked to
  bool TracesNothing() const {
    return !trace_cuda && !trace_nvtx && !TracesThroughRuntimes() && !TracesHostCalls() && counters.empty();
  }
  bool TracesThroughRuntimes() const { return trace_nccl || trace_openmp || trace_openacc; }
  bool TracesHostCalls() const {
    return trace_osrt || trace_mpi || trace_gemm || trace_ucx || trace_cusparse || trace_cufft;
  }
  bool all_apis = false;
  ProgramOutput program_output = ProgramOutput::kShown;
  std::string output_file;    // of kInFile; what was there before goes away
  int64_t time_limit_ns = 0;  // a program that runs longer is ended, with all that it started; 0: none
  std::string graph_trace;    // empty: left to the tracer
  uint32_t flush_ms = 0;      // 0: left to the tracer
  int64_t flush_ns() const { return int64_t{flush_ms} * 1'000'000; }
  std::string cupti_path;   // empty: left to the tracer
  std::string calibration;  // absolute path of what `doctor --calibrate` wrote; empty: this machine was not calibrated
  bool yields_to_profiler = true;
  bool memory_usage = false, managed_memory = false;
  std::string pytorch;             // what GPROF_PYTORCH says, empty for nothing
  bool has_serving_hooks = false;  // requests and steps of serving engines in Python
  std::string python_lines;        // that are ranges: "FILE:N", with commas between
  bool python_stacks = false;      // at CUDA calls
  CollectorOptions collect;        // what is recorded outside of the program
  bool trace_children = true;
  bool is_quiet = false;
  CaptureOptions capture;
  std::optional<SessionOptions> session;
  std::optional<RecorderOptions> recorder;
  std::vector<std::pair<std::string, std::string>> variables;  // set for the program on top of the inherited ones
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  // What is lost for good, which is said even when quiet.
  std::function<void(const std::string&)> report_loss = [](const std::string&) {};
  std::function<void(const std::string&)> say = [](const std::string&) {};
  // With counters: called now and then while the program runs, when there is something new. Must not throw.
  std::function<void(const Measuring&)> show_measuring;
  // Called for each trace of the run when the program has ended, and while the terminal's signals are still taken: see
  // IsAskedToStop(). Must not throw.
  std::function<void(const FinishedTrace&)> finish_trace;
};

struct LaunchResult {
  // As expanded from the pattern, relative as it was given. In a session, of the capture that the end of the program
  // ended; empty: none.
  std::string trace_path;
  int exit_code = 0;                  // the program's, 128 + N when signal N killed it
  int signal = 0;                     // that killed it, or 0
  bool is_displaced = false;          // the file that has the name of the trace is of another run
  bool was_ended_by_capture = false;  // it was sent a signal because the capture was over
  bool has_timed_out = false;         // it was sent a signal because it ran too long
  // SIGINT, SIGQUIT, SIGTERM or SIGHUP that was meant for us as well as for the program: nothing else is to be run.
  int stop_signal = 0;
  // The same, but it came when the program had ended.
  int late_signal = 0;
  uint64_t lost_records = 0;  // of which the trace does not tell, as they could not be written
  int write_error = 0;        // errno of the last of them
  int64_t start_unix_ns = 0;
  int64_t wall_ns = 0;  // from the start of the program to its end
};

// Throws the Error that RunTraced would begin with, where the program or the tracer cannot be found.
void CheckProgramOf(const LaunchOptions& options);

// Everything that can be refused is refused, by Error, before the program starts and before an old trace is touched.
LaunchResult RunTraced(const LaunchOptions& options);

}  // namespace gprof
