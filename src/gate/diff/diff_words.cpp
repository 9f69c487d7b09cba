#include "gate/diff/diff_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/demangle.h"
#include "base/units.h"
#include "gate/breakdown/run_sums.h"
#include "gate/budget/value_text.h"

namespace gprof {
namespace {

constexpr size_t kMostChanges = 5;
constexpr int64_t kMostCounters = 3;
constexpr double kEnough = 0.95;     // of all that moved: what is smaller than the rest of it is not named
constexpr double kOtherWork = 0.01;  // counts and bytes that differ by more than this are other work

std::string Time(double ns) { return FormatNs(ns); }
std::string TimeChanged(double ns) { return FormatNsChange(ns); }

std::string FromTo(double base_ns, double new_ns) { return Time(base_ns) + " -> " + Time(new_ns); }

// "12.30 ms (12.5%)", without signs.
std::string Size(double change_ns, double base_ns) {
  const std::string text = Time(std::fabs(change_ns));
  if (base_ns == 0) return text;
  return text + " (" + FormatPercentChange(std::fabs(100 * change_ns / base_ns)).substr(1) + ")";
}

// What is said of a change depends on whether it is one; `of` says what changed: " in wall time".
std::string Sentence(double base_ns, double new_ns, const std::string& of,
                     const std::optional<SampleComparison>& judged) {
  const double change_ns = new_ns - base_ns;
  if (change_ns == 0) return "no change" + of + ", " + Time(base_ns);
  const std::string size = Size(change_ns, base_ns), word = (change_ns < 0 ? " faster" : " slower") + of;
  const std::string from_to = ", " + FromTo(base_ns, new_ns);
  if (judged && judged->change == Change::kSame) return "no relevant change: NEW " + size + word + from_to;
  const bool is_open = judged && judged->change == Change::kInconclusive;
  return "NEW " + size + word + from_to + (is_open ? ", difference not significant" : "");
}

struct NamedChange {
  double change_ns = 0;
  std::string label, remark;
};

// ": copies -56.15 ms (pageable -> pinned), idle: copy -12.96 ms, other +0.40 ms"; the changes sum to `whole_ns`.
std::string LargestChanges(std::vector<NamedChange> changes, double whole_ns) {
  std::stable_sort(changes.begin(), changes.end(), [](const NamedChange& a, const NamedChange& b) {
    return std::fabs(a.change_ns) > std::fabs(b.change_ns);
  });
  std::erase_if(changes, [](const NamedChange& change) { return change.change_ns == 0; });
  double moved_ns = 0, named_ns = 0, named_sum_ns = 0;
  for (const NamedChange& change : changes) moved_ns += std::fabs(change.change_ns);
  std::string text;
  size_t named = 0;
  for (; named < changes.size() && named < kMostChanges && named_ns < kEnough * moved_ns; ++named) {
    const NamedChange& change = changes[named];
    named_ns += std::fabs(change.change_ns);
    named_sum_ns += change.change_ns;
    text += (text.empty() ? ": " : ", ") + change.label + " " + TimeChanged(change.change_ns);
    if (!change.remark.empty()) text += " (" + change.remark + ")";
  }
  if (named < changes.size()) text += ", other " + TimeChanged(whole_ns - named_sum_ns);
  return text;
}

bool IsOther(int64_t base, int64_t now) {
  return std::fabs(static_cast<double>(now - base)) > kOtherWork * static_cast<double>(std::max(base, now));
}

// The sort of host memory that most bytes of a direction come from or go to.
std::string HostMemory(const std::map<std::string, int64_t>& bytes) {
  const auto most =
      std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes.end() || most->second == 0 ? "" : most->first;
}

struct Traffic {
  std::map<std::string, int64_t> base, now;  // bytes by host memory
};

// "pageable -> pinned" where that is what became of most bytes of a direction, and how much was copied otherwise.
std::string CopyRemark(const Diff& diff) {
  std::map<std::string, Traffic> by_direction;
  int64_t base_bytes = 0, new_bytes = 0;
  for (const TransferChange& t : diff.transfers) {
    if (t.direction == "fill") continue;
    base_bytes += t.base_bytes;
    new_bytes += t.new_bytes;
    const std::string host = t.direction == "host to device"   ? t.memory.substr(0, t.memory.find(" to "))
                             : t.direction == "device to host" ? t.memory.substr(t.memory.find(" to ") + 4)
                                                               : "";
    if (host.empty()) continue;
    by_direction[t.direction].base[host] += t.base_bytes;
    by_direction[t.direction].now[host] += t.new_bytes;
  }
  std::string text;
  for (const auto& [direction, traffic] : by_direction) {
    const std::string before = HostMemory(traffic.base), after = HostMemory(traffic.now);
    if (before.empty() || after.empty() || before == after) continue;
    const std::string words = before + " -> " + after;
    if (text.find(words) == std::string::npos) text += (text.empty() ? "" : ", ") + words;
  }
  if (IsOther(base_bytes, new_bytes)) {
    text += (text.empty() ? "" : ", ") + FormatBytes(base_bytes) + " -> " + FormatBytes(new_bytes);
  }
  return text;
}

std::pair<int64_t, int64_t> KernelCounts(const Diff& diff) {
  std::pair<int64_t, int64_t> counts;
  for (const KernelChange& kernel : diff.kernels) {
    if (kernel.name == kWholeGraph) continue;
    counts.first += kernel.base_count;
    counts.second += kernel.new_count;
  }
  return counts;
}

// "9 gone: softmax 8.00 ms in 40 launches, …": those with most time.
std::string KernelsThatAre(Presence presence, const Diff& diff) {
  constexpr size_t kMostNamed = 3;
  struct OfName {
    int64_t ns, count;
    std::string name;
  };
  std::vector<OfName> all;
  for (const KernelChange& kernel : diff.kernels) {
    if (kernel.presence != presence || kernel.name == kWholeGraph) continue;
    all.push_back({kernel.time.base_ns + kernel.time.new_ns, kernel.base_count + kernel.new_count, kernel.name});
  }
  if (all.empty()) return "";
  std::stable_sort(all.begin(), all.end(), [](const OfName& a, const OfName& b) { return a.ns > b.ns; });
  std::string text = FormatCount(static_cast<int64_t>(all.size())) + (presence == Presence::kGone ? " gone" : " new");
  for (size_t i = 0; i < std::min(all.size(), kMostNamed); ++i) {
    text += (i == 0 ? ": " : ", ") + ShortName(all[i].name) + " " + FormatNs(all[i].ns) + " in " +
            CountOf(all[i].count, "launch", "launches");
  }
  return text + (all.size() > kMostNamed ? ", …" : "");
}

std::string KernelRemark(const Diff& diff) {
  const auto [base, now] = KernelCounts(diff);
  return IsOther(base, now) ? FormatCount(base) + " -> " + FormatCount(now) : "";
}

std::string SumOverGpus(const Diff& diff) {
  if (!diff.base.has_breakdown || !diff.now.has_breakdown) return "";
  const size_t base = diff.base.gpus, now = diff.now.gpus;
  if (base != now) return ", " + std::to_string(base) + " -> " + std::to_string(now) + " GPUs combined";
  return base > 1 ? ", " + std::to_string(base) + " GPUs combined" : "";
}

std::vector<NamedChange> WindowChanges(const Diff& diff) {
  std::vector<NamedChange> changes;
  for (const PartChange& part : diff.parts) {
    if (!part.is_in_window) continue;
    NamedChange change{static_cast<double>(part.time.ChangeNs()), part.label, ""};
    if (part.key == PartKey(kPartKernels)) change.remark = KernelRemark(diff);
    if (part.key == PartKey(kPartCopies)) change.remark = CopyRemark(diff);
    if (part.key == PartKey(kPartOverlap)) change.label = part.time.ChangeNs() < 0 ? "more overlap" : "lost overlap";
    changes.push_back(std::move(change));
  }
  return changes;
}

// "2 worse: sync.count 0 -> 10, api.calls 452 -> 468": the first few of those that changed so.
std::string Counters(const Diff& diff, Change change, const char* word) {
  int64_t count = 0;
  std::string list;
  for (const MetricChange& metric : diff.metrics) {
    if (!metric.is_deterministic || !metric.scope.empty() || !metric.judged || metric.judged->change != change)
      continue;
    if (++count > kMostCounters) continue;
    list += (list.empty() ? "" : ", ") + metric.id + " " + FormatValue(*metric.base, metric.unit) + " -> " +
            FormatValue(*metric.now, metric.unit);
  }
  if (count == 0) return "";
  return FormatCount(count) + word + list + (count > kMostCounters ? ", …" : "");
}

}  // namespace

std::string_view ChangeName(Change change) {
  switch (change) {
    case Change::kSame:
      return "same";
    case Change::kImproved:
      return "improved";
    case Change::kRegressed:
      return "regressed";
    case Change::kChanged:
      return "changed";
    case Change::kInconclusive:
      break;
  }
  return "inconclusive";
}

std::string_view PresenceName(Presence presence) {
  switch (presence) {
    case Presence::kNew:
      return "new";
    case Presence::kGone:
      return "gone";
    case Presence::kRenamed:
      return "renamed?";
    case Presence::kBoth:
      break;
  }
  return "";
}

std::string VerdictText(const Diff& diff) {
  if (!diff.is_judged) return "not judged: " + diff.evidence;
  return std::string(ChangeName(diff.verdict)) + " (" + diff.figure + "): " + diff.evidence;
}

std::string GpuText(const Diff& diff) {
  if (diff.window.base_ns == 0 && diff.window.new_ns == 0) return "";
  if (diff.window.new_ns == 0) return "NEW has no GPU work, BASE has " + FormatNs(diff.window.base_ns);
  if (diff.window.base_ns == 0) return "BASE has no GPU work, NEW has " + FormatNs(diff.window.new_ns);
  const auto base_ns = static_cast<double>(diff.window.base_ns), new_ns = static_cast<double>(diff.window.new_ns);
  return Sentence(base_ns, new_ns, " in the GPU window", diff.window.judged) + SumOverGpus(diff) +
         LargestChanges(WindowChanges(diff), new_ns - base_ns);
}

std::string WallText(const Diff& diff) {
  const auto base_ns = static_cast<double>(diff.wall.base_ns), new_ns = static_cast<double>(diff.wall.new_ns);
  if ((base_ns == 0 && new_ns == 0) || !diff.base.has_breakdown || !diff.now.has_breakdown) return "";
  std::string text = Sentence(base_ns, new_ns, " in wall time", diff.wall.judged);
  if (diff.base.gpus != 1 || diff.now.gpus != 1) return text;
  std::vector<NamedChange> changes = {{static_cast<double>(diff.window.ChangeNs()), "GPU window", ""}};
  for (const PartChange& part : diff.parts) {
    if (!part.is_in_window) changes.push_back({static_cast<double>(part.time.ChangeNs()), part.label, ""});
  }
  return text + LargestChanges(std::move(changes), new_ns - base_ns);
}

std::string StepText(const Diff& diff) {
  if (!diff.steps) return "";
  const StepChange& steps = *diff.steps;
  std::string text = Sentence(steps.base_median_ns, steps.new_median_ns,
                              " in the median \"" + steps.new_path + "\" step", steps.judged);
  if (steps.base_count != steps.new_count) {
    text += ", " + FormatCount(steps.base_count) + " -> " + CountOf(steps.new_count, "step");
  }
  std::vector<NamedChange> changes;
  for (const StepPartChange& part : steps.parts) {
    changes.push_back({steps.NewMeanNs(part.new_total_ns) - steps.BaseMeanNs(part.base_total_ns), part.label, ""});
  }
  const double mean_ns = steps.NewMeanNs(steps.new_total_ns) - steps.BaseMeanNs(steps.base_total_ns);
  const bool is_same =
      std::all_of(changes.begin(), changes.end(), [](const NamedChange& change) { return change.change_ns == 0; });
  if (is_same) return text;
  return text + "; mean " + TimeChanged(mean_ns) + LargestChanges(std::move(changes), mean_ns);
}

std::string CounterText(const Diff& diff) {
  const std::string worse = Counters(diff, Change::kRegressed, " worse: "),
                    better = Counters(diff, Change::kImproved, " better: ");
  return worse + (worse.empty() || better.empty() ? "" : "; ") + better;
}

std::string LaunchText(const Diff& diff) {
  const auto [base, now] = KernelCounts(diff);
  if (diff.base_launches == diff.new_launches && base == now) return "";
  std::string text = FormatCount(diff.base_launches) + " -> " + FormatCount(diff.new_launches) + " (" +
                     FormatCountChange(diff.new_launches - diff.base_launches) + ")";
  if (!diff.steps) return text;
  const StepChange& steps = *diff.steps;
  text += fmt::format("; {:.1f} -> {:.1f} kernels a step", steps.BaseMeanNs(base), steps.NewMeanNs(now));
  int64_t base_idle_ns = 0, new_idle_ns = 0;
  for (const StepPartChange& part : steps.parts) {
    if (part.label == "kernels") {
      text += ", kernels " + FromTo(steps.BaseMeanNs(part.base_total_ns), steps.NewMeanNs(part.new_total_ns));
    }
    if (!part.label.starts_with("idle")) continue;
    base_idle_ns += part.base_total_ns;
    new_idle_ns += part.new_total_ns;
  }
  return text + ", idle " + FromTo(steps.BaseMeanNs(base_idle_ns), steps.NewMeanNs(new_idle_ns));
}

std::string ReplacedText(const Diff& diff) {
  const std::string gone = KernelsThatAre(Presence::kGone, diff), made = KernelsThatAre(Presence::kNew, diff);
  return gone.empty() || made.empty() ? "" : gone + "; " + made;
}

std::string WorkText(const Diff& diff) {
  std::string text;
  const auto add = [&](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
  const auto [base, now] = KernelCounts(diff);
  if (IsOther(base, now)) add(FormatCount(base) + " -> " + CountOf(now, "kernel"));
  int64_t base_bytes = 0, new_bytes = 0;
  for (const TransferChange& transfer : diff.transfers) {
    if (transfer.direction == "fill") continue;
    base_bytes += transfer.base_bytes;
    new_bytes += transfer.new_bytes;
  }
  if (IsOther(base_bytes, new_bytes)) add(FormatBytes(base_bytes) + " -> " + FormatBytes(new_bytes) + " copied");
  if (diff.steps && diff.steps->base_count != diff.steps->new_count) {
    add(FormatCount(diff.steps->base_count) + " -> " + CountOf(diff.steps->new_count, "step"));
  }
  return text.empty() ? "" : "BASE and NEW did different work: " + text;
}

std::string OneLine(const Diff& diff) {
  const bool has_window = diff.window.base_ns != 0 || diff.window.new_ns != 0;
  const TimeChange& time = has_window ? diff.window : diff.wall;
  auto base_ns = static_cast<double>(time.base_ns), new_ns = static_cast<double>(time.new_ns);
  if (diff.steps) base_ns = diff.steps->base_median_ns, new_ns = diff.steps->new_median_ns;
  std::string text = diff.is_judged ? std::string(ChangeName(diff.verdict)) : "not judged";
  const bool has_times = base_ns != 0 || new_ns != 0;
  text += ": " + (has_times ? diff.figure + " " + FromTo(base_ns, new_ns) : diff.evidence);
  if (base_ns != 0) text += " (" + FormatPercentChange(100 * (new_ns - base_ns) / base_ns) + ")";
  if (diff.worse_counters == 0 && diff.better_counters == 0) return text;
  return text + "; counters: " + FormatCount(diff.worse_counters) + " worse, " + FormatCount(diff.better_counters) +
         " better";
}

}  // namespace gprof
