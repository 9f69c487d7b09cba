#include "cli/measuring/instructions.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "collect/run/own_process.h"
#include "gprof/error.h"
#include "gprof/trace.h"
#include "trace/write/append.h"
#include "trace/write/chunk_writer.h"

namespace gprof::cli {
namespace {

// What a program prints on stdout; nothing where it cannot be started or fails.
std::optional<std::string> OutputOf(std::vector<std::string> command) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  std::array<char, 65536> buffer{};
  for (ssize_t n = 0; error == 0 && (n = read(ends[0], buffer.data(), buffer.size())) > 0;)
    output.append(buffer.data(), static_cast<std::size_t>(n));
  close(ends[0]);
  if (error != 0) return {};
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return {};
  return output;
}

// In the PATH, or where CUDA Toolkits are.
std::string FindDisassembler() {
  std::vector<std::string> places = {"nvdisasm"};
  for (const char* const variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* const home = std::getenv(variable)) places.push_back(std::string(home) + "/bin/nvdisasm");
  }
  places.emplace_back("/usr/local/cuda/bin/nvdisasm");
  for (const std::string& place : places) {
    if (OutputOf({place, "--version"})) return place;
  }
  return {};
}

using Place = std::tuple<uint64_t, std::string, uint64_t>;  // code, kernel, offset

// ".text._Z4axpyPf:" begins a kernel, "        /*0010*/     S2R R0, SR_TID.X ;" is one of its instructions.
class Listing {
 public:
  Listing(uint64_t cubin, const std::set<Place>& wanted) : cubin_(cubin), wanted_(wanted) {}

  void Take(std::string_view line, Dictionary* names, ChunkWriter* writer) {
    constexpr std::string_view kSection = ".text.";
    if (line.starts_with(kSection) && line.ends_with(':')) {
      kernel_ = line.substr(kSection.size(), line.size() - kSection.size() - 1);
      return;
    }
    const std::size_t begin = line.find("/*"), end = line.find("*/");
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return;
    uint64_t offset = 0;
    const char* const digits = line.data() + begin + 2;
    const auto [stop, error] = std::from_chars(digits, line.data() + end, offset, 16);
    if (error != std::errc() || stop != line.data() + end || !wanted_.contains({cubin_, kernel_, offset})) return;
    writer->Add(
        trace::InstructionRecord{cubin_, offset, names->String(kernel_), names->String(Text(line.substr(end + 2)))});
  }

 private:
  // Without spaces around it and the semicolon behind it, and one space where there are several.
  static std::string Text(std::string_view line) {
    std::string text;
    for (const char c : line.substr(0, line.find(';'))) {
      const bool is_space = c == ' ' || c == '\t';
      if (is_space && (text.empty() || text.back() == ' ')) continue;
      text += is_space ? ' ' : c;
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
  }

  uint64_t cubin_;
  const std::set<Place>& wanted_;
  std::string kernel_;
};

std::set<Place> SampledPlaces(const Trace& trace) {
  std::set<Place> places;
  for (const PcSample& sample : trace.pc_samples)
    places.insert({sample.cubin, std::string(trace.Text(sample.kernel)), sample.offset});
  return places;
}

std::optional<uint64_t> ChecksumOf(const std::filesystem::path& file) {
  const std::string name = file.stem().string();
  uint64_t checksum = 0;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), checksum, 16);
  if (file.extension() != ".cubin" || error != std::errc() || stop != name.data() + name.size()) return {};
  return checksum;
}

}  // namespace

std::string AddInstructions(const std::string& trace_path, const std::string& code_folder) {
  const std::string disassembler = FindDisassembler();
  if (disassembler.empty())
    return "instructions are not shown because nvdisasm was not found in PATH or in a CUDA Toolkit; source lines are";
  const std::set<Place> wanted = SampledPlaces(LoadTrace(trace_path));
  Dictionary names;
  ChunkWriter writer(&names, {.process = OwnProcessKey(), .is_collector = true});
  for (const auto& file : std::filesystem::directory_iterator(code_folder)) {
    const std::optional<uint64_t> checksum = ChecksumOf(file.path());
    const std::optional<std::string> text =
        checksum ? OutputOf({disassembler, "-c", "-ndf", file.path().string()}) : std::nullopt;
    if (!text) continue;
    Listing listing(*checksum, wanted);
    for (std::size_t at = 0; at < text->size();) {
      const std::size_t end = std::min(text->find('\n', at), text->size());
      listing.Take(std::string_view(*text).substr(at, end - at), &names, &writer);
      at = end + 1;
    }
  }
  std::string chunks;
  writer.Take(&chunks);
  const Appended appended = AppendChunks({trace_path}, chunks);
  return appended.error == 0 ? ""
                             : "cannot add instructions to the trace: " + std::string(std::strerror(appended.error));
}

}  // namespace gprof::cli
