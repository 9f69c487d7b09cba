// Calls of the operating system that are alike: what was called, and what it waited for.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "gprof/trace.h"

namespace gprof {

struct OsCallKind {
  NameId function;  // empty: a call that was not recorded
  NameId path;
  uint64_t object = 0;       // its number, 0 where the path says which one it is
  uint32_t process = kNone;  // that the number is of
  trace::OsObject object_kind = trace::OsObject::kNone;
  uint32_t other_thread = kNone;  // that was waited for
  bool operator<(const OsCallKind& other) const {
    const auto key = [](const OsCallKind& kind) {
      return std::tie(kind.function.value, kind.path.value, kind.object, kind.process, kind.object_kind,
                      kind.other_thread);
    };
    return key(*this) < key(other);
  }
};

OsCallKind KindOf(const OsCall& call);

// The same lock or file, whatever is called for it and whoever has it.
OsCallKind ThingOf(const OsCallKind& call);

// The key with the largest value, the first of several; `none` without any.
template <class Key>
Key LargestOf(const std::map<Key, int64_t>& all, Key none) {
  Key largest = none;
  int64_t value = 0;
  for (const auto& [key, of_key] : all) {
    if (of_key > value) largest = key, value = of_key;
  }
  return largest;
}

// Python makes a semaphore for each wait of a thread: where a process has many, their numbers say nothing, and waits
// for them are alike.
class OsCallKinds {
 public:
  explicit OsCallKinds(const Trace& trace);
  OsCallKind KindOf(const OsCall& call) const;

 private:
  std::set<uint32_t> with_many_semaphores_;  // processes
};

// "mutex", "file", …; empty for none.
std::string ObjectWord(trace::OsObject kind);
bool IsLock(trace::OsObject kind);      // one thread has it and others wait
bool IsInOut(trace::OsObject kind);     // bytes go through it
bool IsHandover(trace::OsObject kind);  // another thread or process says when to go on

// "/data/a.bin", "mutex 3", "GIL", "semaphores" for many; empty where the record names none.
std::string ObjectName(const Trace& trace, const OsCallKind& kind);
// The same where Python may have a word of its own for it (PythonWaits), which says more.
std::string ObjectName(const Trace& trace, const OsCallKind& kind, const std::string& word);
// "read of /data/a.bin", "pthread_mutex_lock of mutex 3", "poll".
std::string CallName(const Trace& trace, const OsCallKind& kind);
// "loader (71)", empty where it is not known.
std::string HolderName(const Trace& trace, const OsCallKind& kind);

// How a call ended. Its time was over before anybody ended the wait: no failure, it was asked for.
inline bool HasRunOut(const OsCall& call) {
  constexpr uint32_t kTimedOut = 110;  // ETIMEDOUT of Linux
  return call.error == kTimedOut;
}

inline bool HasFailed(const OsCall& call) { return call.error != 0 && !HasRunOut(call); }

}  // namespace gprof
