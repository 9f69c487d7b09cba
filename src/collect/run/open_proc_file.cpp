#include "collect/run/open_proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/machine/descriptor.h"

namespace gprof {

ProcFile::ProcFile(const std::string& path) : descriptor_(OpenHigh(path.c_str(), O_RDONLY, 0)) {}

ProcFile::ProcFile(ProcFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

ProcFile& ProcFile::operator=(ProcFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

ProcFile::~ProcFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::string_view ProcFile::Read() const {
  static char text[4096];
  if (descriptor_ < 0) return {};
  const ssize_t size = pread(descriptor_, text, sizeof text, 0);
  return {text, size > 0 ? static_cast<std::size_t>(size) : 0};
}

std::string PathOfProgram(pid_t pid) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", error).string();
}

void ForEachNumber(std::string_view text, const std::function<void(int64_t)>& visit) {
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(" \n\t");
    if (begin == std::string_view::npos) return;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(" \n\t"));
    int64_t number = 0;
    if (std::from_chars(word.data(), word.data() + word.size(), number).ec == std::errc()) visit(number);
    text.remove_prefix(word.size());
  }
}

std::optional<int64_t> NumberAt(std::string_view text, std::size_t index) {
  std::optional<int64_t> found;
  std::size_t at = 0;
  ForEachNumber(text, [&](int64_t number) {
    if (at++ == index) found = number;
  });
  return found;
}

std::string_view BehindName(std::string_view stat) {
  const std::size_t name_end = stat.rfind(") ");
  return name_end == std::string_view::npos ? std::string_view() : stat.substr(name_end + 2);
}

std::optional<int64_t> StatField(std::string_view behind_name, std::size_t field) {
  // The state, field 3, is a letter, and no number.
  return NumberAt(behind_name, field - 4);
}

std::string TaskFile(pid_t pid, pid_t tid, std::string_view name) {
  return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/" + std::string(name);
}

std::optional<ProcessorTimes> ReadProcessorTimes(const ProcFile& schedstat) {
  const std::string_view text = schedstat.Read();
  const std::optional<int64_t> ran_ns = NumberAt(text, 0), waited_ns = NumberAt(text, 1);
  if (!ran_ns || !waited_ns) return {};
  return ProcessorTimes{*ran_ns, *waited_ns};
}

}  // namespace gprof
