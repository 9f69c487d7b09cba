// A trace file that is being written, of which only the last seconds are kept: chunks that are too old, or too much for
// the memory that there is, are given back to the file system as holes (fallocate). Tracers and collectors append to it
// as to any trace and know nothing of this; the file gets longer and longer, but does not take more room. What must not
// be forgotten is moved to a file beside it, as holes are made of whole pages.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "gprof/trace/file.h"
#include "trace/file/reader.h"

namespace gprof {

struct RingLimits {
  int64_t keep_ns = 30'000'000'000;
  uint64_t memory_bytes = 256u << 20;
};

struct RingChunk {
  uint64_t offset = 0;    // of the header
  bool is_moved = false;  // to the file beside
  trace::ChunkHeader header;

  uint64_t size_bytes() const { return trace::kChunkHeaderBytes + header.body_bytes; }
};

class Ring {
 public:
  // For the one who keeps it. Null with errno when there is no such file, or none can be made beside it.
  static std::unique_ptr<Ring> Open(const std::string& path, const RingLimits& limits);
  // For others: they may follow and overlook, and not forget.
  static std::unique_ptr<Ring> OpenToRead(const std::string& path);
  // Of the file beside.
  static std::string LastingPath(const std::string& path) { return path + ".lasting"; }
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Takes what was appended since: visit(chunk) for each of events that is whole. Damage is skipped.
  void Follow(const std::function<void(const RingChunk&)>& visit = {});
  // Forgets what ended before `now_ns` - keep, and the oldest of the rest while it is too much.
  void Forget(int64_t now_ns);

  // Chunks of events that ended before `before_ns` are no longer looked at; the file stays as it is.
  void Overlook(int64_t before_ns);

  // Those that are kept: what must not be forgotten first, events in the order of the file.
  std::vector<RingChunk> Chunks() const;
  // The body, checked; false where it was damaged.
  bool Read(const RingChunk& chunk, std::vector<unsigned char>* body) const;

  // Everything that happened later is kept. 0: nothing was forgotten.
  uint64_t complete_since_ns() const { return complete_since_ns_; }
  uint64_t forgotten_records() const { return forgotten_records_; }
  // What the file takes now, of which headers and names stay for good.
  uint64_t BytesInMemory() const;
  uint64_t lasting_bytes() const { return lasting_bytes_; }
  // False: the file system cannot give parts of a file back.
  bool can_forget() const { return can_forget_; }

 private:
  Ring(int descriptor, int lasting, bool is_keeper, const RingLimits& limits)
      : descriptor_(descriptor), lasting_descriptor_(lasting), is_keeper_(is_keeper), limits_(limits) {}
  bool TakeNext(uint64_t end, const std::function<void(const RingChunk&)>& visit);
  uint64_t FindNext(uint64_t from, uint64_t end) const;
  void TakeLasting(RingChunk chunk);
  void FollowLasting();
  bool Move(RingChunk* chunk);
  void ForgetOldest();
  void GiveBack(uint64_t begin, uint64_t end);

  using Key = std::pair<trace::ProcessKey, uint64_t>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return ProcessKeyHash()(key.first) ^ (key.second * 0x9E3779B97F4A7C15u);
    }
  };

  int descriptor_, lasting_descriptor_;
  bool is_keeper_;
  RingLimits limits_;
  uint64_t next_ = 0, next_lasting_ = 0;    // where the files go on
  std::deque<RingChunk> events_;            // that may be forgotten, oldest first
  std::vector<RingChunk> lasting_;          // that may not
  std::unordered_set<Key, KeyHash> known_;  // process and sequence of those
  std::map<uint64_t, uint64_t> holes_;      // where they begin, and end
  uint64_t events_bytes_ = 0, lasting_bytes_ = 0;
  uint64_t complete_since_ns_ = 0, forgotten_records_ = 0;
  bool can_forget_ = true;
};

}  // namespace gprof
