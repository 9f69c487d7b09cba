#include "tracer/store/memory/shared_pages.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "gprof/trace/env.h"
#include "tracer/system/memory_calls.h"
#include "tracer/system/settings.h"

namespace gprof::tracer {
namespace {

// Growing a file beyond the limit would send the program SIGXFSZ.
bool MayGrowTo(std::size_t bytes) {
  rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
}

}  // namespace

void* MapSharedPage(const char* name, std::size_t bytes) {
  const char* folder = Setting(trace::env::kRunFolder);
  char path[4096];
  if (folder == nullptr || folder[0] != '/' || !MayGrowTo(bytes)) return nullptr;
  const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
  if (n <= 0 || static_cast<std::size_t>(n) >= sizeof path) return nullptr;
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return nullptr;
  void* at = MAP_FAILED;
  if (posix_fallocate(fd, 0, static_cast<off_t>(bytes)) == 0)
    at = SystemMmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return at == MAP_FAILED ? nullptr : at;
}

}  // namespace gprof::tracer
