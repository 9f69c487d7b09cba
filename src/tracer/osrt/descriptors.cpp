#include "tracer/osrt/descriptors.h"

#include <unistd.h>

#include <atomic>
#include <cstring>

#include "tracer/core/notice.h"
#include "tracer/store/clock.h"
#include "tracer/store/interned_names.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kDescriptors = 1024;
constexpr std::size_t kPathBytes = 224;  // an entry fills four cache lines

// Two threads that open and close the same number at once may tear a path. It stays a text.
struct Descriptor {
  std::atomic<uint64_t> changed;  // stamp of the last time that it was opened or closed
  std::atomic<uint32_t> name;     // 0: not asked for yet
  uint32_t is_socket;
  std::atomic<uint64_t> end;
  char path[kPathBytes + 8];
};

struct LookedUp {
  uint64_t at;  // stamp
  trace::StringId name;
};

Descriptor descriptors[kDescriptors] = {};
LookedUp looked_up[kDescriptors] = {};

Descriptor* EntryOf(int descriptor) {
  return static_cast<uint32_t>(descriptor) < kDescriptors ? &descriptors[descriptor] : nullptr;
}

// Of the thread, which outlives a main thread that has ended.
trace::StringId ReadLink(uint32_t tid, int descriptor) {
  Message link;
  link << "/proc/self/task/" << tid << "/fd/" << static_cast<uint64_t>(descriptor);
  char path[1024];
  const ssize_t size = readlink(link.c_str(), path, sizeof path);
  return size <= 0 ? trace::StringId{} : Names().Intern(path, static_cast<std::size_t>(size));
}

}  // namespace

void RememberDescriptor(int descriptor, const char* path) {
  Descriptor* const entry = EntryOf(descriptor);
  if (entry == nullptr) return;
  const std::size_t size = strnlen(path, kPathBytes + 1);
  const std::size_t kept = size > kPathBytes ? 0 : size;
  std::memcpy(entry->path, path, kept);
  entry->path[kept] = 0;
  entry->is_socket = 0;
  entry->end.store(kUnknownEnd, std::memory_order_relaxed);
  entry->name.store(0, std::memory_order_relaxed);
  entry->changed.store(Stamp(), std::memory_order_release);
}

void RememberSocket(int descriptor) {
  ForgetDescriptor(descriptor);
  if (Descriptor* const entry = EntryOf(descriptor); entry != nullptr) entry->is_socket = 1;
}

bool IsSocket(int descriptor) {
  const Descriptor* const entry = EntryOf(descriptor);
  return entry != nullptr && entry->is_socket != 0;
}

void ForgetDescriptor(int descriptor) {
  Descriptor* const entry = EntryOf(descriptor);
  if (entry == nullptr) return;
  entry->path[0] = 0;
  entry->is_socket = 0;
  entry->end.store(kUnknownEnd, std::memory_order_relaxed);
  entry->name.store(0, std::memory_order_relaxed);
  entry->changed.store(Stamp(), std::memory_order_release);
}

uint64_t EndOfDescriptor(int descriptor) {
  const Descriptor* const entry = EntryOf(descriptor);
  return entry == nullptr ? kNoEnd : entry->end.load(std::memory_order_relaxed);
}

void SetEndOfDescriptor(int descriptor, uint64_t end) {
  if (Descriptor* const entry = EntryOf(descriptor); entry != nullptr) entry->end.store(end, std::memory_order_relaxed);
}

trace::StringId NameOfDescriptor(int descriptor) {
  Descriptor* const entry = EntryOf(descriptor);
  if (entry == nullptr || entry->path[0] == 0) return {};
  trace::StringId name{entry->name.load(std::memory_order_relaxed)};
  if (name.value != 0) return name;
  name = Names().Intern(entry->path, strnlen(entry->path, kPathBytes));
  entry->name.store(name.value, std::memory_order_relaxed);
  return name;
}

trace::StringId LookUpDescriptor(uint32_t tid, int descriptor, uint64_t since_stamp) {
  const Descriptor* const entry = EntryOf(descriptor);
  if (entry == nullptr) return {};
  const uint64_t changed = entry->changed.load(std::memory_order_acquire);
  if (since_stamp < changed) return {};
  LookedUp& known = looked_up[descriptor];
  if (known.at == 0 || known.at <= changed) {
    known.name = ReadLink(tid, descriptor);
    known.at = Stamp();
  }
  return known.name;
}

}  // namespace gprof::tracer
