#include "trace/reshape/selected_names.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>

#include "base/demangle.h"
#include "base/text.h"
#include "gprof/error.h"

namespace gprof {
namespace {

constexpr std::size_t kNamesInAHint = 8;
constexpr std::size_t kLongestInAHint = 48;  // columns: names of templates may be longer than a page

std::optional<uint32_t> NumberOf(std::string_view word) {
  uint32_t number = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || stop != word.data() + word.size()) return std::nullopt;
  return number;
}

// Numbers by their value, before names.
struct InOrder {
  bool operator()(const std::string& a, const std::string& b) const {
    const std::optional<uint32_t> left = NumberOf(a), right = NumberOf(b);
    if (left && right) return *left < *right;
    return left.has_value() != right.has_value() ? left.has_value() : a < b;
  }
};
using Known = std::set<std::string, InOrder>;

[[noreturn]] void FailUnknown(const std::string& what, const std::string& word, const Known& known) {
  std::vector<std::string> names;
  for (const std::string& name : known) names.push_back(ShortenMiddle(Printable(name), kLongestInAHint));
  throw Error(ExitCode::kUsage, "no " + what + " '" + word + "' in the trace",
              names.empty() ? "" : "available: " + JoinedUpTo(kNamesInAHint, std::move(names)));
}

// Flags for `count` things that a word means by their number or name; all of them without words.
template <class NumberF, class NameF, class AllowedF>
std::vector<uint8_t> Chosen(const std::string& what, const std::vector<std::string>& words, std::size_t count,
                            NumberF&& number_of, NameF&& name_of, AllowedF&& is_allowed) {
  std::vector<uint8_t> is_chosen(count, 0);
  if (words.empty()) {
    for (uint32_t i = 0; i < count; ++i) is_chosen[i] = is_allowed(i);
    return is_chosen;
  }
  for (const std::string& word : words) {
    const std::optional<uint32_t> number = NumberOf(word);
    bool is_found = false;
    for (uint32_t i = 0; i < count; ++i) {
      if (!is_allowed(i) || !((number && number_of(i) == *number) || name_of(i) == word)) continue;
      is_chosen[i] = 1;
      is_found = true;
    }
    if (is_found) continue;
    Known known;
    for (uint32_t i = 0; i < count; ++i) {
      if (is_allowed(i)) known.insert(name_of(i).empty() ? std::to_string(number_of(i)) : std::string(name_of(i)));
    }
    FailUnknown(what, word, known);
  }
  return is_chosen;
}

}  // namespace

std::vector<uint8_t> SelectedNames::Processes() const {
  if (selection_.capture && std::none_of(trace_.captures.begin(), trace_.captures.end(),
                                         [&](const Capture& c) { return c.number == *selection_.capture; })) {
    Known known;
    for (const Capture& c : trace_.captures) known.insert(std::to_string(c.number));
    FailUnknown("capture", std::to_string(*selection_.capture), known);
  }
  return Chosen(
      "process", selection_.processes, trace_.processes.size(), [&](uint32_t i) { return trace_.processes[i].pid; },
      [&](uint32_t i) { return trace_.Text(trace_.processes[i].name); }, [](uint32_t) { return true; });
}

std::vector<uint8_t> SelectedNames::Threads(const std::vector<uint8_t>& is_process) const {
  return Chosen(
      "thread", selection_.threads, trace_.threads.size(), [&](uint32_t i) { return trace_.threads[i].tid; },
      [&](uint32_t i) { return trace_.Text(trace_.threads[i].name); },
      [&](uint32_t i) {
        const uint32_t process = trace_.threads[i].process;
        return process == kNone ? selection_.processes.empty() : is_process[process] != 0;
      });
}

std::vector<uint8_t> SelectedNames::Devices() const {
  std::vector<std::string> words;
  for (const uint32_t ordinal : selection_.devices) words.push_back(std::to_string(ordinal));
  return Chosen(
      "GPU", words, trace_.devices.size(), [&](uint32_t i) { return trace_.devices[i].ordinal; },
      [](uint32_t) { return std::string_view(); }, [](uint32_t) { return true; });
}

std::vector<uint8_t> SelectedNames::Streams(const std::vector<uint8_t>& is_process,
                                            const std::vector<uint8_t>& is_device) const {
  return Chosen(
      "stream", selection_.streams, trace_.streams.size(), [&](uint32_t i) { return trace_.streams[i].id; },
      [&](uint32_t i) { return trace_.Text(trace_.streams[i].name); },
      [&](uint32_t i) {
        const Stream& stream = trace_.streams[i];
        const bool is_its = stream.process == kNone ? selection_.processes.empty() : is_process[stream.process] != 0;
        return is_its && (stream.device == kNone ? selection_.devices.empty() : is_device[stream.device] != 0);
      });
}

bool SelectedNames::IsNamed(std::string_view path, const NvtxRange& range) const {
  return MatchesPath(selection_.nvtx, path,
                     range.domain == kNone ? std::string_view() : trace_.Text(trace_.domains[range.domain].name));
}

// The path of one instance: "epoch 3/step 17", where the path of all of them is "epoch */step *".
std::string SelectedNames::InstancePath(uint32_t index) const {
  const uint32_t domain = trace_.ranges[index].domain;
  std::string path;
  for (uint32_t at = index; at != kNone; at = trace_.ranges[at].parent) {
    const NvtxRange& range = trace_.ranges[at];
    if (range.domain == domain) path.insert(0, path.empty() ? "" : "/").insert(0, trace_.Text(range.name));
  }
  return path;
}

std::vector<uint8_t> SelectedNames::Ranges() const {
  if (selection_.nvtx.empty()) return {};
  enum : uint8_t { kNotTried, kOther, kSelected };
  std::vector<uint8_t> is_selected(trace_.ranges.size(), 0), of_path(trace_.strings.size(), kNotTried);
  Known known;
  bool is_found = false;
  for (uint32_t i = 0; i < trace_.ranges.size(); ++i) {
    const NvtxRange& range = trace_.ranges[i];
    const std::string_view path = trace_.Text(range.path);
    uint8_t& state = of_path[range.path.value];
    if (state == kNotTried) {
      known.emplace(path);
      state = IsNamed(path, range) ? kSelected : kOther;
    }
    const bool has_instances = path.find('*') != std::string_view::npos;
    is_selected[i] = state == kSelected || (has_instances && IsNamed(InstancePath(i), range));
    is_found |= is_selected[i] != 0;
  }
  if (!is_found) FailUnknown("NVTX range", selection_.nvtx, known);
  return is_selected;
}

std::vector<uint8_t> SelectedNames::Kernels() const {
  if (selection_.kernel.text.empty()) return {};
  std::vector<uint8_t> is_kernel(trace_.strings.size(), 0), is_tried(trace_.strings.size(), 0);
  Known known;
  bool is_found = false;
  const auto take = [&](NameId id) {
    if (is_tried[id.value] != 0) return;
    is_tried[id.value] = 1;
    const std::string name = Demangle(trace_.Text(id));
    is_kernel[id.value] = selection_.kernel.matches(name);
    is_found = is_found || is_kernel[id.value] != 0;
    known.insert(ShortName(name));
  };
  for (const GpuOp& op : trace_.ops) {
    if (op.kind == OpKind::kKernel) take(op.name);
  }
  for (const CounterRange& range : trace_.counter_ranges) take(range.name);
  for (const PcSample& sample : trace_.pc_samples) take(sample.kernel);
  if (!is_found) FailUnknown("kernel matching", selection_.kernel.text, known);
  return is_kernel;
}

}  // namespace gprof
