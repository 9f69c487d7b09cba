#include "fleet/rank/rank_summary.h"

#include <fmt/format.h>

#include <numeric>
#include <string>

#include "base/text.h"

namespace gprof {

std::string KeptName(std::string_view text) {
  constexpr size_t kLongestText = 512;  // programs make names up
  return Utf8(text.substr(0, kLongestText));
}

std::string NcclName(std::string_view communicator) { return "NCCL " + KeptName(communicator); }

RankSummary::RankSummary() = default;
RankSummary::RankSummary(const RankSummary&) = default;
RankSummary::RankSummary(RankSummary&&) noexcept = default;
RankSummary& RankSummary::operator=(const RankSummary&) = default;
RankSummary& RankSummary::operator=(RankSummary&&) noexcept = default;
RankSummary::~RankSummary() = default;

int64_t RankSummary::IdleNs() const { return std::accumulate(idle_ns.begin(), idle_ns.end(), int64_t{0}); }

int64_t RankSummary::OwnNs() const {
  return busy_ns - exposed_ns + IdleNs() - idle_ns[static_cast<size_t>(Cause::kMpi)];
}

std::string KeyOf(const RankSummary& rank) {
  return fmt::format("{:012} {} {} {} {}", rank.unreadable.empty() ? rank.rank + 1 : 999'999'999'999, rank.host,
                     rank.pid, rank.start_ns, rank.source);
}

std::string NameOf(const RankSummary& rank) {
  return rank.rank >= 0 ? "rank " + std::to_string(rank.rank) : rank.source;
}

RankSummary UnreadableRank(std::string_view path, std::string_view why) {
  RankSummary rank;
  rank.source = KeptName(path.substr(path.rfind('/') + 1));
  // Whatever folder it was found in, so that all engines say the same.
  std::string text(why);
  for (size_t at = text.find(path); !path.empty() && at != std::string::npos; at = text.find(path, at + 1)) {
    text.replace(at, path.size(), rank.source);
  }
  rank.unreadable = KeptName(text);
  rank.is_complete = false;
  return rank;
}

}  // namespace gprof
