// One process that is recorded though somebody else started it: how it is asked, and what is kept for it meanwhile.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "launch/attach/armed_process.h"
#include "launch/attach/attach_target.h"
#include "launch/run/launch.h"
#include "launch/salvage/salvage.h"
#include "launch/session/session.h"
#include "trace/write/append.h"

namespace gprof {

// The run that the tracer of a process belongs to, if it was attached to or started by us.
std::optional<FoundRun> FindAttachedRun(pid_t pid);

class Attachment {
 public:
  // Throws Error where it cannot be recorded; it is as it was then.
  Attachment(AttachTarget target, const LaunchOptions& trace);
  ~Attachment();
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  // Asks it to record into that file, of which it may fill that much (0: no limit). Throws Error, as above.
  void Begin(const TraceFile& file, uint64_t limit_bytes);
  // Whether it records. Throws Error when it has ended before, or does not answer.
  bool HasBegun(int64_t now_ns);
  bool HasEnded() const;
  void Attend(int64_t now_ns);
  // The recording is over. The tracer stays where it is, and waits for the next attachment.
  void Stop();
  // It forgets the trace, which may be moved now, and what it left when it died is in it.
  void Leave();

  pid_t pid() const { return target_.pid; }
  const std::string& name() const { return target_.name; }
  std::string who() const;
  RunFolder* folder() { return folder_.get(); }
  std::size_t recording() const { return session_->Now().recording; }

 private:
  std::string Settings() const;
  void WriteSettings() const;
  std::string DelaysPath() const;
  void WriteDelays() const;
  void Ask();

  AttachTarget target_;
  const LaunchOptions& trace_;
  std::string tracer_;
  int process_;  // pidfd
  bool is_first_ = true, has_begun_ = false;
  int64_t deadline_ns_ = 0;
  std::unique_ptr<RunFolder> folder_;
  std::unique_ptr<Salvager> salvager_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<ArmedRequest> request_;
};

}  // namespace gprof
