#include "cures/wanted_cures.h"

#include <stdlib.h>

#include <atomic>
#include <cstring>

#include "gprof/trace/env.h"

namespace gprof::cures {
namespace {

constinit std::atomic<uint8_t> wanted{0};

struct CureName {
  const char* name;
  Cure cure;
};
constexpr CureName kNames[] = {{"pin-copies", kPinCopies},
                               {"stream-waits", kStreamWaits},
                               {"pool-allocations", kPoolAllocations},
                               {"prefetch-managed", kPrefetchManaged}};

uint8_t CureNamed(const char* name, std::size_t size) {
  for (const CureName& known : kNames) {
    if (std::strlen(known.name) == size && std::memcmp(known.name, name, size) == 0) return known.cure;
  }
  return 0;
}

// Before this, the program's memory is not ours to follow: libraries that come earlier have no environment yet.
__attribute__((constructor)) void ReadWantedCures() {
  const char* at = getenv(trace::env::kCures);
  uint8_t all = 0;
  while (at != nullptr && *at != 0) {
    const std::size_t size = std::strcspn(at, ",");
    all |= CureNamed(at, size);
    at += size + (at[size] == ',' ? 1 : 0);
  }
  wanted.store(all, std::memory_order_relaxed);
}

}  // namespace

bool IsWanted(uint8_t cures) { return (wanted.load(std::memory_order_relaxed) & cures) != 0; }

void GiveUp(Cure cure) { wanted.fetch_and(static_cast<uint8_t>(~cure), std::memory_order_relaxed); }

}  // namespace gprof::cures
