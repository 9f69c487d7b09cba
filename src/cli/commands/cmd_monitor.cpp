// gprof-cli monitor: what the GPUs of this machine do, as it happens. docs/commands/monitor.md
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/table.h"
#include "base/terminal.h"
#include "base/units.h"
#include "cli/arguments/options.h"
#include "cli/commands/commands.h"
#include "cli/live/live_loop.h"
#include "cli/render/render_monitor.h"
#include "cli/talk.h"
#include "collect/gpu/gpu_watch.h"
#include "gprof/error.h"
#include "html/view/served_file.h"

namespace gprof::cli {
namespace {

constexpr uint16_t kPort = 9835;
constexpr double kShortestSeconds = 0.1;

class Monitor : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("--interval", seconds_, "seconds between readings (default 1)")->type_name("SEC")->group("Output");
    app.add_option("--count", count_, "stop after this many readings")
        ->type_name("N")
        ->check(WholeNumber(1, 1'000'000'000))
        ->group("Output");
    app.add_option("--format", format_,
                   "text (default), jsonl (one line of JSON per reading), or prometheus (metrics over HTTP)")
        ->type_name("text|jsonl|prometheus")
        ->check(OneOf({"text", "jsonl", "prometheus"}))
        ->group("Output");
    app.add_option("--port", port_, "with prometheus: serve http://127.0.0.1:N/metrics (default 9835); 0 for any port")
        ->type_name("N")
        ->check(WholeNumber(0, 65535))
        ->group("Output");
  }

  int Run() override {
    if (seconds_ < kShortestSeconds)
      throw Error(ExitCode::kUsage, "--interval is too short", "use at least 0.1 (seconds)");
    std::string why;
    if (!watch_.Open(&why))
      throw Error(ExitCode::kUnreadable, "cannot watch GPUs: " + why, "run gprof-cli doctor for advice");
    if (format_ == "prometheus") return Serve();
    watch_.Read();
    const Terminal terminal = DetectTerminal(STDOUT_FILENO);
    ShowAgainAndAgain(static_cast<int64_t>(seconds_ * 1e9), count_, [&] { return WriteResult(Show(terminal)); });
    return CodeOf(ExitCode::kGood);
  }

 private:
  std::string Show(const Terminal& terminal) {
    const std::vector<GpuReading> readings = watch_.Read();
    if (format_ == "jsonl") return MonitorJson(readings, UnixNs());
    history_.Add(readings);
    constexpr char kClear[] = "\033[H\033[J";
    return (terminal.is_terminal ? kClear : "") + MonitorText(readings, history_, terminal) + "\n";
  }

  int Serve() {
    const HttpServer server(port_);
    Say("http://127.0.0.1:" + std::to_string(server.port()) + "/metrics, until Ctrl-C");
    ServedFile file{"/metrics", "text/plain; version=0.0.4; charset=utf-8", "", ""};
    file.make = [this] { return MonitorPrometheus(watch_.Read()); };
    server.Serve([&](const HttpRequest& request) { return AnswerWith(file, request); });
    return CodeOf(ExitCode::kGood);
  }

  static int64_t UnixNs() {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
  }

  double seconds_ = 1;
  uint64_t count_ = 0;
  std::string format_ = "text";
  uint16_t port_ = kPort;
  GpuWatch watch_;
  MonitorHistory history_;
};

}  // namespace

std::unique_ptr<Command> MakeMonitor() { return std::make_unique<Monitor>(); }

}  // namespace gprof::cli
