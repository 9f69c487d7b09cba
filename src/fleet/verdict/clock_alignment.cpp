#include "fleet/verdict/clock_alignment.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

namespace gprof {
namespace {

constexpr int64_t kSameClockNs = 1'000'000'000;  // one host, not started anew in between
constexpr size_t kAlignedBy = 256;               // collectives of a communicator
constexpr int kMostRounds = 20;
constexpr int64_t kSmallChangeNs = 1000;
constexpr size_t kTogetherPercent = 90;

// Which collectives a rank kept: equal for all ranks that made the same number of them.
using Kept = std::pair<int64_t, int64_t>;
Kept KeptOf(const Communicator& c) { return {c.count, c.every}; }

std::vector<Meeting> MeetingsOf(const Ranks& ranks) {
  std::map<std::string, std::map<Kept, Meeting>> found;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const Communicator& c : ranks[rank]->communicators) {
      Meeting& meeting = found[c.name][KeptOf(c)];
      const bool is_same = meeting.members.empty() || meeting.members.front().collectives->numbers == c.numbers;
      if (is_same && !c.numbers.empty()) meeting.members.push_back({rank, &c});
    }
  }
  std::vector<Meeting> meetings;
  for (auto& [name, by_kept] : found) {
    const auto most = std::ranges::max_element(
        by_kept, [](const auto& a, const auto& b) { return a.second.members.size() < b.second.members.size(); });
    if (most->second.members.size() < 2) continue;
    meetings.push_back(std::move(most->second));
    meetings.back().name = name;
  }
  return meetings;
}

int64_t ArrivalOf(const Meeting::Member& member, size_t collective) {
  return member.collectives->arrival_ns.ns[collective];
}
int64_t EndOf(const Meeting::Member& member, size_t collective) {
  return ArrivalOf(member, collective) + member.collectives->duration_ns[collective];
}

class Aligner {
 public:
  explicit Aligner(const Ranks& ranks) : ranks_(ranks), host_of_rank_(ranks.size()) {
    FindHosts();
    result_.meetings = MeetingsOf(ranks);
  }

  Alignment Run() {
    for (int round = 0; round < kMostRounds; ++round) {
      if (Improve() <= kSmallChangeNs) break;
    }
    // The clock of most hosts is the right one.
    std::vector<int64_t> offsets;
    for (const ClockOfHost& host : result_.hosts) {
      if (host.collectives > 0) offsets.push_back(host.offset_ns);
    }
    const int64_t middle_ns = MedianOf(offsets);
    for (ClockOfHost& host : result_.hosts) {
      if (host.collectives > 0) host.offset_ns -= middle_ns;
    }
    SetShifts();
    DropUnfit();
    return std::move(result_);
  }

 private:
  void FindHosts() {
    std::map<std::string, std::vector<size_t>> by_name;
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      const RankSummary& r = *ranks_[rank];
      by_name[r.host.empty() ? r.source : r.host].push_back(rank);
    }
    for (auto& [name, ranks] : by_name) {
      std::ranges::stable_sort(ranks, [&](size_t a, size_t b) { return DayOf(a) < DayOf(b); });
      int64_t first_ns = 0;
      for (const size_t rank : ranks) {
        const bool is_new = result_.hosts.empty() || result_.hosts.back().host != name;
        if (is_new || DayOf(rank) - first_ns > kSameClockNs) {
          result_.hosts.push_back({name, {}});
          days_ns_.push_back(first_ns = DayOf(rank));
        }
        host_of_rank_[rank] = result_.hosts.size() - 1;
        result_.hosts.back().ranks.push_back(rank);
      }
    }
  }

  // Without clock records all traces begin together.
  int64_t DayOf(size_t rank) const {
    return ranks_[rank]->has_day ? ranks_[rank]->day_offset_ns : -ranks_[rank]->start_ns;
  }

  int64_t ShiftOf(size_t rank) const {
    const size_t host = host_of_rank_[rank];
    return days_ns_[host] - result_.hosts[host].offset_ns;
  }

  // What the ends of collectives are later on each host than on most, with the offsets as they are.
  std::vector<std::vector<int64_t>> Differences() const {
    std::vector<std::vector<int64_t>> differences(result_.hosts.size());
    for (const Meeting& meeting : result_.meetings) {
      const size_t step = std::max<size_t>(meeting.size() / kAlignedBy, 1);
      for (size_t i = 0; i < meeting.size(); i += step) {
        std::vector<int64_t> ends;
        for (const Meeting::Member& member : meeting.members) ends.push_back(EndOf(member, i) + ShiftOf(member.rank));
        const int64_t middle_ns = MedianOf(ends);
        for (size_t m = 0; m < ends.size(); ++m) {
          differences[host_of_rank_[meeting.members[m].rank]].push_back(ends[m] - middle_ns);
        }
      }
    }
    return differences;
  }

  // Returns the largest change.
  int64_t Improve() {
    int64_t change_ns = 0;
    const std::vector<std::vector<int64_t>> differences = Differences();
    std::vector<int64_t> rest;
    for (size_t host = 0; host < result_.hosts.size(); ++host) {
      ClockOfHost& clock = result_.hosts[host];
      clock.collectives = static_cast<int64_t>(differences[host].size());
      const int64_t more_ns = MedianOf(differences[host]);
      clock.offset_ns += more_ns;
      change_ns = std::max(change_ns, std::abs(more_ns));
      std::vector<int64_t> of_host;
      for (const int64_t ns : differences[host]) of_host.push_back(std::abs(ns - more_ns));
      rest.insert(rest.end(), of_host.begin(), of_host.end());
      clock.residual_ns = MedianOf(std::move(of_host));
    }
    std::ranges::sort(rest);
    result_.residual_ns = MedianOf(rest);
    result_.worst_residual_ns = rest.empty() ? 0 : rest[rest.size() * 95 / 100];
    return change_ns;
  }

  void SetShifts() {
    for (size_t rank = 0; rank < ranks_.size(); ++rank) result_.shift_ns.push_back(ShiftOf(rank));
  }

  // Nobody ends before the last one has come, where they belong together.
  bool IsTogether(const Meeting& meeting) const {
    size_t together = 0;
    for (size_t i = 0; i < meeting.size(); ++i) {
      int64_t last_ns = INT64_MIN;
      std::vector<int64_t> ends;
      for (const Meeting::Member& member : meeting.members) {
        last_ns = std::max(last_ns, ArrivalOf(member, i) + result_.shift_ns[member.rank]);
        ends.push_back(EndOf(member, i) + result_.shift_ns[member.rank]);
      }
      together += MedianOf(std::move(ends)) + result_.worst_residual_ns >= last_ns;
    }
    return 100 * together >= kTogetherPercent * meeting.size();
  }

  void DropUnfit() {
    std::erase_if(result_.meetings, [this](const Meeting& meeting) {
      if (IsTogether(meeting)) return false;
      result_.unfit.push_back(meeting.name);
      return true;
    });
  }

  const Ranks& ranks_;
  std::vector<size_t> host_of_rank_;
  std::vector<int64_t> days_ns_;  // by host
  Alignment result_;
};

// Where NCCL told all members when their hosts called it.
void AddLateHosts(const Meeting& meeting, const Alignment& alignment, std::vector<Arrivals>* arrivals) {
  for (const Meeting::Member& member : meeting.members) {
    if (member.collectives->called_ns.ns.size() != meeting.size()) return;
  }
  for (size_t i = 0; i < meeting.size(); ++i) {
    std::vector<int64_t> times;
    for (const Meeting::Member& member : meeting.members) {
      times.push_back(member.collectives->called_ns.ns[i] + alignment.shift_ns[member.rank]);
    }
    const int64_t median_ns = MedianOf(times);
    for (size_t m = 0; m < times.size(); ++m) {
      (*arrivals)[meeting.members[m].rank].late_host_ns += std::max<int64_t>(times[m] - median_ns, 0);
    }
  }
}

}  // namespace

int64_t MedianOf(std::vector<int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Alignment AlignClocks(const Ranks& ranks) { return Aligner(ranks).Run(); }

std::vector<Arrivals> ArrivalsOf(const Alignment& alignment, size_t ranks) {
  const auto late = [](int64_t time_ns, int64_t median_ns) { return std::max<int64_t>(time_ns - median_ns, 0); };
  std::vector<Arrivals> arrivals(ranks);
  for (const Meeting& meeting : alignment.meetings) {
    AddLateHosts(meeting, alignment, &arrivals);
    for (size_t i = 0; i < meeting.size(); ++i) {
      std::vector<int64_t> times;
      for (const auto& member : meeting.members) {
        times.push_back(ArrivalOf(member, i) + alignment.shift_ns[member.rank]);
      }
      const size_t last = static_cast<size_t>(std::ranges::max_element(times) - times.begin());
      const int64_t last_ns = times[last], median_ns = MedianOf(times);
      double sum_ns = 0, squares = 0;
      for (const int64_t time_ns : times) {
        const auto late_ns = static_cast<double>(late(time_ns, median_ns));
        sum_ns += late_ns, squares += late_ns * late_ns;
      }
      const auto count = static_cast<double>(times.size());
      for (size_t m = 0; m < times.size(); ++m) {
        Arrivals& of_rank = arrivals[meeting.members[m].rank];
        ++of_rank.collectives;
        of_rank.late_ns += late(times[m], median_ns);
        of_rank.expected_late_ns += sum_ns / count;
        of_rank.late_variance += squares / count - sum_ns / count * (sum_ns / count);
        of_rank.most_late_ns += static_cast<double>(late(last_ns, median_ns));
        of_rank.waited_ns += std::min(last_ns - times[m], meeting.members[m].collectives->duration_ns[i]);
      }
      ++arrivals[meeting.members[last].rank].last;
    }
  }
  return arrivals;
}

MeetingTimes TimesOf(const Meeting& meeting, const Alignment& alignment) {
  std::vector<int64_t> spreads, transfers;
  for (size_t i = 0; i < meeting.size(); ++i) {
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    std::vector<int64_t> ends;
    for (const auto& member : meeting.members) {
      const int64_t shift_ns = alignment.shift_ns[member.rank], ns = ArrivalOf(member, i) + shift_ns;
      first_ns = std::min(first_ns, ns);
      last_ns = std::max(last_ns, ns);
      ends.push_back(EndOf(member, i) + shift_ns);
    }
    spreads.push_back(last_ns - first_ns);
    transfers.push_back(std::max<int64_t>(MedianOf(std::move(ends)) - last_ns, 0));
  }
  return {static_cast<int64_t>(meeting.size()), MedianOf(std::move(spreads)), MedianOf(std::move(transfers))};
}

}  // namespace gprof
