#include "tracer/osrt/wakers/epoll_sets.h"

#include <atomic>

namespace gprof::tracer {
namespace {

constexpr uint32_t kPlaceBits = 9;

// The latest of those that share a place. Where two threads write one at once, it may lead to the wrong descriptor of
// the two, into which somebody has to have written during the wait for that to be told.
struct Watched {
  std::atomic<uint64_t> data{0};
  std::atomic<uint64_t> set_and_descriptor{0};  // the set + 1; 0: nothing
};
constinit Watched watched[1u << kPlaceBits];

uint64_t SetPart(int set) { return (uint64_t{static_cast<uint32_t>(set)} + 1) << 32; }

Watched* PlaceOf(int set, uint64_t data) {
  const uint64_t key = data ^ uint64_t { static_cast<uint32_t>(set) } << 48;
  return &watched[key * 0x9E3779B97F4A7C15u >> (64 - kPlaceBits)];
}

}  // namespace

void RememberWatched(int set, uint64_t data, int descriptor) {
  Watched* const place = PlaceOf(set, data);
  place->data.store(data, std::memory_order_relaxed);
  place->set_and_descriptor.store(SetPart(set) | static_cast<uint32_t>(descriptor), std::memory_order_release);
}

int WatchedDescriptor(int set, uint64_t data) {
  const Watched* const place = PlaceOf(set, data);
  const uint64_t known = place->set_and_descriptor.load(std::memory_order_acquire);
  if (known >> 32 != SetPart(set) >> 32 || place->data.load(std::memory_order_relaxed) != data) return -1;
  return static_cast<int>(known & 0xffffffffu);
}

}  // namespace gprof::tracer
