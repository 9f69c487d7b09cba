// NVTX ranges that are open, for who asks where in the program a thread is. Kept only where somebody does.
#pragma once

#include <atomic>
#include <cstdint>

#include "gprof/trace/record.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {

// What NVTX handlers do with an event. Watched events are looked at one by one, as they may start and stop captures,
// and open and close ranges that are kept here.
enum class NvtxPath : uint32_t { kRecord, kIgnore, kWatch };
extern std::atomic<NvtxPath> nvtx_path;
inline NvtxPath PathOfNvtx() { return nvtx_path.load(std::memory_order_relaxed); }

struct OpenRange {
  trace::StringId domain;  // empty: the default one
  trace::StringId name;
  bool is_entry = false;  // with it, a thread came to where a RangeWatcher looks
};

// Who wants to know when a thread comes to a place in its ranges, and when the range closes with which it came there.
struct RangeWatcher {
  bool (*is_there)();  // the calling thread, with what is open now
  void (*comes)(trace::StringId name);
  void (*goes)();
};

// Of one thread, the outermost first.
struct RangeStack {
  static constexpr uint32_t kMost = 256;
  OpenRange ranges[kMost];
  uint32_t count;
  uint32_t beyond;  // that there was no room for
};

// From here on ranges are kept. [starting thread]
void KeepOpenRanges();
bool KeepsOpenRanges();
void WatchOpenRanges(const RangeWatcher* watcher);  // [starting thread]

// A range is pushed or popped. [own thread]
void NotePush(ThreadLog* log, OpenRange range);
void NotePop(ThreadLog* log, trace::StringId domain);
// A range that has a number and belongs to no thread is started or ended. [any thread]
void NoteStart(uint64_t number, OpenRange range);
void NoteEnd(uint64_t number);

// Null: the thread has none open. [own thread]
const RangeStack* PushedRanges();
// Started ranges, `most` of them. [any thread]
uint32_t StartedRanges(OpenRange* out, uint32_t most);

void ResetOpenRangesAfterFork();

}  // namespace gprof::tracer
