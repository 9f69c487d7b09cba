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
#include "base/machine/scratch_folder.h"
#include "base/text.h"
#include "cli/recording/progress_line.h"
#include "cli/talk.h"
#include "fleet/partial/partial_file.h"
#include "gprof/error.h"

namespace gprof::cli {
namespace {

using Batch = std::vector<std::string>;
constexpr std::size_t kMostTracesOfABatch = 32;

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

// Workers that fill the machine by themselves have one thread each: more would only wait for each other.
int RunWorker(const WorkerOptions& options, const Batch& traces, const std::string& out) {
  const std::size_t threads = std::max<std::size_t>(UsableCores() / options.workers, 1);
  std::vector<std::string> words = {"gprof-cli", "partial", "-qq", "--threads", std::to_string(threads), "-o", out};
  if (!options.keeps_results) words.emplace_back("--no-results");
  words.emplace_back("--");
  words.insert(words.end(), traces.begin(), traces.end());
  return RunProgram(options.program, std::move(words));
}

bool IsDone(int status) { return WIFEXITED(status); }

// Good and unreadable are both results; anything else nobody can go on from.
void CheckDone(int status, const Batch& traces) {
  const int code = WEXITSTATUS(status);
  if (code == static_cast<int>(ExitCode::kGood) || code == static_cast<int>(ExitCode::kUnreadable)) return;
  throw Error(ExitCode::kBug, "a worker for '" + traces.front() + "' " + EndingText(code, 0));
}

void MakeAlone(const std::string& trace, const std::string& out, const WorkerOptions& options) {
  const int status = RunWorker(options, {trace}, out);
  if (IsDone(status)) return CheckDone(status, {trace});
  const std::string why = "its worker was killed twice, by signal " + std::to_string(WTERMSIG(status));
  WriteFile(out, WritePartial({UnreadableRank(trace, why)}));
}

// Half of what is left for all workers together, each time: few processes, and in the end single traces, so that all
// workers are done at about the same time.
std::vector<Batch> BatchesOf(const std::vector<std::string>& traces, std::size_t workers) {
  std::vector<Batch> batches;
  for (auto first = traces.begin(); first != traces.end();) {
    const auto left = static_cast<std::size_t>(traces.end() - first);
    const std::size_t size = std::clamp<std::size_t>(left / (2 * workers), 1, kMostTracesOfABatch);
    batches.emplace_back(first, first + static_cast<std::ptrdiff_t>(size));
    first += static_cast<std::ptrdiff_t>(size);
  }
  return batches;
}

// How many traces are done, for all workers.
class ReadTraces {
 public:
  explicit ReadTraces(std::size_t all) : all_(all) {}
  // Throws Interrupted where a signal has come, of which the workers may have died, too.
  void Add(std::size_t more) {
    const std::lock_guard<std::mutex> lock(mutex_);
    line_.Show(done_ += more, all_);
  }

 private:
  std::mutex mutex_;
  std::size_t done_ = 0, all_;
  ProgressLine line_{"reading traces"};
};

std::vector<std::string> MakeBatch(const Batch& batch, const std::string& out, const WorkerOptions& options,
                                   ReadTraces* done) {
  done->Add(0);
  const int status = RunWorker(options, batch, out + ".gpart");
  std::vector<std::string> made = {out + ".gpart"};
  if (IsDone(status)) {
    CheckDone(status, batch);
    done->Add(batch.size());
    return made;
  }
  done->Add(0);
  Warn("a worker " + EndingText(0, WTERMSIG(status)) + "; its traces are read again");
  made.clear();
  for (const std::string& trace : batch) {
    made.push_back(out + "-" + std::to_string(made.size()) + ".gpart");
    MakeAlone(trace, made.back(), options);
    done->Add(1);
  }
  return made;
}

}  // namespace

std::vector<std::string> MakePartials(const std::vector<std::string>& traces, const std::string& folder,
                                      WorkerOptions options) {
  options.workers = std::clamp<std::size_t>(options.workers, 1, std::max<std::size_t>(traces.size(), 1));
  const std::vector<Batch> batches = BatchesOf(traces, options.workers);
  std::vector<std::vector<std::string>> made(batches.size());
  ReadTraces done(traces.size());
  try {
    ForEachSideBySide(batches.size(), options.workers, [&](std::size_t i) {
      made[i] = MakeBatch(batches[i], folder + "/" + std::to_string(i), options, &done);
    });
  } catch (const Interrupted&) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return {};  // from where `done` has this process die of the signal
  }
  std::vector<std::string> all;
  for (const auto& paths : made) all.insert(all.end(), paths.begin(), paths.end());
  return all;
}

std::string MakeWithPython(const std::vector<std::string>& traces, const std::string& engine, std::size_t workers,
                           const std::string& cluster) {
  const ScratchFolder folder("ranks");
  const std::string list = folder.path() + "/list", out = folder.path() + "/all.gpart";
  std::string lines;
  for (const std::string& trace : traces) lines += std::filesystem::absolute(trace).string() + "\n";
  WriteFile(list, lines);
  // Not by -m: the package has the module already, of which Python warns in each worker.
  constexpr char kMain[] = "from gprof_cli import fleet; fleet.main()";
  std::vector<std::string> words = {"python3", "-c", kMain, "--engine", engine, "--workers", std::to_string(workers)};
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
