#include "tracer/store/interned_names.h"

#include <cstring>

namespace gprof::tracer {
namespace {

constinit InternedNames table GPROF_IN_ARENA;
constexpr std::size_t kArenaBytes = 32 * 1024;
constexpr char kTooMany[] = "<too many names>";

}  // namespace

InternedNames& Names() { return table; }

InternedNames::Entry* InternedNames::At(uint32_t id) const {
  Entry* segment = segments_[(id - 1) / kEntriesPerSegment].load(std::memory_order_acquire);
  return segment + (id - 1) % kEntriesPerSegment;
}

uint32_t InternedNames::Find(const Index* index, uint64_t hash, const char* text, std::size_t size) const {
  if (index == nullptr) return 0;
  for (uint32_t slot = static_cast<uint32_t>(hash) & index->mask;; slot = (slot + 1) & index->mask) {
    const uint32_t id = index->slots[slot].load(std::memory_order_acquire);
    if (id == 0) return 0;
    const Entry* e = At(id);
    if (e->hash == hash && e->size == size && std::memcmp(e->text, text, size) == 0) return id;
  }
}

trace::StringId InternedNames::Intern(const char* text) {
  return text == nullptr ? trace::StringId{} : Intern(text, strnlen(text, kMaxNameBytes));
}

trace::StringId InternedNames::Intern(const char* text, std::size_t size) {
  return InternBytes(text, size > kMaxNameBytes ? kMaxNameBytes : size);
}

trace::StringId InternedNames::InternBytes(const char* text, std::size_t size) {
  if (size == 0) return {};
  if (size > kMaxBytesBytes) size = kMaxBytesBytes;
  const uint64_t hash = HashBytes(text, size);
  uint32_t id = Find(index_.load(std::memory_order_acquire), hash, text, size);
  if (id == 0) {
    LockGuard guard(lock_);
    id = Find(index_.load(std::memory_order_relaxed), hash, text, size);
    if (id == 0) id = Insert(hash, text, size);
  }
  return {id};
}

// Keeps the index at most half full, so that a probe ends soon. The old one stays: a reader may be in it.
bool InternedNames::Grow() {
  const Index* old = index_.load(std::memory_order_relaxed);
  if (old != nullptr && (count_ + 2) * 2 <= old->mask) return true;
  uint32_t slots = old == nullptr ? 1024 : (old->mask + 1) * 2;
  while (slots < (count_ + 2) * 2) slots *= 2;
  auto* memory =
      static_cast<unsigned char*>(KeepMemory(sizeof(Index) + slots * sizeof(std::atomic<uint32_t>), Region::kNames));
  if (memory == nullptr) return old != nullptr && count_ + 2 < old->mask;
  auto* fresh = reinterpret_cast<Index*>(memory);
  fresh->mask = slots - 1;
  fresh->slots = reinterpret_cast<std::atomic<uint32_t>*>(memory + sizeof(Index));
  for (uint32_t id = 1; id <= count_; ++id) {
    uint32_t slot = static_cast<uint32_t>(At(id)->hash) & fresh->mask;
    while (fresh->slots[slot].load(std::memory_order_relaxed) != 0) slot = (slot + 1) & fresh->mask;
    fresh->slots[slot].store(id, std::memory_order_relaxed);
  }
  index_.store(fresh, std::memory_order_release);
  return true;
}

// The copy was taken while the parent went on: what the count says may not all be there, and the index may know more.
void InternedNames::ResetAfterFork() {
  lock_.ResetAfterFork();
  const uint32_t claimed = count_.load(std::memory_order_relaxed);
  uint32_t whole = 0;
  while (whole < claimed && segments_[whole / kEntriesPerSegment].load(std::memory_order_relaxed) != nullptr &&
         At(whole + 1)->text != nullptr) {
    At(++whole)->chunk = 0;  // the parent's chunks have the same numbers as ours will have
  }
  if (!NamesAreWhole()) {
    whole = 0;
    for (auto& segment : segments_) segment.store(nullptr, std::memory_order_relaxed);
  }
  count_.store(whole, std::memory_order_relaxed);
  arena_left_ = 0;
  index_.store(nullptr, std::memory_order_relaxed);
  Grow();
}

const char* InternedNames::Store(const char* text, std::size_t size) {
  if (arena_left_ < size) {
    arena_ = static_cast<char*>(KeepMemory(kArenaBytes, Region::kNames));
    arena_left_ = arena_ == nullptr ? 0 : kArenaBytes;
    if (arena_ == nullptr) return nullptr;
  }
  char* at = arena_;
  std::memcpy(at, text, size);
  arena_ += size;
  arena_left_ -= size;
  return at;
}

uint32_t InternedNames::Insert(uint64_t hash, const char* text, std::size_t size) {
  const uint32_t count = count_.load(std::memory_order_relaxed);
  if (count + 1 >= kMaxNames) return count;  // the last id, taken by kTooMany
  if (count + 2 >= kMaxNames) {
    text = kTooMany;
    size = sizeof kTooMany - 1;
    hash = HashBytes(text, size);
  }
  const uint32_t id = count + 1;
  auto& segment = segments_[(id - 1) / kEntriesPerSegment];
  if (segment.load(std::memory_order_relaxed) == nullptr) {
    auto* memory = static_cast<Entry*>(KeepMemory(kEntriesPerSegment * sizeof(Entry), Region::kNames));
    if (memory == nullptr) return 0;
    segment.store(memory, std::memory_order_release);
  }
  const char* stored = Grow() ? Store(text, size) : nullptr;
  if (stored == nullptr) return 0;
  *At(id) = {stored, hash, static_cast<uint32_t>(size), 0};
  count_.store(id, std::memory_order_release);
  const Index* index = index_.load(std::memory_order_relaxed);
  uint32_t slot = static_cast<uint32_t>(hash) & index->mask;
  while (index->slots[slot].load(std::memory_order_relaxed) != 0) slot = (slot + 1) & index->mask;
  index->slots[slot].store(id, std::memory_order_release);
  return id;
}

// Programs may hand in any number as the handle of a string; in salvage ids come from memory that may be spoilt or
// gone.
bool InternedNames::IsWhole(trace::StringId id) const {
  if (id.value == 0 || id.value > count_.load(std::memory_order_relaxed)) return false;
  if (!is_salvage) return true;
  const Entry* segment = segments_[(id.value - 1) / kEntriesPerSegment].load(std::memory_order_acquire);
  if (!IsKept(segment, kEntriesPerSegment * sizeof(Entry))) return false;
  const Entry* e = At(id.value);
  return e->size <= kMaxBytesBytes && IsKept(e->text, e->size);
}

trace::Text InternedNames::TextOf(trace::StringId id) const {
  if (!IsWhole(id)) return {};
  const Entry* e = At(id.value);
  return {e->text, e->size};
}

bool InternedNames::MarkForChunk(trace::StringId id, uint32_t chunk) {
  if (!IsWhole(id)) return false;
  Entry* e = At(id.value);
  if (e->chunk == chunk) return false;
  e->chunk = chunk;
  return true;
}

}  // namespace gprof::tracer
