// Names of NVTX events that a thread has given by pointer. Programs give the same few again and again, so a row carries
// the number of the name instead of its text. A name is known once the same pointer came with the same text twice; a
// pointer that came with different texts is a buffer, whose texts go into the rows.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tracer/store/interned_names.h"

namespace gprof::tracer {

class NameCache {
 public:
  // The name's number, 0 when it is not known. A handler of a signal may come in between and change the slot: what is
  // read then does not count. The target's text is read as strcmp does, so never beyond its end. [own thread]
  uint32_t Find(const char* text) const {
    const uint32_t changes = changes_.load(std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const Slot& slot = slots_[PlaceOf(text)];
    const uint32_t id = slot.id;
    if (slot.at != text || id == 0 || id == kBuffer) return 0;
    if (std::strcmp(slot.copy, text) != 0) return 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return changes_.load(std::memory_order_relaxed) == changes ? id : 0;
  }

  // A name that Find did not know. Only while a row is reserved: then no signal handler gets here. [own thread]
  void Learn(const char* text, std::size_t size) {
    if (size == 0 || size > kMostBytes) return;
    Slot& slot = slots_[PlaceOf(text)];
    if (slot.at == text && slot.id == kBuffer) return;
    changes_.store(changes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (slot.at != text) {
      slot.id = 0;
      std::memcpy(slot.copy, text, size);
      slot.copy[size] = 0;
      slot.at = text;
    } else if (slot.copy[size] == 0 && std::memcmp(slot.copy, text, size) == 0) {
      const ErrnoGuard errno_guard;
      slot.id = Names().Intern(text, size).value;
    } else {
      slot.id = kBuffer;
    }
  }

 private:
  static constexpr uint32_t kPlaceBits = 5;
  static constexpr std::size_t kMostBytes = 51;  // a slot fills a cache line
  static constexpr uint32_t kBuffer = ~0u;
  struct Slot {
    const char* at;  // in the target's memory
    uint32_t id;     // 0: seen once; kBuffer
    char copy[kMostBytes + 1];
  };
  static uint32_t PlaceOf(const char* text) {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(text) * 0x9E3779B97F4A7C15u >> (64 - kPlaceBits));
  }
  Slot slots_[1u << kPlaceBits] = {};
  std::atomic<uint32_t> changes_{0};
};

}  // namespace gprof::tracer
