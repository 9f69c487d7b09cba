// Why a rank is late, and whether it is: what only some of the ranks of a run show.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fleet/verdict/fleet_verdict.h"

namespace gprof {
namespace {

constexpr int64_t kMs = 1'000'000, kLaunches = 100, kThreads = 1 << 20;

// Each rank needs a second, with a kernel that runs for most of it.
RankSummary Rank(int64_t number) {
  RankSummary rank;
  rank.rank = number, rank.world_size = 8, rank.source = "rank" + std::to_string(number) + ".trace";
  rank.host = "host", rank.gpus = {"H200"}, rank.gpu_uuids = {""};
  rank.window_ns = 1000 * kMs, rank.busy_ns = rank.kernel_ns = 800 * kMs;
  rank.idle_ns[static_cast<size_t>(Cause::kHost)] = 200 * kMs;
  rank.kernels = kLaunches;
  rank.kernel_times = {{"gemm", kLaunches, 800 * kMs, 8 * kMs, 8 * kMs, kLaunches * kThreads, {}}};
  return rank;
}

std::vector<RankSummary> Ranks() {
  std::vector<RankSummary> ranks;
  for (int64_t i = 0; i < 8; ++i) ranks.push_back(Rank(i));
  return ranks;
}

void Extend(RankSummary* rank, int64_t ns) {
  rank->kernel_ns += ns, rank->busy_ns += ns, rank->window_ns += ns;
  rank->kernel_times[0].total_ns += ns;
}

std::vector<std::string> Messages(std::vector<RankSummary> ranks) {
  std::vector<std::string> messages;
  for (const Finding& finding : JudgeFleet(&ranks, 0).findings) messages.push_back(finding.id + ": " + finding.message);
  return messages;
}

TEST(LateRanks, LongerKernelsAreASlowGpuAndLargerOnesMoreWork) {
  std::vector<RankSummary> ranks = Ranks();
  Extend(&ranks[3], 400 * kMs);
  const std::vector<std::string> slow = Messages(ranks);
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_TRUE(slow[0].starts_with("fleet.slow_gpu: rank 3")) << slow[0];
  ranks[3].kernel_times[0].gpu_threads = kLaunches * kThreads * 3 / 2;
  const std::vector<std::string> more = Messages(ranks);
  ASSERT_EQ(more.size(), 1u);
  EXPECT_TRUE(more[0].starts_with("fleet.more_work: rank 3")) << more[0];
  EXPECT_NE(more[0].find("larger, by 50% in threads"), std::string::npos) << more[0];
}

// Meets the others in so many collectives, so long after the first.
void Meet(RankSummary* rank, const std::vector<int64_t>& late_ns) {
  Communicator communicator;
  communicator.name = "NCCL 1";
  for (size_t i = 0; i < late_ns.size(); ++i) {
    const auto begin_ns = static_cast<int64_t>(i + 1) * 20 * kMs;
    communicator.numbers.push_back(communicator.count++);
    communicator.arrival_ns.ns.push_back(begin_ns + late_ns[i]);
    communicator.duration_ns.push_back(10 * kMs - late_ns[i]);
  }
  rank->communicators = {communicator};
}

TEST(LateRanks, NobodyWaitsForOneThatIsNoLaterThanOthers) {
  constexpr size_t kCollectives = 32;
  std::vector<RankSummary> ranks = Ranks();
  Extend(&ranks[3], 60 * kMs);
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    std::vector<int64_t> late_ns(kCollectives, 0);
    for (size_t i = 0; i < kCollectives; ++i) late_ns[i] = i % ranks.size() == rank ? kMs : 0;
    Meet(&ranks[rank], late_ns);
  }
  EXPECT_EQ(Messages(ranks), std::vector<std::string>());
  Meet(&ranks[3], std::vector<int64_t>(kCollectives, 2 * kMs));
  const std::vector<std::string> late = Messages(ranks);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_NE(late[0].find("(last in 32)"), std::string::npos) << late[0];
}

TEST(LateRanks, AThreadWithoutAProcessorIsNotOneThatComputes) {
  std::vector<RankSummary> ranks = Ranks();
  for (RankSummary& rank : ranks) rank.preempted_ns = kMs;
  ranks[5].idle_ns[static_cast<size_t>(Cause::kHost)] += 300 * kMs;
  ranks[5].window_ns += 300 * kMs;
  ranks[5].preempted_ns = 290 * kMs;
  const std::vector<std::string> late = Messages(ranks);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_NE(late[0].find("it was preempted, ready but without a processor, for 290.00 ms"), std::string::npos)
      << late[0];
}

TEST(Hangs, WhoHasNotComeToACollectiveIsNamed) {
  std::vector<RankSummary> ranks = Ranks();
  for (RankSummary& rank : ranks) rank.hang = {"python3 (17) was in cudaStreamSynchronize", "ncclDevKernel_AllReduce"};
  EXPECT_EQ(Messages(ranks), std::vector<std::string>());
  ranks[2].hang = {"python3 (19) was in clock_nanosleep; train.py:30 (main)", ""};
  const std::vector<std::string> hang = Messages(ranks);
  ASSERT_EQ(hang.size(), 1u);
  EXPECT_EQ(hang[0],
            "fleet.hang: rank 2 has not come to a collective that ranks 0-1, 3-7 wait in (ncclDevKernel_AllReduce): "
            "python3 (19) was in clock_nanosleep; train.py:30 (main)");
}

}  // namespace
}  // namespace gprof
