#include "tracer/cupti/calls/call_names.h"

#include <cstring>

namespace gprof::tracer {

std::size_t PlainLength(const char* name) {
  std::size_t n = std::strlen(name);
  std::size_t digits = 0;
  while (digits < n && name[n - 1 - digits] >= '0' && name[n - 1 - digits] <= '9') ++digits;
  if (digits >= 4 && n > digits + 2 && std::strncmp(name + n - digits - 2, "_v", 2) == 0) n -= digits + 2;
  if (n > 5 && (std::strncmp(name + n - 5, "_ptsz", 5) == 0 || std::strncmp(name + n - 5, "_ptds", 5) == 0)) n -= 5;
  return n;
}

const char* ShownName(const char* name) { return std::strncmp(name, "__cuda", 6) == 0 ? name + 2 : name; }

}  // namespace gprof::tracer
