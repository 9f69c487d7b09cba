#include "cli/arguments/capture_arguments.h"

#include <signal.h>
#include <string.h>
#include <strings.h>

#include <array>
#include <charconv>

#include "cli/arguments/options.h"
#include "gprof/error.h"

namespace gprof::cli {
namespace {

constexpr char kGroup[] = "Capture range";
constexpr uint32_t kMostSteps = 1'000'000'000;
// Names that a signal may be asked for by, and no others: SIGKILL cannot be taken, SIGSEGV is not sent by hand.
constexpr std::array kCaptureSignals = {SIGUSR1, SIGUSR2, SIGHUP, SIGWINCH, SIGALRM, SIGURG, SIGIO};

[[noreturn]] void Refuse(const std::string& what, const std::string& hint) {
  throw Error(ExitCode::kUsage, what, hint);
}

std::optional<uint32_t> ReadNumber(std::string_view text) {
  uint32_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

// "USR1" or "SIGUSR1" in any case, 0 when there is none.
int SignalOfName(const std::string& text) {
  const std::string name = strncasecmp(text.c_str(), "SIG", 3) == 0 ? text.substr(3) : text;
  for (int number = 1; number < SIGRTMIN; ++number) {
    const char* const known = sigabbrev_np(number);
    if (known != nullptr && strcasecmp(known, name.c_str()) == 0) return number;
  }
  return 0;
}

bool IsRangeEnd(std::string_view text) {
  if (text == "none" || text == "stop" || text == "stop-shutdown" || text == "repeat") return true;
  return text.starts_with("repeat:") && ReadNumber(text.substr(7)).value_or(0) >= 1;
}

}  // namespace

uint32_t ReadBudgetPpm(const std::string& option, std::string text) {
  while (!text.empty() && (text.back() == '%' || text.back() == ' ')) text.pop_back();
  double percent = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || stop != text.data() + text.size() || !(percent >= 0.01 && percent <= 50)) {
    Refuse(option + ": '" + text + "' is not a percentage from 0.01 to 50", "example: " + option + " 1%");
  }
  return static_cast<uint32_t>(percent * 10'000 + 0.5);
}

int ReadSignal(const std::string& option, const std::string& text) {
  if (text.empty() || text == "none") return 0;
  const std::optional<uint32_t> number = ReadNumber(text);
  const int signal = number ? static_cast<int>(*number) : SignalOfName(text);
  if (signal >= 1 && signal <= SIGRTMAX) return signal;
  Refuse(option + ": unknown signal '" + text + "'", "use none, sigterm, sigkill or a number");
}

int ReadCaptureSignal(const std::string& option, const std::string& text) {
  const int number = ReadSignal(option, text);
  const bool is_good = number == 0 || number >= SIGRTMIN ||
                       std::find(kCaptureSignals.begin(), kCaptureSignals.end(), number) != kCaptureSignals.end();
  if (is_good) return number;
  Refuse(option + ": '" + text + "' cannot be used", "use SIGUSR1 or SIGUSR2");
}

std::string ReadSampleSteps(const std::string& text) {
  struct Part {
    const char* name;
    std::optional<uint32_t> value;
  };
  std::array<Part, 5> parts = {{{"skip", {}}, {"wait", {}}, {"warmup", {}}, {"active", {}}, {"repeat", {}}}};
  const std::string hint = "example: --sample-steps skip=10,wait=5,warmup=1,active=3,repeat=2";
  for (const std::string& piece : SplitList(text)) {
    const std::size_t equals = std::min(piece.find('='), piece.size());
    Part* found = nullptr;
    for (Part& part : parts) {
      if (piece.substr(0, equals) == part.name) found = &part;
    }
    if (found == nullptr) Refuse("--sample-steps: unknown field '" + piece + "'", hint);
    found->value = ReadNumber(equals < piece.size() ? std::string_view(piece).substr(equals + 1) : "");
    if (!found->value || *found->value > kMostSteps) Refuse("--sample-steps: '" + piece + "' needs a number", hint);
  }
  if (parts[3].value.value_or(0) == 0) Refuse("--sample-steps needs active=, the number of steps to record", hint);
  std::string steps;
  for (const Part& part : parts) {
    steps += std::string(steps.empty() ? "" : ",") + part.name + "=" + std::to_string(part.value.value_or(0));
  }
  return steps;
}

void CaptureArguments::AddOptions(CLI::App& app) {
  const auto add = [&app](const char* names, std::string* value, const char* description, const char* type) {
    return app.add_option(names, *value, description)->type_name(type)->group(kGroup);
  };
  add("-y,--delay", &delay_, "start recording this long after APP starts", "SEC");
  add("-d,--duration", &duration_,
      "stop recording after this long; unlike nsys, APP keeps running unless --kill sigterm is given", "SEC");
  add("--kill", &kill_,
      "signal for APP when -d or --capture-range-end stop-shutdown ends the capture: none, sigterm, sigkill or a "
      "number (default with -d: none)",
      "none|sigterm|sigkill");
  add("-c,--capture-range", &range_,
      "record between cudaProfilerStart and cudaProfilerStop, or inside the NVTX range given by -p",
      "none|cudaProfilerApi|nvtx");
  add("-p,--nvtx-capture", &nvtx_,
      "NVTX range for -c nvtx or --sample-steps: RANGE, RANGE@DOMAIN, or RANGE@* for any domain", "RANGE@DOMAIN");
  add("--capture-range-end", &range_end_,
      "when the range ends: stop (default), stop-shutdown (nsys default; also ends APP), repeat or repeat:N to record "
      "later ranges too, none to keep recording",
      "none|stop|stop-shutdown|repeat");
  add("--sample-steps", &steps_,
      "record a subset of the steps marked by the NVTX range of -p: skip=10,wait=5,warmup=1,active=3,repeat=2", "LIST");
}

void CaptureArguments::AddSignalOption(CLI::App& app) {
  app.add_option("--capture-signal", signal_,
                 "toggle recording whenever gprof-cli receives this signal, for example SIGUSR1")
      ->type_name("SIGNAL")
      ->group(kGroup);
}

void CaptureArguments::AddWindowOptions(CLI::App& app) {
  app.add_flag("--measure-overhead", measures_overhead_,
               "measure how much recording slows APP down: record in every other window of 0.1 s and compare how fast "
               "APP progresses in both")
      ->group(kGroup);
  app.add_option("--overhead-budget", overhead_budget_,
                 "keep the slow-down below this share of the run time, for example 1%: record in windows, and pause "
                 "between them as long as needed")
      ->type_name("PERCENT")
      ->group(kGroup);
}

void CaptureArguments::RefuseContradictions() const {
  const char* const by_time = !delay_.empty() ? "--delay" : !duration_.empty() ? "--duration" : nullptr;
  const char* const by_steps = steps_.empty() ? nullptr : "--sample-steps";
  const char* const by_signal = signal_.empty() ? nullptr : "--capture-signal";
  const char* const by_range = HasRange() ? "--capture-range" : nullptr;
  const char* const by_windows = measures_overhead_          ? "--measure-overhead"
                                 : !overhead_budget_.empty() ? "--overhead-budget"
                                                             : nullptr;
  if (measures_overhead_ && !overhead_budget_.empty()) {
    Refuse("--measure-overhead and --overhead-budget cannot be combined",
           "--overhead-budget measures the slow-down as well");
  }
  const char* first = nullptr;
  for (const char* const one : {by_time, by_range, by_steps, by_signal, by_windows}) {
    if (one == nullptr) continue;
    if (first != nullptr) {
      Refuse(std::string(first) + " and " + one + " cannot be combined",
             "both select the capture range; remove one of them");
    }
    first = one;
  }
}

void CaptureArguments::RefuseWhatIsMissing(bool trace_cuda, bool trace_nvtx) const {
  if (range_ == "hotkey") {
    Refuse("--capture-range hotkey is not supported",
           "use --capture-signal SIGUSR1 (toggle with kill -USR1), or gprof-cli launch, start and stop");
  }
  const std::string wrong = OneOf({"none", "cudaProfilerApi", "nvtx"})(range_);
  if (!wrong.empty()) Refuse("--capture-range: " + wrong, "see gprof-cli help profile");
  const bool wants_nvtx = range_ == "nvtx" || !steps_.empty();
  const std::string user = steps_.empty() ? "--capture-range nvtx" : "--sample-steps";
  if (wants_nvtx && nvtx_.empty()) Refuse(user + " needs a range name", "add -p RANGE@DOMAIN");
  if (!wants_nvtx && !nvtx_.empty()) {
    Refuse("-p has no effect on its own", "add -c nvtx, or --sample-steps for a schedule");
  }
  if (wants_nvtx && !trace_nvtx) Refuse(user + " needs nvtx in -t", "add nvtx to -t");
  if (range_ == "cudaProfilerApi" && !trace_cuda) Refuse("-c cudaProfilerApi needs cuda in -t", "add cuda to -t");
  if (!HasRange() && !range_end_.empty()) {
    Refuse("--capture-range-end needs a capture range", "add -c cudaProfilerApi, or -c nvtx and -p");
  }
  if (!range_end_.empty() && !IsRangeEnd(range_end_)) {
    Refuse("--capture-range-end: unknown value '" + range_end_ + "'",
           "use none, stop, stop-shutdown, repeat or repeat:N");
  }
  if (ReadSignal("--kill", kill_) != 0 && duration_.empty() && range_end_ != "stop-shutdown") {
    Refuse("--kill needs an end of the capture", "add -d SEC, or --capture-range-end stop-shutdown");
  }
}

CaptureOptions CaptureArguments::Read(bool trace_cuda, bool trace_nvtx) const {
  RefuseContradictions();
  RefuseWhatIsMissing(trace_cuda, trace_nvtx);
  CaptureOptions options;
  if (!delay_.empty()) options.delay_ns = ReadSeconds("--delay", delay_);
  if (!duration_.empty()) options.duration_ns = ReadSeconds("--duration", duration_);
  if (!duration_.empty() && options.duration_ns == 0)
    Refuse("--duration 0 records nothing", "omit it, or use a larger value");
  if (!signal_.empty()) options.toggle_signal = ReadCaptureSignal("--capture-signal", signal_);
  if (HasRange()) options.begin = range_;
  if (!steps_.empty()) {
    options.begin = "steps";
    options.sample_steps = ReadSampleSteps(steps_);
  }
  if (measures_overhead_ || !overhead_budget_.empty()) {
    if (!trace_cuda) Refuse("recording in windows needs cuda in -t", "add cuda to -t");
    options.begin = "windows";
    options.windows = measures_overhead_
                          ? "measure"
                          : "budget=" + std::to_string(ReadBudgetPpm("--overhead-budget", overhead_budget_));
  }
  options.nvtx_range = nvtx_;
  options.end = range_end_;
  options.ends_program = range_end_ == "stop-shutdown";
  options.kill_signal = options.ends_program && kill_.empty() ? SIGTERM : ReadSignal("--kill", kill_);
  return options;
}

}  // namespace gprof::cli
