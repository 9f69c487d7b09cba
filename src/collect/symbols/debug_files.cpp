#include "collect/symbols/debug_files.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.h"
#include "unwind/symbols.h"

namespace gprof {
namespace {

// What a program writes on its standard output; empty where it is not installed or fails.
std::string OutputOf(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  pid_t pid = -1;
  const bool is_started = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  std::string output;
  std::array<char, 4096> part;
  for (ssize_t size = 0; is_started && (size = read(pipe_ends[0], part.data(), part.size())) != 0;) {
    if (size > 0) output.append(part.data(), static_cast<std::size_t>(size));
    if (size < 0 && errno != EINTR) break;
  }
  close(pipe_ends[0]);
  int status = 0;
  while (is_started && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return is_started && status == 0 ? output : "";
}

std::string AskDebuginfod(const std::string& build_id) {
  std::string path = OutputOf({"debuginfod-find", "debuginfo", build_id});
  while (!path.empty() && path.back() == '\n') path.pop_back();
  return path;
}

std::unique_ptr<ElfImage> OpenWithSymbols(const std::string& path, const std::string& build_id) {
  std::unique_ptr<ElfImage> image = ElfImage::Open(path);
  return image != nullptr && image->build_id() == build_id && image->HasFullSymbols() ? std::move(image) : nullptr;
}

}  // namespace

std::string DebuginfodCache() {
  if (std::string path = EnvironmentText({"DEBUGINFOD_CACHE_PATH"}); !path.empty()) return path;
  const std::string cache = EnvironmentText({"XDG_CACHE_HOME"});
  return (cache.empty() ? EnvironmentText({"HOME"}) + "/.cache" : cache) + "/debuginfod_client";
}

std::unique_ptr<ElfImage> FindDebugFile(const std::string& library, const std::string& build_id,
                                        const DebugFileOptions& options) {
  constexpr std::size_t kLeastDigits = 3;  // the first two name a folder
  const bool is_hexadecimal = build_id.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (build_id.size() < kLeastDigits || !is_hexadecimal) return nullptr;
  std::vector<std::string> paths;
  for (const std::string& folder : options.folders) paths.push_back(DebugFileIn(folder, build_id));
  paths.push_back(library);
  if (const std::unique_ptr<ElfImage> image = ElfImage::Open(library); image && image->build_id() == build_id) {
    for (const std::string& path : DebugFilesOf(*image, library)) paths.push_back(path);
  }
  paths.push_back(DebugFileIn("/usr/lib/debug", build_id));
  paths.push_back(DebuginfodCache() + "/" + build_id + "/debuginfo");
  for (const std::string& path : paths) {
    if (std::unique_ptr<ElfImage> image = OpenWithSymbols(path, build_id)) return image;
  }
  if (options.asks_debuginfod) {
    if (std::unique_ptr<ElfImage> image = OpenWithSymbols(AskDebuginfod(build_id), build_id)) return image;
  }
  if (!options.takes_exports) return nullptr;
  std::unique_ptr<ElfImage> image = ElfImage::Open(library);
  return image != nullptr && image->build_id() == build_id ? std::move(image) : nullptr;
}

}  // namespace gprof
