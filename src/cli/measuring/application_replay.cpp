#include "cli/measuring/application_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "cli/measuring/scratch_folder.h"
#include "cli/recording/leftovers.h"
#include "gprof/trace/counter_request.h"
#include "launch/run/input.h"
#include "launch/run/relay.h"

namespace gprof::cli {
namespace {

namespace words = trace::counter_request;

class Replay {
 public:
  Replay(const CounterWishes& wishes, const LaunchOptions& options) : wishes_(wishes), options_(options) {}

  ReplayedRuns Run() {
    const LaunchResult first = RunOne(0, options_);
    result_.last = first;
    result_.passes = MostPasses();
    result_.launches = FilesWith(words::kImageEnding) + FilesWith(words::kWholeEnding);
    if (result_.passes > 1 && input_.IsForOneProgram())
      options_.warn("stdin is a pipe: the first run reads it all and later runs get nothing");
    for (uint32_t run = 1; run < result_.passes && result_.launches > 0 && GoesOn(first, run); ++run) {
      options_.say(fmt::format("pass {} of {}", run + 1, result_.passes));
      result_.last = RunOne(run, OptionsOf(run, first));
    }
    if (result_.failure.empty()) GoesOn(first, result_.passes);
    RestoreInheritedSignals();
    FindIncomplete();
    return result_;
  }

 private:
  LaunchResult RunOne(uint32_t run, LaunchOptions options) {
    RecoverEarlierRuns();
    input_.Rewind();
    wishes_.replay_folder = folder_.path();
    wishes_.replay_run = run;
    options.counters = CounterRequest(wishes_);
    LaunchResult result = RunTraced(options);
    if (result.was_ended_by_capture) result.exit_code = 0;
    if (const int signal = SettleSignals(); result.stop_signal == 0) result.stop_signal = signal;
    return result;
  }

  // The last one writes what the user asked for, the others what nobody reads.
  LaunchOptions OptionsOf(uint32_t run, const LaunchResult& first) const {
    LaunchOptions options = options_;
    const bool is_last = run + 1 == result_.passes;
    options.output = Literal(is_last ? first.trace_path : folder_.path() + "/unread.trace");
    options.is_default_output = false;
    options.may_overwrite = true;
    options.program_output = ProgramOutput::kHidden;
    options.is_quiet = true;  // what there is to say, the first run has said
    options.warn = [](const std::string&) {};
    if (!is_last) options.finish_trace = nullptr;
    return options;
  }

  // A name that is no pattern.
  static std::string Literal(const std::string& path) {
    std::string literal;
    for (const char c : path) literal += c == '%' ? "%%" : std::string(1, c);
    return literal;
  }

  // False: the run before pass `next` was not as the first one.
  bool GoesOn(const LaunchResult& first, uint32_t next) {
    const LaunchResult& last = result_.last;
    if (last.stop_signal != 0) {
      result_.failure = fmt::format("interrupted in pass {} of {}", next, result_.passes);
    } else if (last.exit_code != first.exit_code) {
      result_.failure = fmt::format("pass {} of {}: the program ended with {}, but with {} in the first run", next,
                                    result_.passes, last.exit_code, first.exit_code);
    }
    return result_.failure.empty();
  }

  uint32_t MostPasses() const {
    std::ifstream file(folder_.path() + "/" + words::kPassesFile);
    uint32_t most = 0;
    for (uint32_t passes = 0; file >> passes;) most = std::max(most, passes);
    return most;
  }

  std::size_t FilesWith(const char* ending) const {
    std::size_t count = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
      count += file.path().extension() == ending ? 1 : 0;
    }
    return count;
  }

  // In the order of their names, so that the same one is named each time.
  void FindIncomplete() {
    namespace fs = std::filesystem;
    std::set<fs::path> incomplete;
    for (const auto& file : fs::directory_iterator(folder_.path())) {
      const fs::path& path = file.path();
      if (path.extension() == words::kImageEnding && !fs::exists(fs::path(path).replace_extension(words::kWholeEnding)))
        incomplete.insert(path);
    }
    result_.incomplete = incomplete.size();
    if (!incomplete.empty()) result_.incomplete_one = LaunchIn(*incomplete.begin());
  }

  static std::string LaunchIn(const std::filesystem::path& file) {
    words::ReplayedLaunch launch{};
    std::ifstream(file, std::ios::binary).read(reinterpret_cast<char*>(&launch), sizeof launch);
    launch.kernel[sizeof launch.kernel - 1] = 0;
    return fmt::format("{} with grid {} x {} x {}", launch.kernel, launch.grid[0], launch.grid[1], launch.grid[2]);
  }

  CounterWishes wishes_;
  LaunchOptions options_;
  ScratchFolder folder_{"replay"};
  SharedInput input_;
  ReplayedRuns result_;
};

}  // namespace

ReplayedRuns RunOncePerPass(const CounterWishes& wishes, const LaunchOptions& options) {
  return Replay(wishes, options).Run();
}

}  // namespace gprof::cli
