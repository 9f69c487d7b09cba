// What kept records name, as indexes of the model: processes by their pid, and what the writers gave numbers.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/builder/unjoined.h"

namespace gprof {

// Things that each process and collector numbers on its own, from 1 on as a rule. The first definition of a number
// counts.
class NumberedThings {
 public:
  explicit NumberedThings(UnjoinedTrace& unjoined) : unjoined_(unjoined) {}

  // False: there is one with that number, or it is 0.
  bool Add(uint32_t writer, uint32_t id, std::size_t index);
  // kNone for 0, and for a number without a definition, which is counted once as missing.
  uint32_t Find(uint32_t writer, uint32_t id);
  // All of them have moved, by where they were.
  void SetPlaces(std::vector<uint32_t> places) { places_ = std::move(places); }

 private:
  std::vector<uint32_t>& TableOf(uint32_t writer);
  uint32_t& EntryOf(uint32_t writer, uint32_t id);

  UnjoinedTrace& unjoined_;
  std::map<uint32_t, std::vector<uint32_t>> tables_;  // by writer: indexes by number
  FlatIndex others_;                                  // numbers that are too far apart for that, and missing ones
  uint32_t writer_ = kNone;                           // that was asked for last, and its table
  std::vector<uint32_t>* table_ = nullptr;
  std::size_t count_ = 0, entries_ = 0;  // numbers that were added, and places for some in all tables
  std::vector<uint32_t> places_;
};

class ProcessesByPid {
 public:
  explicit ProcessesByPid(UnjoinedTrace& unjoined);

  // The process that had the pid at that time, kNone for one that is not in the trace.
  uint32_t Find(uint32_t writer, uint32_t pid, int64_t time_ns) const;
  // A thread that is in the trace: of the process, or else of another one on its host. One that records nothing is
  // known by its first thread, which has the id of the process.
  uint32_t ThreadAnywhere(uint32_t process, uint32_t tid, int64_t time_ns);

 private:
  struct Life {
    uint64_t host = 0;
    uint32_t pid = 0;
    int64_t start_ns = 0;
    uint32_t process = kNone;
  };
  uint32_t LifeOf(uint64_t host, uint32_t pid, int64_t time_ns) const;

  UnjoinedTrace& unjoined_;
  std::vector<Life> lives_;  // in this order
  FlatIndex threads_;        // (host, tid), once it is asked for
  bool has_threads_ = false;
};

// The records of a kind, which are gone from the unjoined trace then.
template <class R>
std::vector<Kept<R>> TakeKept(UnjoinedTrace& unjoined) {
  return std::move(unjoined.kept.template Of<R>());
}

}  // namespace gprof
