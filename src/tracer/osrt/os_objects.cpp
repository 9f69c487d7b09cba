#include "tracer/osrt/os_objects.h"

#include <string_view>

#include "tracer/store/interned_names.h"
#include "tracer/store/memory/arena.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kLocks = 4096;  // a power of two

struct Locks {
  uint64_t addresses[kLocks];
  uint16_t numbers[kLocks];
  uint32_t count;
};
Locks locks GPROF_IN_ARENA = {};

}  // namespace

uint64_t NumberOfLock(uint64_t address) {
  if (address == 0) return 0;
  uint32_t at = static_cast<uint32_t>(address * 0x9E3779B97F4A7C15u >> 52);
  static_assert(kLocks == 1u << 12);
  for (; locks.addresses[at] != 0; at = (at + 1) % kLocks) {
    if (locks.addresses[at] == address) return locks.numbers[at];
  }
  if (locks.count >= kLocks / 4 * 3) return address;
  locks.numbers[at] = static_cast<uint16_t>(++locks.count);
  locks.addresses[at] = address;
  return locks.numbers[at];
}

void ForgetLocks() { locks = {}; }

trace::OsObject KindOfFile(trace::StringId path, trace::OsObject usual) {
  const std::string_view text = Names().TextOf(path).View();
  if (text.starts_with("socket:")) return trace::OsObject::kSocket;
  // An eventfd is a pipe for a number.
  if (text.starts_with("pipe:") || text.starts_with("anon_inode:[eventfd")) return trace::OsObject::kPipe;
  if (text.starts_with("anon_inode:")) return usual;
  if (text.starts_with("/dev/") && !text.starts_with("/dev/shm/")) return trace::OsObject::kDevice;
  return text.empty() ? usual : trace::OsObject::kFile;
}

}  // namespace gprof::tracer
