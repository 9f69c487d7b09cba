#include "cli/fleet/fleet_workers.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/machine/parallel.h"
#include "cli/talk.h"
#include "fleet/partial/partial_file.h"
#include "gprof/error.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kMostTracesOfAWorker = 32, kBatchesOfAWorker = 4;

// The status of waitpid. The program is searched in PATH if it has no slash.
int RunProgram(const std::string& program, std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, program.c_str(), nullptr, nullptr, arguments.data(), environ);
  if (error != 0) {
    throw Error(ExitCode::kUnreadable, "cannot start '" + program + "': " + std::string(std::strerror(error)));
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) throw Error(ExitCode::kBug, "lost a worker: " + std::string(std::strerror(errno)));
  }
  return status;
}

int RunWorker(const WorkerOptions& options, const std::vector<std::string>& traces, const std::string& out) {
  std::vector<std::string> words = {"gprof-cli", "partial", "--quiet", "-o", out};
  if (!options.keeps_results) words.emplace_back("--no-results");
  words.emplace_back("--");
  words.insert(words.end(), traces.begin(), traces.end());
  return RunProgram(options.program, std::move(words));
}

bool IsDone(int status) { return WIFEXITED(status); }

// Good and unreadable are both results; anything else nobody can go on from.
void CheckDone(int status, const std::vector<std::string>& traces) {
  const int code = WEXITSTATUS(status);
  if (code == static_cast<int>(ExitCode::kGood) || code == static_cast<int>(ExitCode::kUnreadable)) return;
  throw Error(ExitCode::kBug, "a worker for '" + traces.front() + "' ended with exit code " + std::to_string(code));
}

void MakeAlone(const std::string& trace, const std::string& out, const WorkerOptions& options) {
  const int status = RunWorker(options, {trace}, out);
  if (IsDone(status)) return CheckDone(status, {trace});
  const std::string why = "its worker was killed twice, by signal " + std::to_string(WTERMSIG(status));
  WriteFile(out, WritePartial({UnreadableRank(trace, why)}));
}

}  // namespace

WorkFolder::WorkFolder() {
  const char* const base = std::getenv("TMPDIR");
  path_ = std::string(base == nullptr || *base == '\0' ? "/tmp" : base) + "/gprof-analyze-XXXXXX";
  if (mkdtemp(path_.data()) != nullptr) return;
  throw Error(ExitCode::kUnreadable,
              "cannot make a folder in '" + path_.substr(0, path_.rfind('/')) + "': " + std::strerror(errno),
              "set TMPDIR to a folder with enough space");
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> MakePartials(const std::vector<std::string>& traces, const std::string& folder,
                                      const WorkerOptions& options) {
  const std::size_t workers = std::max<std::size_t>(options.workers, 1);
  const std::size_t of_each =
      std::clamp<std::size_t>(traces.size() / (workers * kBatchesOfAWorker), 1, kMostTracesOfAWorker);
  const std::size_t batches = (traces.size() + of_each - 1) / of_each;
  std::vector<std::vector<std::string>> made(batches);
  ForEachSideBySide(batches, std::min(workers, std::max<std::size_t>(batches, 1)), [&](std::size_t i) {
    const auto first = traces.begin() + static_cast<std::ptrdiff_t>(i * of_each);
    const std::vector<std::string> batch(
        first, first + static_cast<std::ptrdiff_t>(std::min(of_each, traces.size() - i * of_each)));
    const std::string out = folder + "/" + std::to_string(i);
    const int status = RunWorker(options, batch, out + ".gpart");
    if (IsDone(status)) {
      CheckDone(status, batch);
      made[i] = {out + ".gpart"};
      return;
    }
    Warn("a worker was killed by signal " + std::to_string(WTERMSIG(status)) + "; its traces are read again");
    for (const std::string& trace : batch) {
      made[i].push_back(out + "-" + std::to_string(made[i].size()) + ".gpart");
      MakeAlone(trace, made[i].back(), options);
    }
  });
  std::vector<std::string> all;
  for (const auto& paths : made) all.insert(all.end(), paths.begin(), paths.end());
  return all;
}

std::string MakeWithPython(const std::vector<std::string>& traces, const std::string& engine, std::size_t workers,
                           const std::string& cluster) {
  const WorkFolder folder;
  const std::string list = folder.path() + "/list", out = folder.path() + "/all.gpart";
  std::string lines;
  for (const std::string& trace : traces) lines += std::filesystem::absolute(trace).string() + "\n";
  WriteFile(list, lines);
  std::vector<std::string> words = {"python3", "-m",        "gprof_cli.fleet",      "--engine",
                                    engine,    "--workers", std::to_string(workers)};
  if (!cluster.empty()) words.insert(words.end(), {"--cluster", cluster});
  words.insert(words.end(), {list, out});
  const int status = RunProgram("python3", std::move(words));
  if (IsDone(status) && WEXITSTATUS(status) == 0) return MergeFiles({out});
  throw Error(ExitCode::kUnreadable, "the engine " + engine + " failed",
              "it needs the Python module gprof_cli (docs/python.md) and pip install " +
                  std::string(engine == "dask" ? "'dask[distributed]'" : "ray"));
}

std::string MergeFiles(const std::vector<std::string>& paths) {
  const PartialFiles files(paths);
  std::string merged;
  MergePartials(files.bytes(), [&merged](std::string_view piece) { merged += piece; });
  return merged;
}

}  // namespace gprof::cli
