// gprof-cli top: what a program that is being recorded does, as it happens. docs/commands/top.md
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "base/terminal.h"
#include "cli/arguments/options.h"
#include "cli/commands/commands.h"
#include "cli/live/live_loop.h"
#include "cli/live/live_reader.h"
#include "cli/live/recorder_protocol.h"
#include "cli/render/render_top.h"
#include "cli/talk.h"

namespace gprof::cli {
namespace {

class Top : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("RECORDER", who_, "name, or PID of the program; may be left out where there is only one recorder");
    app.add_option("--interval", interval_, "time between two readings, which each is about (default 1s)")
        ->type_name("TIME")
        ->group("Output");
    app.add_option("--count", count_, "stop after this many readings")
        ->type_name("N")
        ->check(WholeNumber(1, 1'000'000'000))
        ->group("Output");
    app.add_option("--format", format_, "text (default), or jsonl (one line of JSON per reading)")
        ->type_name("text|jsonl")
        ->check(OneOf({"text", "jsonl"}))
        ->group("Output");
  }

  int Run() override {
    interval_ns_ = ReadInterval(interval_);
    LiveReader reader(ChooseRecorder(who_));
    const Terminal terminal = DetectTerminal(STDOUT_FILENO);
    ShowAgainAndAgain(interval_ns_, count_, [&] { return WriteResult(Show(&reader, terminal)); });
    return CodeOf(ExitCode::kGood);
  }

 private:
  std::string Show(LiveReader* reader, const Terminal& terminal) const {
    constexpr uint32_t kKernels = 8;
    const int64_t now_ns = MonotonicNs(), from_ns = now_ns - interval_ns_;
    const Json status = reader->Refresh();
    const std::optional<Trace> trace = reader->Between(from_ns, now_ns);
    reader->Forget(from_ns);
    TopReading reading;
    reading.time_ns = interval_ns_;
    if (trace) reading = TopOf(*trace, interval_ns_, kKernels);
    if (format_ == "jsonl") return TopJson(reading, status);
    constexpr char kClear[] = "\033[H\033[J";
    return (terminal.is_terminal ? kClear : "") + TopText(reading, status, terminal) + "\n";
  }

  std::string who_, interval_ = "1s", format_ = "text";
  uint64_t count_ = 0;
  int64_t interval_ns_ = 0;
};

}  // namespace

std::unique_ptr<Command> MakeTop() { return std::make_unique<Top>(); }

}  // namespace gprof::cli
