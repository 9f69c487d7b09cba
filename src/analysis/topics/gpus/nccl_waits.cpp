#include "analysis/topics/gpus/nccl_waits.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/facts/shared_facts.h"
#include "analysis/facts/time/interval_set.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "base/text.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr double kPercentWorthAFinding = 5;  // of the windows of those that waited
constexpr size_t kMostNamed = 3;             // what a sentence has room for
// Of the waiting, that a rank causes: of ten that are late alike none stands out.
constexpr double kPercentWorthNaming = 10;

// What a rank does to others, and they to it.
struct OfParty {
  int64_t collectives = 0, last = 0, waiting_ns = 0, kernel_ns = 0;
  std::map<NcclParty, int64_t> waited_for_ns;         // by who came last
  int64_t for_hosts_ns = 0;                           // of waiting_ns: the last one's host had not called NCCL yet
  int64_t late_host_ns = 0;                           // the same, of the others, for the host of this one
  int64_t caused_ns = 0;                              // the others waited for it
  std::vector<Interval> late;                         // while at least one waited for it, until it came
  std::map<NcclParty, std::vector<Interval>> before;  // when it came last: of each, since it had left the one before
  int64_t left_ns = 0;                                // the one before
  uint32_t thread = kNone;                            // that launches its collectives
};

// Times of two hosts differ by more than what collectives wait.
bool IsOneHost(const Trace& trace) {
  return std::ranges::all_of(trace.processes, [&](const Process& process) {
    return trace.Text(process.host) == trace.Text(trace.processes.front().host);
  });
}

class Waits {
 public:
  Waits(const NcclMessages& messages, const IsCollective& is_collective)
      : trace_(messages.trace()), knows_hosts_(messages.AreRecords()) {
    std::vector<NcclMeeting> meetings = FindNcclMeetings(messages, is_collective);
    std::ranges::stable_sort(meetings, {}, [](const NcclMeeting& meeting) { return meeting.front().kernels.start_ns; });
    for (const NcclMeeting& meeting : meetings) Add(meeting);
    for (auto& [party, of] : parties_) {
      JoinTimes(&of.late);
      for (auto& [other, times] : of.before) JoinTimes(&times);
    }
  }

  bool knows_hosts() const { return knows_hosts_; }
  const std::map<NcclParty, OfParty>& parties() const { return parties_; }

  // "rank 3" where each rank has a GPU and a number of its own, else "gpu3".
  std::string NameOf(const NcclParty& party) const {
    std::set<int32_t> ranks;
    for (const auto& [other, of] : parties_) ranks.insert(RankOf(other));
    const bool are_numbered = ranks.size() == parties_.size() && *ranks.begin() >= 0;
    return are_numbered ? "rank " + std::to_string(RankOf(party)) : DeviceScope(trace_, party.device);
  }

 private:
  int32_t RankOf(const NcclParty& party) const {
    return party.process == kNone ? -1 : trace_.processes[party.process].rank;
  }

  void Add(const NcclMeeting& meeting) {
    const NcclArrival& last = *std::ranges::max_element(
        meeting, [](const auto& a, const auto& b) { return a.kernels.start_ns < b.kernels.start_ns; });
    int64_t first_ns = last.kernels.start_ns;
    for (const NcclArrival& arrival : meeting) {
      const Interval& kernels = arrival.kernels;
      OfParty& of = parties_[arrival.party];
      ++of.collectives;
      of.kernel_ns += kernels.DurationNs();
      of.last += &arrival == &last;
      of.thread = arrival.thread;
      // Kernels that ended before the last one began did not need it: a rank that only gives.
      const int64_t until_ns = std::min(last.kernels.start_ns, kernels.end_ns);
      const int64_t waiting_ns = until_ns - kernels.start_ns;
      if (waiting_ns <= 0) continue;
      first_ns = std::min(first_ns, kernels.start_ns);
      of.waiting_ns += waiting_ns;
      of.waited_for_ns[last.party] += waiting_ns;
      OfParty& late = parties_[last.party];
      late.caused_ns += waiting_ns;
      if (!knows_hosts_) continue;
      const int64_t host_ns = std::clamp<int64_t>(last.called_ns - kernels.start_ns, 0, waiting_ns);
      of.for_hosts_ns += host_ns;
      late.late_host_ns += host_ns;
    }
    if (first_ns < last.kernels.start_ns) {
      parties_[last.party].late.push_back({first_ns, last.kernels.start_ns});
      AddBefore(meeting, &parties_[last.party]);
    }
    for (const NcclArrival& arrival : meeting) {
      int64_t& left_ns = parties_[arrival.party].left_ns;
      left_ns = std::max(left_ns, arrival.kernels.end_ns);
    }
  }

  void AddBefore(const NcclMeeting& meeting, OfParty* last) {
    for (const NcclArrival& arrival : meeting) {
      const Interval time = {parties_[arrival.party].left_ns, arrival.kernels.start_ns};
      if (time.start_ns > 0 && time.start_ns < time.end_ns) last->before[arrival.party].push_back(time);
    }
  }

  // In order, those that overlap as one.
  static void JoinTimes(std::vector<Interval>* times) {
    std::ranges::sort(*times, {}, &Interval::start_ns);
    IntervalSet set;
    for (const Interval& time : *times) set.Add(time.start_ns, time.end_ns);
    *times = set.intervals();
  }

  const Trace& trace_;
  const bool knows_hosts_;
  std::map<NcclParty, OfParty> parties_;
};

Table WaitTable(const Trace& trace, const Waits& waits, uint32_t max_rows) {
  Table table{
      "nccl_waits",
      "Waiting in collectives",
      {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
       {"waiting_ns", "Waiting", Unit::kNs, false,
        "from the start of an NCCL kernel to the start of the last rank's, in percent of the time of these kernels"},
       {"waiting_percent", "Waiting (%)", Unit::kPercent, false, ColumnRole::kOwn},
       {"collectives", "Collectives", Unit::kCount, false},
       {"last", "Last", Unit::kCount, false},
       {"most_for", "Mostly for", Unit::kText, false, "the GPU that arrived last for most of that time"},
       {"caused_ns", "Others waited", Unit::kNs, false, "for this GPU, summed over them"}},
      {},
      ""};
  if (waits.knows_hosts()) {
    table.columns.push_back({"for_hosts_ns", "For late hosts", Unit::kNs, false,
                             "part of Waiting in which the host of the last rank had not yet called NCCL; for the "
                             "rest, its GPU had other work or had not yet started the launched kernel"});
  }
  for (const auto& [party, of] : waits.parties()) {
    const auto most_for = std::ranges::max_element(of.waited_for_ns, {}, [](const auto& x) { return x.second; });
    table.rows.push_back(
        {DeviceScope(trace, party.device), of.waiting_ns, PercentOf(of.waiting_ns, of.kernel_ns), of.collectives,
         of.last, most_for == of.waited_for_ns.end() ? Cell() : Cell(DeviceScope(trace, most_for->first.device)),
         of.caused_ns});
    if (waits.knows_hosts()) table.rows.back().push_back(of.for_hosts_ns);
  }
  SortAndCut(&table, 1, 0, max_rows);
  return table;
}

// Those that cause most of the waiting, the worst first; empty where nobody stands out.
std::vector<std::pair<NcclParty, const OfParty*>> LateParties(const Waits& waits, int64_t waiting_ns) {
  std::vector<std::pair<NcclParty, const OfParty*>> late;
  for (const auto& [party, of] : waits.parties()) late.emplace_back(party, &of);
  std::ranges::stable_sort(late,
                           [](const auto& a, const auto& b) { return a.second->caused_ns > b.second->caused_ns; });
  const auto is_worth_it = [&](const auto& entry) {
    return PercentOf(entry.second->caused_ns, waiting_ns) >= kPercentWorthNaming;
  };
  const auto worth = static_cast<size_t>(std::ranges::find_if_not(late, is_worth_it) - late.begin());
  late.resize(std::min({worth, kMostNamed, (late.size() + 1) / 2}));  // that all are late says nothing
  return late;
}

// What it did more of than the others before it came.
std::string WorkBefore(const AnalysisInput& input, const Waits& waits, const NcclParty& party, const OfParty& of) {
  WorkOfRank late{party.device, of.thread, {}};
  std::vector<WorkOfRank> others;
  for (const auto& [other, times] : of.before) {
    if (other == party) {
      late.times = times;
    } else {
      others.push_back({other.device, waits.parties().at(other).thread, times});
    }
  }
  const std::string text = WorkBeside(input, late, others);
  return text.empty() ? WorkMeanwhile(input, party.device, of.thread, of.late) : text;
}

// What it did until it came. Where its host had not called NCCL for most of that time, that is what counts.
std::string MeanwhileText(const AnalysisInput& input, const Waits& waits, const NcclParty& party, const OfParty& of) {
  if (!waits.knows_hosts() || 2 * of.late_host_ns < of.caused_ns) return WorkBefore(input, waits, party, of);
  const std::string host = WorkMeanwhile(input, kNone, of.thread, of.late);
  return host == "ran host code" ? "called NCCL late" : host;
}

std::string Sentence(const AnalysisInput& input, const Waits& waits,
                     const std::vector<std::pair<NcclParty, const OfParty*>>& late, int64_t kernel_ns) {
  std::vector<std::string> names;
  std::vector<std::string> doings;
  for (const auto& [party, of] : late) {
    names.push_back(waits.NameOf(party) + " (" + FormatPercent(PercentOf(of->caused_ns, kernel_ns)) + ")");
    doings.push_back(MeanwhileText(input, waits, party, *of));
  }
  std::string who = names.back();
  names.pop_back();
  if (!names.empty()) who = Joined(names) + " and " + who;
  const std::string& doing = doings.front();
  if (doing.empty()) return who;
  const bool is_of_all = std::ranges::count(doings, doing) == std::ssize(doings);
  return who + (is_of_all ? ", which " + doing : "; " + waits.NameOf(late.front().first) + " " + doing);
}

void AddFinding(const AnalysisInput& input, const Waits& waits, AnalysisResult* result) {
  const Trace& trace = input.trace();
  int64_t waiting_ns = 0, kernel_ns = 0;
  std::set<uint32_t> devices;
  for (const auto& [party, of] : waits.parties()) {
    waiting_ns += of.waiting_ns, kernel_ns += of.kernel_ns;
    if (of.waiting_ns > 0) devices.insert(party.device);
  }
  int64_t window_ns = 0, named_ns = 0;
  for (const uint32_t device : devices) window_ns += input.shared().window_ns(device);
  const double percent = PercentOf(waiting_ns, window_ns);
  const auto late = LateParties(waits, waiting_ns);
  if (percent < kPercentWorthAFinding || late.empty()) return;
  for (const auto& [party, of] : late) named_ns += of->caused_ns;
  Finding finding = NewFinding("nccl.straggler");
  finding.message = FormatPercent(PercentOf(waiting_ns, kernel_ns)) + " of NCCL's time is waiting: for " +
                    Sentence(input, waits, late, kernel_ns);
  finding.gain_ns = named_ns;
  finding.basis = "time from the start of their kernels to the start of the last rank's";
  finding.subject.device = DeviceScope(trace, late.front().first.device);
  result->findings.push_back(std::move(finding));
}

}  // namespace

int64_t AddNcclWaits(const AnalysisInput& input, const NcclMessages& messages, const IsCollective& is_collective,
                     uint32_t max_rows, AnalysisResult* result) {
  const Trace& trace = input.trace();
  if (!IsOneHost(trace)) return 0;
  const Waits waits(messages, is_collective);
  if (waits.parties().empty()) return 0;
  int64_t waiting_ns = 0, for_hosts_ns = 0;
  std::map<uint32_t, int64_t> by_device;
  for (const auto& [party, of] : waits.parties()) {
    by_device[party.device] += of.waiting_ns;
    waiting_ns += of.waiting_ns;
    for_hosts_ns += of.for_hosts_ns;
  }
  for (const auto& [device, ns] : by_device) AddMetric(result, "nccl.waiting_ns", ns, DeviceScope(trace, device));
  AddMetric(result, "nccl.waiting_ns", waiting_ns);
  if (waits.knows_hosts()) AddMetric(result, "nccl.late_host_ns", for_hosts_ns);
  result->tables.push_back(WaitTable(trace, waits, max_rows));
  AddFinding(input, waits, result);
  return waiting_ns;
}

}  // namespace gprof
