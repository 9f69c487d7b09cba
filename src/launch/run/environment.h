// The environment of the program: the inherited one, entry for entry, but for the variables of trace/env.h, the two
// that inject the tracer, and those the user sets.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/run/launch.h"

namespace gprof {

class Environment {
 public:
  // `inherited` is laid out like environ.
  Environment(const char* const* inherited, const LaunchOptions& options, const std::string& tracer);

  void SetOutput(const std::string& absolute_path, const std::string& run_id);
  void SetRunFolder(const std::string& path);
  void SetCounters(const std::string& path);
  void SetDelays(const std::string& path);
  void SetOnlyPid(pid_t pid);
  std::optional<std::string> Get(std::string_view name) const;

  const std::vector<std::string>& entries() const { return entries_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void Set(std::string_view name, std::string_view value);
  void Erase(std::string_view name);
  void InjectIntoList(std::string_view name, char separator, const std::string& tracer);
  void InjectIntoNccl(const std::string& tracer);
  void Inject(std::string_view name, std::string_view next, const std::string& tracer);
  void SetTracerOptions(const LaunchOptions& options);
  void SetCapture(const CaptureOptions& capture);

  std::vector<std::string> entries_;
  std::vector<std::string> warnings_;
};

}  // namespace gprof
