// What the tracer has to say: each thing once, on stderr (unless quiet) and in the trace.
#pragma once

#include <cstdint>

#include "gprof/trace/record.h"
#include "tracer/core/collectors.h"

namespace gprof::tracer {

// A message put together without printf's locks or memory.
class Message {
 public:
  Message& operator<<(const char* text);
  Message& operator<<(uint64_t number);
  const char* c_str() const { return text_; }
  uint32_t size() const { return used_; }

 private:
  char text_[512] = {};
  uint32_t used_ = 0;
};

// [any thread] Remembers who stderr is, so that a file the target later opens as descriptor 2 is never written to.
void RememberStderr();
// [any thread, rare] A message that was said before is dropped. The writer thread puts it on stderr: a broken pipe
// there raises SIGPIPE, which that thread has blocked.
void Say(trace::NoticeLevel level, const Message& message);

// [writer thread, or salvage] Writes what was said since the last time, to stderr too if that is still the file it was
// at the start.
void TakeNotices(DrainRound* round);

void RetellNotices();
void ResetNoticesAfterFork();

inline constexpr Collector kNoticeCollector = {
    .retell = RetellNotices,
    .drain = TakeNotices,
    .salvage = TakeNotices,
    .reset = ResetNoticesAfterFork,
};

}  // namespace gprof::tracer
