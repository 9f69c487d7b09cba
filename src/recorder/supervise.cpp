#include "recorder/supervise.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "gprof/error.h"
#include "launch/run/relay.h"
#include "launch/salvage/run_folder_files.h"

namespace gprof {
namespace {

int ExitCodeOf(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

std::optional<FoundRun> RunOf(pid_t recorder) {
  for (const FoundRun& run : FindRuns(RunFolderBases())) {
    const bool is_recorder = access((run.path + "/" + trace::kRecorderFile).c_str(), F_OK) == 0;
    if (is_recorder && LauncherOf(run) == static_cast<uint32_t>(recorder)) return run;
  }
  return std::nullopt;
}

}  // namespace

std::optional<RecorderEnd> WatchRecorder() {
  // What the recorder started becomes a child of this process when it is gone.
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  SignalRelay relay;
  const pid_t recorder = fork();
  if (recorder < 0) throw Error(ExitCode::kLaunchFailed, std::string("cannot start a process: ") + strerror(errno));
  if (recorder == 0) {
    RestoreInheritedSignals();
    return std::nullopt;
  }
  const int status = relay.WaitFor(recorder, {});
  return RecorderEnd{recorder, ExitCodeOf(status), WIFSIGNALED(status)};
}

std::optional<int> GoOnWithRecorder(pid_t recorder, GoingOn how) {
  const std::optional<FoundRun> run = RunOf(recorder);
  const pid_t program = run ? RecordedProgram(*run) : 0;
  const std::unique_ptr<RunFolder> folder = program > 0 ? RunFolder::GoOnWith(*run) : nullptr;
  if (!folder) return std::nullopt;
  how.salvage.traces = &folder->traces();
  Salvager salvager(folder->path(), how.salvage);
  how.settings.say("the recorder was killed; going on with its work");
  Recorder next(folder.get(), std::move(how.settings));
  next.OnProgramStart(program);
  SignalRelay relay(how.signal);
  const int status = relay.WaitFor(program, {&salvager, &next});
  salvager.Finish(true);
  next.OnProgramEnd(WIFSIGNALED(status) ? 0 : WEXITSTATUS(status), WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  return ExitCodeOf(status);
}

}  // namespace gprof
