#include "collect/run/own_process.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "collect/run/system_clocks.h"

namespace gprof {
namespace {

uint64_t Mix(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t Hash(const std::string& text) {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15u;
  uint64_t hash = kOdd ^ text.size(), word = 0;
  std::size_t at = 0;
  for (; text.size() - at >= sizeof word; at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    hash = Mix(hash ^ word, kOdd);
  }
  word = 0;
  std::memcpy(&word, text.data() + at, text.size() - at);
  return Mix(hash ^ word, 0xD6E8FEB86659FD93u);
}

std::string ReadAll(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Field 22; the name in field 2 may hold anything, so fields are counted from its end.
uint64_t StartTicks() {
  const std::string stat = ReadAll("/proc/self/stat");
  std::size_t at = stat.rfind(')');
  for (int field = 2; at != std::string::npos && field < 22; ++field) at = stat.find(' ', at + 1);
  return at == std::string::npos ? 0 : std::strtoull(stat.c_str() + at, nullptr, 10);
}

}  // namespace

trace::ProcessKey OwnProcessKey() {
  utsname host;
  const std::string name = uname(&host) == 0 ? host.nodename : "";
  std::string boot = ReadAll("/proc/sys/kernel/random/boot_id");
  if (!boot.empty() && boot.back() == '\n') boot.pop_back();
  trace::ProcessKey key;
  key.host = Hash(name + boot);
  key.start_ticks = StartTicks();
  key.pid = static_cast<uint32_t>(getpid());
  key.image = static_cast<uint32_t>(MonotonicNs() >> 10);
  return key;
}

}  // namespace gprof
