// Reading /proc often: files stay open, which saves most of what it takes, and makes sure that they go on being about
// the same process when its pid is used again.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/machine/descriptor.h"

namespace gprof {

class ProcFile {
 public:
  ProcFile() = default;
  explicit ProcFile(const std::string& path);
  ProcFile(ProcFile&& other) noexcept;
  ProcFile& operator=(ProcFile&& other) noexcept;
  ~ProcFile();

  bool is_open() const { return descriptor_ >= 0; }
  // As it is now, its first 4 kB. Good until the next call on any file. Empty when there is no such file or process.
  std::string_view Read() const;

 private:
  int descriptor_ = -1;
};

// The file that it runs; empty when it is gone.
std::string PathOfProgram(pid_t pid);
// Numbers between spaces and line ends; what is none is passed over.
void ForEachNumber(std::string_view text, const std::function<void(int64_t)>& visit);
// Counts from 0.
std::optional<int64_t> NumberAt(std::string_view text, std::size_t index);

// /proc/PID/stat without what stands before its third field: the name may hold anything.
std::string_view BehindName(std::string_view stat);
// Of such a text, a field as proc(5) counts them, from 3 on.
std::optional<int64_t> StatField(std::string_view behind_name, std::size_t field);
// "/proc/PID/task/TID/NAME".
std::string TaskFile(pid_t pid, pid_t tid, std::string_view name);
// What /proc/PID/schedstat and those of threads count: time on a processor, and time ready to run without one.
struct ProcessorTimes {
  int64_t ran_ns = 0, waited_ns = 0;
};
std::optional<ProcessorTimes> ReadProcessorTimes(const ProcFile& schedstat);
inline constexpr std::size_t kUserTicksField = 14, kSystemTicksField = 15, kStartTicksField = 22;

}  // namespace gprof
