#include "analysis/topics/gpus/nccl_meetings.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace gprof {
namespace {

// Of the collectives, where nothing names communicators: kernels of one collective run at the same time on all of its
// ranks, but for the few at the beginning and the end of a capture, and where clocks are read badly.
constexpr double kTogetherPercent = 95;

using Calls = std::vector<NcclArrival>;

uint32_t ProcessOf(const Trace& trace, const NcclMessage& message) {
  return message.thread == kNone ? kNone : trace.threads[message.thread].process;
}

bool HasSameNames(const Calls& a, const Calls& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const NcclArrival& x, const NcclArrival& y) { return x.name == y.name; });
}

// Nobody is done before everybody has begun.
bool AreTogether(const Calls& a, const Calls& b) {
  size_t together = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const Interval &x = a[i].kernels, &y = b[i].kernels;
    together += std::min(x.end_ns, y.end_ns) >= std::max(x.start_ns, y.start_ns);
  }
  return 100 * static_cast<double>(together) >= kTogetherPercent * static_cast<double>(a.size());
}

// What ended before all parties had begun to be recorded, or began after one of them was done, has no partner.
void CutToCommonTime(std::map<NcclParty, Calls>* parties) {
  int64_t start_ns = INT64_MIN, end_ns = INT64_MAX;
  for (const auto& [party, calls] : *parties) {
    start_ns = std::max(start_ns, calls.front().kernels.start_ns);
    end_ns = std::min(end_ns, calls.back().kernels.end_ns);
  }
  for (auto& [party, calls] : *parties) {
    std::erase_if(calls, [&](const NcclArrival& call) {
      return call.kernels.end_ns < start_ns || call.kernels.start_ns > end_ns;
    });
  }
  std::erase_if(*parties, [](const auto& of) { return of.second.empty(); });
}

class Matcher {
 public:
  Matcher(const NcclMessages& messages, const IsCollective& is_collective)
      : trace_(messages.trace()), messages_(messages), is_collective_(is_collective) {}

  std::vector<NcclMeeting> Match() {
    if (messages_.AreRecords()) {
      MatchBySequence();
    } else {
      MatchPayloads();
    }
    return std::move(meetings_);
  }

 private:
  // A send is half of a pair: its other half has another name and number.
  static bool CanBeMatched(const NcclMessage& message) {
    return !message.communicator.empty() && message.kernels && message.device != kNone && !message.IsPeerToPeer();
  }

  NcclArrival ArrivalOf(const NcclMessage& message) const {
    return {{message.device, ProcessOf(trace_, message)},
            message.function,
            message.called_ns,
            *message.kernels,
            message.thread};
  }

  // NCCL counts the operations of each function on a communicator, alike in all its ranks.
  void MatchBySequence() {
    std::map<std::tuple<std::string_view, std::string_view, uint64_t>, NcclMeeting> meetings;
    for (const NcclMessage& message : messages_.all()) {
      if (!CanBeMatched(message)) continue;
      NcclMeeting& meeting = meetings[{message.communicator, message.function, message.record->sequence}];
      const NcclArrival arrival = ArrivalOf(message);
      const bool is_there =
          std::ranges::any_of(meeting, [&](const NcclArrival& other) { return other.party == arrival.party; });
      if (!is_there) meeting.push_back(arrival);
    }
    for (auto& [key, meeting] : meetings) {
      if (meeting.size() > 1) meetings_.push_back(std::move(meeting));
    }
  }

  void MatchPayloads() {
    std::map<std::string_view, std::map<NcclParty, Calls>> communicators;
    for (const NcclMessage& message : messages_.all()) {
      if (!CanBeMatched(message)) continue;
      const NcclArrival arrival = ArrivalOf(message);
      communicators[message.communicator][arrival.party].push_back(arrival);
    }
    for (auto& [communicator, parties] : communicators) MatchInOrder(&parties);
    if (communicators.empty()) MatchKernels();
  }

  // Every rank makes the collectives of a communicator in the same order. Where the trace has more of one rank than of
  // another nobody knows which belong together.
  void MatchInOrder(std::map<NcclParty, Calls>* parties) {
    std::vector<const Calls*> all;
    for (auto& [party, calls] : *parties) {
      std::ranges::sort(calls, {}, &NcclArrival::called_ns);
      if (!all.empty() && !HasSameNames(*all.front(), calls)) return;
      all.push_back(&calls);
    }
    AddMeetings(all);
  }

  void AddMeetings(const std::vector<const Calls*>& all) {
    for (size_t i = 0; all.size() > 1 && i < all.front()->size(); ++i) {
      NcclMeeting meeting;
      for (const Calls* calls : all) meeting.push_back((*calls)[i]);
      meetings_.push_back(std::move(meeting));
    }
  }

  // Where nothing names communicators, ranks that ran the same kernels in the same order at the same times are of one.
  void MatchKernels() {
    std::map<NcclParty, Calls> parties;
    for (const GpuOp& op : trace_.ops) {
      if (!is_collective_(op) || trace_.Text(op.name).find("SendRecv") != std::string_view::npos) continue;
      const uint32_t thread = op.api == kNone ? kNone : trace_.api_calls[op.api].thread;
      const NcclParty party{op.device, op.process};
      parties[party].push_back({party, trace_.Text(op.name), op.start_ns, {op.start_ns, op.end_ns}, thread});
    }
    if (parties.size() < 2) return;
    CutToCommonTime(&parties);
    std::vector<std::vector<const Calls*>> groups;
    for (const auto& [party, calls] : parties) {
      const auto group = std::ranges::find_if(groups, [&](const std::vector<const Calls*>& of) {
        return HasSameNames(*of.front(), calls) && AreTogether(*of.front(), calls);
      });
      if (group != groups.end()) {
        group->push_back(&calls);
      } else {
        groups.push_back({&calls});
      }
    }
    for (const auto& group : groups) AddMeetings(group);
  }

  const Trace& trace_;
  const NcclMessages& messages_;
  const IsCollective& is_collective_;
  std::vector<NcclMeeting> meetings_;
};

}  // namespace

std::vector<NcclMeeting> FindNcclMeetings(const NcclMessages& messages, const IsCollective& is_collective) {
  return Matcher(messages, is_collective).Match();
}

}  // namespace gprof
