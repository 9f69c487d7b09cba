#include "tracer/stacks/shared_frames.h"

#include <atomic>

namespace gprof::tracer {
namespace {

constexpr uint32_t kSharedModules = 512;
constexpr uint32_t kFrameBits = 13, kFrames = 1u << kFrameBits, kTries = 8;
constexpr uint32_t kOffsetBits = 40, kModuleBits = 24;

struct SharedModule {
  KnownModule module;
  uint32_t generation;
  std::atomic<bool> is_there;
};
struct Frame {
  std::atomic<uint64_t> key;  // 0: free
  std::atomic<uint32_t> number;
};

constinit SharedModule modules[kSharedModules] = {};
constinit std::atomic<uint32_t> module_count{0};
constinit Frame frames[kFrames] = {};

// 0: one that is not shared.
uint64_t KeyOf(uint32_t module, uint64_t offset) {
  if (module == 0 || module >> kModuleBits != 0 || offset >> kOffsetBits != 0) return 0;
  return uint64_t{module} << kOffsetBits | offset;
}

uint32_t PlaceOf(uint64_t key, uint32_t attempt) {
  return (static_cast<uint32_t>(key * 0x9E3779B97F4A7C15u >> (64 - kFrameBits)) + attempt) % kFrames;
}

}  // namespace

bool FindSharedModule(uintptr_t address, uint32_t generation, KnownModule* module) {
  const uint32_t count = module_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count && i < kSharedModules; ++i) {
    const SharedModule& shared = modules[i];
    if (!shared.is_there.load(std::memory_order_acquire) || shared.generation != generation) continue;
    if (address < shared.module.begin || address >= shared.module.end) continue;
    *module = shared.module;
    return true;
  }
  return false;
}

void ShareModule(const KnownModule& module, uint32_t generation) {
  if (module_count.load(std::memory_order_relaxed) >= kSharedModules) return;
  const uint32_t at = module_count.fetch_add(1, std::memory_order_acq_rel);
  if (at >= kSharedModules) return;
  modules[at].module = module;
  modules[at].generation = generation;
  modules[at].is_there.store(true, std::memory_order_release);
}

uint32_t SharedFrame(uint32_t module, uint64_t offset) {
  const uint64_t key = KeyOf(module, offset);
  for (uint32_t i = 0; key != 0 && i < kTries; ++i) {
    const Frame& frame = frames[PlaceOf(key, i)];
    const uint64_t there = frame.key.load(std::memory_order_acquire);
    if (there == key) return frame.number.load(std::memory_order_acquire);
    if (there == 0) return 0;
  }
  return 0;
}

void ShareFrame(uint32_t module, uint64_t offset, uint32_t number) {
  const uint64_t key = KeyOf(module, offset);
  for (uint32_t i = 0; key != 0 && i < kTries; ++i) {
    Frame& frame = frames[PlaceOf(key, i)];
    uint64_t there = 0;
    if (!frame.key.compare_exchange_strong(there, key, std::memory_order_acq_rel) && there != key) continue;
    frame.number.store(number, std::memory_order_release);
    return;
  }
}

void ForgetSharedFrames() {
  for (SharedModule& module : modules) module.is_there.store(false, std::memory_order_relaxed);
  module_count.store(0, std::memory_order_relaxed);
  for (Frame& frame : frames) {
    frame.number.store(0, std::memory_order_relaxed);
    frame.key.store(0, std::memory_order_relaxed);
  }
}

}  // namespace gprof::tracer
