#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstring>

#include "gprof/trace/env.h"
#include "notice.h"

namespace gprof::tracer {
namespace {

bool IsSet(const char* name) {
  const char* value = getenv(name);
  return value != nullptr && std::strcmp(value, "1") == 0;
}

// A path that does not fit is left out whole: half a path names another file.
template <std::size_t N>
void CopyPath(const char* name, char (&out)[N]) {
  const char* value = getenv(name);
  if (value != nullptr && std::strlen(value) < N) std::strcpy(out, value);
}

bool IsKnown(const char* variable) {
  for (const trace::EnvVariable& known : trace::kEnvVariables) {
    const std::size_t n = std::strlen(known.name);
    if (std::strncmp(variable, known.name, n) == 0 && variable[n] == '=') return true;
  }
  return false;
}

bool Lists(const char* list, const char* word) {
  const std::size_t n = std::strlen(word);
  for (const char* at = std::strstr(list, word); at != nullptr; at = std::strstr(at + 1, word)) {
    const bool starts = at == list || at[-1] == ',';
    if (starts && (at[n] == 0 || at[n] == ',')) return true;
  }
  return false;
}

}  // namespace

void TracerConfig::FromEnv(TracerConfig* config) {
  CopyPath(trace::env::kOutput, config->output);
  CopyPath(trace::env::kCupti, config->cupti);
  if (const char* kinds = getenv(trace::env::kTrace); kinds != nullptr) {
    config->wants_cuda = Lists(kinds, "cuda");
    config->wants_nvtx = Lists(kinds, "nvtx");
  }
  config->wants_all_apis = IsSet(trace::env::kAllApis);
  config->wants_memory_usage = IsSet(trace::env::kMemoryUsage);
  config->wants_managed_memory = IsSet(trace::env::kManagedMemory);
  config->is_quiet = IsSet(trace::env::kQuiet);
  if (const char* level = getenv(trace::env::kGraphTrace); level != nullptr) {
    config->wants_graph_nodes = std::strcmp(level, "node") == 0;
  }
  if (const char* period = getenv(trace::env::kFlushMs); period != nullptr) {
    const unsigned long ms = strtoul(period, nullptr, 10);
    if (ms >= 1 && ms <= 60000) config->flush_ms = static_cast<uint32_t>(ms);
  }
  if (const char* run = getenv(trace::env::kRunId); run != nullptr) {
    char* end = nullptr;
    config->output_device = strtoull(run, &end, 10);
    if (end != nullptr && *end == ':') config->output_inode = strtoull(end + 1, nullptr, 10);
  }
}

void TracerConfig::SayUnknownVariables() {
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "GPROF_", 6) != 0 || IsKnown(*variable)) continue;
    Message message;
    const char* equals = std::strchr(*variable, '=');
    for (const char* p = *variable; p != equals && *p != 0; ++p) {
      const char letter[2] = {*p, 0};
      message << letter;
    }
    message << " in the environment is no variable of gprof-cli's; docs/environment.md lists those";
    Say(trace::NoticeLevel::kWarning, message);
  }
}

}  // namespace gprof::tracer
