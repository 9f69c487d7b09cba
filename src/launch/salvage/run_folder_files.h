// The folder in memory that launcher and tracers of one run share; its files are described in gprof/trace/run_folder.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/trace/record.h"
#include "gprof/trace/run_folder.h"
#include "launch/salvage/arena_files.h"
#include "launch/salvage/run_traces.h"

namespace gprof {

// What the control page tells every tracer.
struct CaptureOrder {
  trace::CaptureWish wish = trace::CaptureWish::kIdle;
  trace::CaptureTrigger trigger = trace::CaptureTrigger::kBegin;
  std::string output;  // absolute path of the trace file
  uint64_t device = 0, inode = 0, run = 0;
  uint64_t limit_bytes = 0;  // that the file may take; 0: no limit
};

// The folders that may hold run folders of this user, best first. GPROF_RUN_BASE, when set, is the only one.
std::vector<std::string> RunFolderBases();

// The folder of a base that belongs to this user; made when it is not there. False with a reason when it cannot be
// used.
bool PrepareBase(const std::string& base, std::string* folder, std::string* why);

// As PrepareBase, of one that is there already. Empty: it is not, or is not only ours.
std::string ExistingBase(const std::string& base);

// What the session of an attachment is called, and behind it the PID of the program.
inline constexpr std::string_view kAttachSession = "attach-";

// A run folder somebody else made.
struct FoundRun {
  std::string path;
  uint32_t launcher_pid = 0;  // as its name says
  std::string session;        // empty: none
};

class RunFolder {
 public:
  // Named for the calling process and, in a session, for it: "PID-0@NAME". Null with a reason when no folder can be
  // made.
  static std::unique_ptr<RunFolder> Make(const std::string& session, std::string* why);
  static std::unique_ptr<RunFolder> MakeIn(const std::vector<std::string>& bases, const std::string& session,
                                           std::string* why);
  // Goes on with a folder whose launcher is gone, and some of whose processes live. Null: somebody has it.
  static std::unique_ptr<RunFolder> Adopt(const FoundRun& run);
  // The same, and what it has ordered holds on: nobody notices.
  static std::unique_ptr<RunFolder> GoOnWith(const FoundRun& run);
  // Removes the folder when no process left anything in it.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const { return path_; }
  std::vector<Arena> Arenas() const { return ArenasIn(path_); }

  // Changes the control page, rings every bell and returns the new epoch.
  uint32_t Publish(const CaptureOrder& order);
  const CaptureOrder& order() const { return order_; }
  const RunTraces& traces() const { return traces_; }
  // That trace was cancelled.
  void ForgetTrace(uint64_t run) { traces_.Remove(run); }
  // A process may be about to use it: it stays, for whoever comes next.
  void SetKept(bool is_kept) { is_kept_ = is_kept; }
  // The program has ended, in this way: collectors write what they have, and end.
  void EndRun(int exit_code, int signal);

 private:
  RunFolder(std::string path, int control, trace::ControlPage* page, bool keeps_order);
  static std::unique_ptr<RunFolder> TakeOver(const FoundRun& run, bool keeps_order);

  std::string path_;
  int control_;  // its flock says that we live
  trace::ControlPage* page_;
  CaptureOrder order_;
  RunTraces traces_;
  bool is_kept_ = false;
};

std::vector<FoundRun> FindRuns(const std::vector<std::string>& bases);

// The right to clear a run folder whose launcher is dead.
class RunClaim {
 public:
  static std::unique_ptr<RunClaim> Take(const FoundRun& run);
  ~RunClaim();
  RunClaim(const RunClaim&) = delete;
  RunClaim& operator=(const RunClaim&) = delete;
  // Where its last capture went, as the control page says.
  const RunTraces& traces() const { return traces_; }

 private:
  RunClaim(int control, RunTraces traces) : control_(control), traces_(std::move(traces)) {}

  int control_;
  RunTraces traces_;
};

// Who made it, or has gone on with it.
uint32_t LauncherOf(const FoundRun& run);
// Whether the launcher of a run folder is alive.
bool HasLauncher(const FoundRun& run);

// The file that a run records to, as its control page says; empty when its launcher is dead, or it has named none yet.
std::string OutputOf(const FoundRun& run);

// Makes the files that processes take whose own may not grow, where they are gone.
void MakeSpareArenas(const std::string& path);

// Deletes the files of a run folder, and itself when nothing else is in it. Leaves it alone while there are arenas.
void RemoveRunFolder(const std::string& path);

}  // namespace gprof
