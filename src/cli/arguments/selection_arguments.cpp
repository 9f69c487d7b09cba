#include "cli/arguments/selection_arguments.h"

#include <charconv>
#include <limits>

#include "base/expression/regular_expression.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/arguments/options.h"
#include "gprof/error.h"

namespace gprof::cli {
namespace {

constexpr const char* kSelectionGroup = "Filters";

std::vector<uint32_t> ReadOrdinals(const std::string& text) {
  std::vector<uint32_t> ordinals;
  for (std::string word : SplitList(text)) {
    if (word.starts_with("gpu")) word.erase(0, 3);
    uint32_t ordinal = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), ordinal);
    if (error != std::errc() || stop != word.data() + word.size() || word.empty()) {
      throw Error(ExitCode::kUsage, "--device needs GPU numbers, not '" + word + "'", "example: --device 0,1");
    }
    ordinals.push_back(ordinal);
  }
  return ordinals;
}

Interval ReadTimeRange(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    throw Error(ExitCode::kUsage, "--time-range needs START:END, not '" + text + "'", "example: --time-range 1.5s:2s");
  }
  const std::string from = text.substr(0, colon), to = text.substr(colon + 1);
  // Half of the largest number: the start of the trace is added to it.
  Interval time{0, std::numeric_limits<int64_t>::max() / 2};
  if (!from.empty()) time.start_ns = ReadTime("--time-range", from);
  if (!to.empty()) time.end_ns = ReadTime("--time-range", to);
  if (time.start_ns >= time.end_ns) {
    throw Error(ExitCode::kUsage, "--time-range '" + text + "' ends before it starts", "give the earlier time first");
  }
  return time;
}

std::vector<std::string> WordsOf(const std::string& text) {
  return text.empty() ? std::vector<std::string>() : SplitList(text);
}

void Add(const std::string& words, std::string* text) { *text += (text->empty() ? "" : ", ") + words; }

void AddList(const std::string& what, const std::vector<std::string>& words, std::string* text) {
  if (!words.empty()) Add(what + " " + Joined(words, " and "), text);
}

}  // namespace

void SelectionArguments::AddOptions(CLI::App& app) {
  app.add_option("--device", devices_, "only these GPUs, by number: 0,1")->type_name("LIST")->group(kSelectionGroup);
  app.add_option("--process", processes_, "only these processes, by PID or name")
      ->type_name("LIST")
      ->group(kSelectionGroup);
  app.add_option("--thread", threads_, "only these threads and the work they launched, by TID or name")
      ->type_name("LIST")
      ->group(kSelectionGroup);
  app.add_option("--stream", streams_, "only operations on these streams, by id or name")
      ->type_name("LIST")
      ->group(kSelectionGroup);
  app.add_option("--kernel", kernel_, "only kernels whose name matches")->type_name("REGEX")->group(kSelectionGroup);
  app.add_option("--nvtx", nvtx_,
                 "only NVTX ranges with this path, and calls and launches inside them; wildcards * and ?")
      ->type_name("PATH")
      ->group(kSelectionGroup);
  app.add_option("--time-range", time_,
                 "only this time range, relative to the start of the trace: 1.5s:2s, 100ms:, :2s; without a unit: ns")
      ->type_name("A:B")
      ->group(kSelectionGroup);
  app.add_option("--capture", capture_, "only this capture, by number")
      ->type_name("N")
      ->check(WholeNumber(1, 4'000'000'000))
      ->group(kSelectionGroup);
}

Selection SelectionArguments::Read() const {
  Selection selection;
  if (!devices_.empty()) selection.devices = ReadOrdinals(devices_);
  selection.processes = WordsOf(processes_);
  selection.threads = WordsOf(threads_);
  selection.streams = WordsOf(streams_);
  if (!kernel_.empty()) selection.kernel = {kernel_, RegularExpression(kernel_, "example: --kernel 'gemm|conv'")};
  selection.nvtx = nvtx_;
  if (!time_.empty()) selection.time = ReadTimeRange(time_);
  selection.capture = capture_;
  return selection;
}

std::string Describe(const Selection& selection) {
  std::string text;
  for (const uint32_t ordinal : selection.devices) Add("gpu" + std::to_string(ordinal), &text);
  AddList("process", selection.processes, &text);
  AddList("thread", selection.threads, &text);
  AddList("stream", selection.streams, &text);
  if (!selection.kernel.text.empty()) Add("kernels matching '" + selection.kernel.text + "'", &text);
  if (!selection.nvtx.empty()) Add("NVTX ranges " + selection.nvtx, &text);
  if (selection.time) {
    const bool is_open = selection.time->end_ns == std::numeric_limits<int64_t>::max() / 2;
    Add(FormatNs(selection.time->start_ns) + " to " + (is_open ? "the end" : FormatNs(selection.time->end_ns)), &text);
  }
  if (selection.capture) Add("capture " + std::to_string(*selection.capture), &text);
  return text;
}

}  // namespace gprof::cli
