#include "analysis/topics/streams/stream_waits.h"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/causes/idle_parts.h"
#include "analysis/facts/calls/call_kinds.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/finding_words.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr double kIdleWorthAFinding = 5;  // percent of the window
constexpr double kHeldWorthATable = 1;    // percent of the window

class Collector {
 public:
  explicit Collector(const AnalysisInput& input)
      : input_(input), trace_(input.trace()), ops_(input.shared().ops()), events_(input.shared().host().event_waits) {}

  StreamWaits Run() {
    if (events_.IsEmpty()) return {};
    for (uint32_t stream = 0; stream < trace_.streams.size(); ++stream) Look(stream);
    if (!std::ranges::is_sorted(site_of_op_)) std::ranges::sort(site_of_op_);
    AddIdle();
    for (const StreamWaitSite& site : result_.sites) {
      result_.waits += site.waits;
      result_.held += site.held;
      result_.held_ns += site.held_ns;
      result_.idle_ns += site.idle_ns;
    }
    return std::move(result_);
  }

 private:
  using Key = std::tuple<uint32_t, NameId, NameId, EventTarget>;  // stream, paths of the wait and the record

  // Waits and operations of the stream in the order in which the program made them.
  void Look(uint32_t stream) {
    const std::span<const EventWait> waits = events_.WaitsOf(stream);
    const std::vector<uint32_t> sites = SitesOf(waits);
    const std::span<const uint32_t> ops = input_.shared().stream_ops().OpsOf(stream);
    int64_t free_ns = std::numeric_limits<int64_t>::min();  // the stream was done with what it had
    size_t at = 0, next = 0;
    while (next < waits.size() && (at += CountBefore(ops.subspan(at), waits[next].time_ns, &free_ns)) < ops.size()) {
      const size_t first = next;
      const int64_t launched_ns = ops_.LaunchNs(ops[at]);
      while (next < waits.size() && waits[next].time_ns <= launched_ns) ++next;
      Hold(ops[at], waits.subspan(first, next - first), std::span(sites).subspan(first, next - first), free_ns);
    }
  }

  // And counts them.
  std::vector<uint32_t> SitesOf(std::span<const EventWait> waits) {
    std::vector<uint32_t> sites;
    sites.reserve(waits.size());
    for (const EventWait& wait : waits) {
      sites.push_back(SiteOf(wait));
      ++result_.sites[sites.back()].waits;
    }
    return sites;
  }

  // How many operations come before the first one that was launched then or later. Takes note of when they ended.
  size_t CountBefore(std::span<const uint32_t> ops, int64_t time_ns, int64_t* free_ns) const {
    size_t count = 0;
    for (; count < ops.size() && ops_.LaunchNs(ops[count]) < time_ns; ++count) {
      *free_ns = std::max(*free_ns, trace_.ops[ops[count]].end_ns);
    }
    return count;
  }

  // `op` is the first after these waits.
  void Hold(uint32_t op, std::span<const EventWait> waits, std::span<const uint32_t> sites, int64_t free_ns) {
    const EventWait* last = nullptr;
    for (const EventWait& wait : waits) {
      if (last == nullptr || CompletedNs(wait, free_ns) > CompletedNs(*last, free_ns)) last = &wait;
    }
    const uint32_t index = sites[static_cast<size_t>(last - waits.data())];
    site_of_op_.emplace_back(op, index);
    if (!last->is_known || last->op == kNone) return;
    const GpuOp& held = trace_.ops[op];
    const uint32_t call = ops_.CallOf(op);
    const int64_t launched_ns = call == kNone ? held.start_ns : trace_.api_calls[call].end_ns;
    const int64_t until_ns = std::min(trace_.ops[last->op].end_ns, held.start_ns);
    const int64_t held_ns = until_ns - std::max(launched_ns, free_ns);
    if (held_ns <= 0) return;
    ++result_.sites[index].held;
    result_.sites[index].held_ns += held_ns;
  }

  // As far as it matters to a stream that was free at `free_ns`: what is not known comes before what was over by then.
  int64_t CompletedNs(const EventWait& wait, int64_t free_ns) const {
    if (!wait.is_known) return free_ns;
    const int64_t end_ns = wait.op == kNone || trace_.ops[wait.op].stream == wait.stream
                               ? std::numeric_limits<int64_t>::min()
                               : trace_.ops[wait.op].end_ns;
    return end_ns > free_ns ? end_ns : std::numeric_limits<int64_t>::min();
  }

  uint32_t SiteOf(const EventWait& wait) {
    const EventRecord* record = wait.record == kNone ? nullptr : &trace_.event_records[wait.record];
    const NameId path = PathOfCall(trace_, trace_.syncs[wait.sync].api);
    const NameId record_path = record == nullptr ? NameId{} : PathOfCall(trace_, record->api);
    const uint32_t event_stream = record == nullptr ? kNone : record->stream;
    const Key key{wait.stream, path, record_path, TargetOf(trace_, wait)};
    if (!result_.sites.empty() && key == last_key_) return last_site_;
    const auto next = static_cast<uint32_t>(result_.sites.size());
    const auto [found, is_new] = numbers_.try_emplace(key, next);
    if (is_new) {
      result_.sites.push_back({wait.stream, event_stream, wait.op, wait.is_known, path, record_path, 0, 0, 0, 0});
    }
    last_key_ = key;
    return last_site_ = found->second;
  }

  void AddIdle() {
    if (site_of_op_.empty()) return;
    const auto add = [&](const Gap& gap, std::span<const Part> parts) {
      if (gap.after == kNone) return;
      for (const Part& part : parts) {
        if (part.cause != Cause::kDependency) continue;
        const auto at = std::lower_bound(site_of_op_.begin(), site_of_op_.end(), std::pair(gap.after, 0u));
        if (at != site_of_op_.end() && at->first == gap.after) result_.sites[at->second].idle_ns += part.duration_ns;
      }
    };
    for (uint32_t device = 0; device < trace_.device_ops.size(); ++device) {
      ForEachExplainedGap(input_, device, add);
    }
  }

  const AnalysisInput& input_;
  const Trace& trace_;
  const OpFacts& ops_;
  const EventWaits& events_;
  StreamWaits result_;
  std::map<Key, uint32_t> numbers_;
  std::vector<std::pair<uint32_t, uint32_t>> site_of_op_;  // first operations after waits
  Key last_key_;
  uint32_t last_site_ = kNone;
};

}  // namespace

const StreamWaitSite* StreamWaits::Worst() const {
  const StreamWaitSite* worst = nullptr;
  for (const StreamWaitSite& site : sites) {
    if (site.held_ns > 0 && (worst == nullptr || site.held_ns > worst->held_ns)) worst = &site;
  }
  return worst;
}

StreamWaits StreamWaitsOf(const AnalysisInput& input) { return Collector(input).Run(); }

std::string DescribeWait(const Trace& trace, const StreamWaitSite& site) {
  std::string text = StreamName(trace, site.stream);
  if (site.op == kNone) return text;
  return text + " waiting for " + TargetName(trace, site.op, site.is_known) + " in " +
         StreamName(trace, site.event_stream);
}

Table StreamWaitTable(const Trace& trace, const StreamWaits& waits, int64_t window_ns, uint32_t max_rows) {
  Table table{"stream_waits",
              "Event waits between streams",
              {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
               {"held_ns", "Delayed", Unit::kNs, false,
                "work was launched and its stream was free, but the event had not completed"},
               {"idle_ns", "GPU idle", Unit::kNs, false},
               {"waits", "Waits", Unit::kCount, false},
               {"held", "Delayed waits", Unit::kCount, true},
               {"stream", "Stream", Unit::kText, false},
               {"event_stream", "Waits for", Unit::kText, false},
               {"pid", "Process", Unit::kCount, true, ColumnRole::kName},
               {"path", "NVTX range", Unit::kText, true},
               {"record_path", "Event recorded in", Unit::kText, true},
               {"operation", "Operation", Unit::kText, false,
                "the last one launched into the other stream before the event was recorded"}},
              {},
              ""};
  for (const StreamWaitSite& site : waits.sites) {
    const Stream& stream = trace.streams[site.stream];
    const int64_t pid = stream.process == kNone ? 0 : trace.processes[stream.process].pid;
    table.rows.push_back({stream.device == kNone ? std::string() : DeviceScope(trace, stream.device), site.held_ns,
                          site.idle_ns, site.waits, site.held, StreamName(trace, site.stream),
                          StreamName(trace, site.event_stream), pid, PathName(trace, site.path),
                          PathName(trace, site.record_path), TargetName(trace, site.op, site.is_known)});
  }
  SortAndCut(&table, 1, 10, max_rows);
  table.is_detail = PercentOf(std::max(waits.held_ns, waits.idle_ns), window_ns) < kHeldWorthATable;
  return table;
}

void AddStreamWaitMetrics(const StreamWaits& waits, AnalysisResult* result) {
  AddMetric(result, "streams.event_waits", waits.waits);
  AddMetric(result, "streams.event_held_ns", waits.held_ns);
  AddMetric(result, "streams.event_idle_ns", waits.idle_ns);
}

void AddStreamWaitFinding(const Trace& trace, const StreamWaits& waits, int64_t window_ns,
                          std::vector<Finding>* findings) {
  if (PercentOf(waits.idle_ns, window_ns) < kIdleWorthAFinding) return;
  const StreamWaitSite* worst = nullptr;
  for (const StreamWaitSite& site : waits.sites) {
    if (worst == nullptr || site.idle_ns > worst->idle_ns) worst = &site;
  }
  Finding finding = NewFinding("streams.event_waits", PercentOf(waits.idle_ns, window_ns));
  finding.subject.stream = StreamName(trace, worst->stream);
  finding.subject.range = trace.Text(worst->path);
  finding.message =
      "GPU idle for " + ShareOfTime(waits.idle_ns, window_ns, "") + " while streams waited for events of other streams";
  const std::string range = trace.Text(worst->path).empty() ? "" : " in " + PathName(trace, worst->path);
  finding.evidence.push_back(FormatNs(worst->idle_ns) + " of that in " + CountOf(worst->waits, "wait") + range + ": " +
                             DescribeWait(trace, *worst));
  finding.gain_ns = waits.idle_ns;
  finding.basis = "this idle time, included in idle.dependency";
  findings->push_back(std::move(finding));
}

}  // namespace gprof
