#include "fleet/verdict/rank_groups.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/result/tables.h"
#include "base/text.h"

namespace gprof {
namespace {

constexpr size_t kMembersNamed = 4;

struct Group {
  std::set<int64_t> members;
  std::set<std::string> functions;
  int64_t collectives = 0;
};

std::string Ordinal(int64_t number) {
  const char* const end = number == 2 ? "nd" : number == 3 ? "rd" : "th";
  return std::to_string(number) + end;
}

// By what distance the members follow each other; 0: by none.
int64_t StrideOf(const std::vector<int64_t>& members) {
  const int64_t stride = members[1] - members[0];
  for (size_t i = 1; i < members.size(); ++i) {
    if (members[i] - members[i - 1] != stride) return 0;
  }
  return stride;
}

void SetShape(const std::vector<int64_t>& members, bool are_all, RankGroups* groups) {
  const bool is_peer_to_peer = groups->functions == "Recv, Send" || groups->functions == "Send" ||
                               groups->functions == "Recv" || groups->functions == "SendRecv";
  const int64_t stride = StrideOf(members);
  groups->shape = are_all       ? "all ranks"
                  : stride == 1 ? "consecutive ranks"
                  : stride > 1  ? "every " + Ordinal(stride) + " rank"
                                : "other";
  if (is_peer_to_peer) {
    groups->like = "pipeline";
  } else if (!are_all && stride > 0) {
    groups->like = stride == 1 ? "tensor or expert parallel" : "data parallel";
  }
}

void AddTimes(const FleetVerdict& verdict, const std::set<std::string>& names, RankGroups* groups) {
  std::vector<int64_t> spreads_ns, transfers_ns;
  for (const Meeting& meeting : verdict.alignment.meetings) {
    if (!names.contains(meeting.name)) continue;
    const MeetingTimes times = TimesOf(meeting, verdict.alignment);
    spreads_ns.push_back(times.spread_ns), transfers_ns.push_back(times.transfer_ns);
  }
  groups->compared = static_cast<int64_t>(spreads_ns.size());
  groups->spread_ns = MedianOf(std::move(spreads_ns)), groups->transfer_ns = MedianOf(std::move(transfers_ns));
}

std::map<std::string, Group> ByName(const FleetVerdict& verdict) {
  std::map<std::string, Group> by_name;
  for (const RankVerdict& rank : verdict.ranks) {
    for (const Communicator& communicator : rank.rank->communicators) {
      Group& group = by_name[communicator.name];
      group.members.insert(rank.rank->rank);
      group.functions.insert(communicator.functions.begin(), communicator.functions.end());
      group.collectives = std::max(group.collectives, communicator.count);
    }
  }
  std::erase_if(by_name, [](const auto& of) { return of.second.members.size() < 2; });
  return by_name;
}

}  // namespace

std::vector<RankGroups> GroupsOf(const FleetVerdict& verdict) {
  using Key = std::tuple<size_t, std::string, std::string>;  // ranks of each, shape, functions
  std::map<Key, std::pair<RankGroups, std::set<std::string>>> alike;
  for (const auto& [name, group] : ByName(verdict)) {
    const std::vector<int64_t> members(group.members.begin(), group.members.end());
    RankGroups one;
    one.functions = Joined({group.functions.begin(), group.functions.end()});
    SetShape(members, members.size() == verdict.ranks.size(), &one);
    auto& [groups, names] =
        alike.try_emplace({members.size(), one.shape, one.functions}, one, std::set<std::string>()).first->second;
    groups.members.push_back(members);
    groups.collectives = std::max(groups.collectives, group.collectives);
    names.insert(name);
  }
  std::vector<RankGroups> all;
  for (auto& [key, of] : alike) {
    AddTimes(verdict, of.second, &of.first);
    std::ranges::sort(of.first.members);
    all.push_back(std::move(of.first));
  }
  std::ranges::stable_sort(all, std::greater(), &RankGroups::collectives);
  return all;
}

std::string MembersText(const RankGroups& groups) {
  std::vector<std::string> texts;
  for (const std::vector<int64_t>& members : groups.members) {
    const int64_t stride = StrideOf(members);
    const bool is_regular = stride > 1 && members.size() > 3;
    texts.push_back(is_regular ? std::to_string(members[0]) + ", " + std::to_string(members[1]) + ", ..., " +
                                     std::to_string(members.back())
                               : RangesText(members));
  }
  std::string text;
  for (size_t i = 0; i < std::min(texts.size(), kMembersNamed); ++i) text += (i == 0 ? "" : "; ") + texts[i];
  return text + (texts.size() > kMembersNamed ? "; " + std::to_string(texts.size() - kMembersNamed) + " more" : "");
}

Table GroupTable(const FleetVerdict& verdict, uint32_t max_rows) {
  Table table{"groups",
              "Groups of ranks",
              {{"groups", "Groups", Unit::kCount, false},
               {"ranks", "Ranks", Unit::kCount, false},
               {"shape", "Shape", Unit::kText, false},
               {"collectives", "Collectives", Unit::kCount, false},
               {"spread_ns", "Arrivals", Unit::kNs, false},
               {"transfer_ns", "After the last", Unit::kNs, false},
               {"members", "Members", Unit::kText, false},
               {"like", "As in", Unit::kText, true},
               {"functions", "Functions", Unit::kText, true}},
              {},
              "Communicators with as many ranks that lie alike and call the same. Collectives: of a rank, at most. "
              "Arrivals: median from the first rank to the last. After the last: median from its arrival to the end. "
              "As in: the parallelism that has such groups."};
  for (const RankGroups& groups : GroupsOf(verdict)) {
    const bool is_known = groups.compared > 0;
    table.rows.push_back({static_cast<int64_t>(groups.members.size()),
                          static_cast<int64_t>(groups.members.front().size()), groups.shape, groups.collectives,
                          is_known ? Cell(groups.spread_ns) : Cell(), is_known ? Cell(groups.transfer_ns) : Cell(),
                          MembersText(groups), groups.like, groups.functions});
  }
  CutRows(&table, max_rows);
  return table;
}

}  // namespace gprof
