#include "launch/launch.h"

#include <unistd.h>

#include <memory>

#include "gprof/error.h"
#include "launch/capture_control.h"
#include "launch/child.h"
#include "launch/environment.h"
#include "launch/find_program.h"
#include "launch/find_tracer.h"
#include "launch/output_file.h"
#include "launch/run_folder.h"
#include "launch/salvage.h"

namespace gprof {
namespace {

// Null where none can be made: what a killed process had not written is lost then, and nothing else.
std::unique_ptr<RunFolder> MakeRunFolder(const LaunchOptions& options) {
  if (!options.trace_cuda && !options.trace_nvtx) return nullptr;
  std::string why;
  std::unique_ptr<RunFolder> folder = RunFolder::Make("", &why);
  if (folder) return folder;
  const std::string what = "there is no shared memory for the run: " + why;
  const char* const hint = "gprof-cli doctor says what to do";
  if (options.capture.IsCommanded() || options.capture.ends_program) throw Error(ExitCode::kLaunchFailed, what, hint);
  options.warn(what + "; what a killed program had not written yet will be missing (" + hint + ")");
  return nullptr;
}

LaunchResult ResultOf(const ChildEnd& end, const std::string& trace_path) {
  return {trace_path, end.signal != 0 ? 128 + end.signal : end.exit_code, end.signal};
}

}  // namespace

LaunchResult RunTraced(const LaunchOptions& options) {
  if (options.command.empty()) throw Error(ExitCode::kLaunchFailed, "no program to run");
  const std::string tracer = FindTracer();
  Environment environment(environ, options, tracer);
  for (const std::string& warning : environment.warnings()) options.warn(warning);
  CheckProgram(options.command.front(), environment.Get("PATH"));

  // The child exists, halted, before the file does: %p is its pid. What is opened from here on is not inherited by it.
  Child child(options.command, options.show_output, options.capture.toggle_signal);
  const std::unique_ptr<RunFolder> folder = MakeRunFolder(options);
  OutputFile output = OpenOutput(options.output, child.pid(), options.may_overwrite);
  environment.SetOutput(output.absolute_path, output.run_id);
  if (folder) environment.SetRunFolder(folder->path());
  if (!options.trace_children) environment.SetOnlyPid(child.pid());

  std::unique_ptr<CaptureControl> control;
  std::unique_ptr<Salvager> salvager;
  std::vector<Attendant*> attendants;
  if (folder) {
    CaptureOrder order;
    order.output = output.absolute_path;
    order.device = output.device;
    order.inode = output.inode;
    control = std::make_unique<CaptureControl>(folder.get(), options, std::move(order));
    salvager = std::make_unique<Salvager>(folder->path(), SalvageOptions{.tracer = tracer, .report_loss = options.report_loss});
    attendants = {control.get(), salvager.get()};
  }
  try {
    child.Start(environment.entries());
  } catch (const Error&) {
    output.Remove();
    throw;
  }
  if (control) control->OnProgramStart(child.pid(), MonotonicNs());
  const ChildEnd end = child.Wait(attendants);
  if (salvager) salvager->Finish(true);
  return ResultOf(end, output.path);
}

}  // namespace gprof
