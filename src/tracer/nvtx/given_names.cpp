#include "tracer/nvtx/given_names.h"

#include <atomic>

#include "tracer/store/arena.h"
#include "tracer/store/clock.h"
#include "tracer/store/system_calls.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kPerSegment = 1024;
constexpr uint32_t kSegments = 256;

Lock lock;
NameEntry* segments[kSegments] GPROF_IN_ARENA = {};
constinit std::atomic<uint32_t> count GPROF_IN_ARENA{0};
constinit std::atomic<uint64_t> resources{0};
uint32_t domain_count GPROF_IN_ARENA = 0;

// Under `lock`.
bool Append(const NameEntry& entry) {
  const uint32_t i = count.load(std::memory_order_relaxed);
  if (i >= kPerSegment * kSegments) return false;
  NameEntry*& segment = segments[i / kPerSegment];
  if (segment == nullptr)
    segment = static_cast<NameEntry*>(KeepMemory(kPerSegment * sizeof(NameEntry), Region::kNames));
  if (segment == nullptr) return false;
  segment[i % kPerSegment] = entry;
  count.store(i + 1, std::memory_order_release);
  return true;
}

}  // namespace

void AddName(const NameEntry& entry) {
  LockGuard guard(lock);
  Append(entry);
}

uint32_t DomainOf(trace::StringId name) {
  if (name.value == 0) return 0;
  LockGuard guard(lock);
  const uint32_t n = count.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < n; ++i) {
    const NameEntry& e = segments[i / kPerSegment][i % kPerSegment];
    if (e.type == NameType::kDomain && e.name == name) return e.domain;
  }
  const NameEntry entry{NameType::kDomain, 0, domain_count + 1, 0, name, Stamp()};
  if (!Append(entry)) return 0;
  return ++domain_count;
}

uint64_t NewResource() { return resources.fetch_add(1, std::memory_order_relaxed) + 1; }

const NameEntry* NameAt(uint32_t i) {
  if (i >= count.load(std::memory_order_acquire)) return nullptr;
  const NameEntry* segment = segments[i / kPerSegment];
  return IsKept(segment, kPerSegment * sizeof(NameEntry)) ? segment + i % kPerSegment : nullptr;
}

void ResetNamesAfterFork() {
  lock.ResetAfterFork();
  // The copy was taken while the parent went on.
  uint32_t whole = 0;
  while (whole < count.load(std::memory_order_relaxed) && segments[whole / kPerSegment] != nullptr) ++whole;
  if (!NamesAreWhole()) {
    whole = 0;
    for (auto& segment : segments) segment = nullptr;
  }
  count.store(whole, std::memory_order_relaxed);
}

}  // namespace gprof::tracer
