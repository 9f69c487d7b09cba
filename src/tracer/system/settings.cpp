#include "tracer/system/settings.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "gprof/trace/env.h"
#include "gprof/trace/run_folder.h"

namespace gprof::tracer {
namespace {

constexpr std::size_t kMostSettingBytes = 16384;

char settings[kMostSettingBytes + 1] = {};  // NAME=VALUE, each with a zero at its end
std::size_t setting_bytes = 0;
bool is_attached = false;

// Where others may write, a file may be anybody's.
bool IsOfOwner(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 022) == 0 &&
         (status.st_uid == 0 || status.st_uid == geteuid());
}

bool ReadSettings(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  const ssize_t bytes = IsOfOwner(fd) ? read(fd, settings, kMostSettingBytes) : 0;
  close(fd);
  setting_bytes = bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
  return setting_bytes != 0;
}

}  // namespace

const char* Setting(const char* name) {
  if (!is_attached) return getenv(name);
  const std::size_t size = std::strlen(name);
  for (std::size_t at = 0; at < setting_bytes; at += std::strlen(settings + at) + 1) {
    if (std::strncmp(settings + at, name, size) == 0 && settings[at + size] == '=') return settings + at + size + 1;
  }
  return nullptr;
}

bool IsAttached() { return is_attached; }

const char* ArmedFolder() {
  const char* const folder = is_attached ? nullptr : getenv(trace::env::kArmed);
  return folder != nullptr && folder[0] == '/' ? folder : nullptr;
}

bool TakeSettings(const char* path) {
  if (!ReadSettings(path)) return false;
  unlink(path);
  return is_attached = true;
}

void LookForAttachment() {
  Dl_info own;
  if (dladdr(reinterpret_cast<const void*>(&LookForAttachment), &own) == 0 || own.dli_fname == nullptr) return;
  const char* const slash = strrchr(own.dli_fname, '/');
  if (slash == nullptr || std::strcmp(slash + 1, trace::kAttachLibraryFile) != 0) return;
  char path[4096];
  const int n = snprintf(path, sizeof path, "%.*s/%s", static_cast<int>(slash - own.dli_fname), own.dli_fname,
                         trace::kAttachSettingsFile);
  is_attached = n > 0 && static_cast<std::size_t>(n) < sizeof path && ReadSettings(path);
}

}  // namespace gprof::tracer
