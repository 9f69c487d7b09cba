// Names: text → id for the life of the process. Lookups take no lock; a new text takes one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "gprof/trace/hash.h"
#include "gprof/trace/record.h"
#include "tracer/store/memory/arena.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {

inline constexpr std::size_t kMaxNameBytes = 4096;    // longer names are cut
inline constexpr std::size_t kMaxBytesBytes = 65536;  // and longer tables of lines
inline constexpr uint32_t kMaxNames = 1u << 20;       // later ones all become "<too many names>"

using trace::HashBytes;

class InternedNames {
 public:
  // [any thread] Never fails: without memory it answers the empty string's id.
  trace::StringId Intern(const char* text, std::size_t size);
  trace::StringId Intern(const char* text);
  // The same of what is no name and may be longer.
  trace::StringId InternBytes(const char* bytes, std::size_t size);
  trace::Text TextOf(trace::StringId id) const;
  // True when the string was not yet named in this chunk; marks it. [writer thread]
  bool MarkForChunk(trace::StringId id, uint32_t chunk);
  void ResetAfterFork();
  // [salvage] The process may have died within Intern.
  void ReleaseLock() { lock_.ResetAfterFork(); }

 private:
  struct Entry {
    const char* text;
    uint64_t hash;
    uint32_t size;
    uint32_t chunk;
  };
  struct Index {
    uint32_t mask;
    std::atomic<uint32_t>* slots;  // id, 0 is free
  };
  static constexpr uint32_t kEntriesPerSegment = 1024;
  static constexpr uint32_t kSegments = kMaxNames / kEntriesPerSegment;

  Entry* At(uint32_t id) const;
  bool IsWhole(trace::StringId id) const;
  uint32_t Find(const Index* index, uint64_t hash, const char* text, std::size_t size) const;
  uint32_t Insert(uint64_t hash, const char* text, std::size_t size);
  bool Grow();
  const char* Store(const char* text, std::size_t size);

  Lock lock_;
  std::atomic<Index*> index_{nullptr};
  std::atomic<Entry*> segments_[kSegments] = {};
  std::atomic<uint32_t> count_{0};  // written under lock_; ids are 1 … count_
  char* arena_ = nullptr;
  std::size_t arena_left_ = 0;
};

InternedNames& Names();

}  // namespace gprof::tracer
