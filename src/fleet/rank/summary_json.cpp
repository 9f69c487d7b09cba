#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/result/histogram.h"
#include "base/json_style.h"
#include "fleet/rank/rank_summary.h"
#include "gprof/error.h"

namespace gprof {

// Where nlohmann_json looks for them.
void to_json(nlohmann::json& json, const Times& times);
void from_json(const nlohmann::json& json, Times& times);

void to_json(nlohmann::json& json, const Times& times) {
  json = nlohmann::json::array();
  uint64_t last = 0;
  for (const int64_t ns : times.ns) {
    json.push_back(static_cast<int64_t>(static_cast<uint64_t>(ns) - last));
    last = static_cast<uint64_t>(ns);
  }
}

void from_json(const nlohmann::json& json, Times& times) {
  uint64_t last = 0;
  for (const int64_t more : json.get<std::vector<int64_t>>()) {
    last += static_cast<uint64_t>(more);
    times.ns.push_back(static_cast<int64_t>(last));
  }
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RankCalls, name, count, total_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RankKernel, name, count, total_ns, min_ns, max_ns, gpu_threads, buckets)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RankCopies, direction, memory, count, bytes, total_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RankRange, path, count, total_ns, gpu_busy_ns, kernels)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RankMemory, allocated_bytes, used_bytes, tensor_bytes, reserved_bytes,
                                                gpu_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RankHang, thread, collective)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(IdlePlace, cause, kind, name, idle_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(StepColumns, path, count, steps_in_one, wall_ns, kernel_ns, copy_ns,
                                                exposed_ns, idle_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(WaitPartner, communicator, own, peer)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(StepWaits, every, begin_ns, length_ns, waits, start_ns, duration_ns,
                                                partner, partners)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Communicator, name, count, every, numbers, duration_ns, arrival_ns,
                                                called_ns, functions)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RankSummary, source, unreadable, host, program, rank_source, rank,
                                                local_rank, world_size, pid, start_ns, is_complete, records,
                                                lost_records, problems, has_day, day_offset_ns, day_uncertainty_ns,
                                                gpus, gpu_uuids, wall_ns, window_ns, busy_ns, kernel_ns, nccl_ns,
                                                exposed_ns, kernels, api_calls, api_ns, mpi_ns, cpu_ns, idle_ns,
                                                preempted_ns, clock_mhz, throttled_ns, ecc_errors, memory, kernel_times,
                                                copies, api, mpi, ranges, places, steps, step_waits, communicators,
                                                hang)

namespace {

constexpr int64_t kMostTime = int64_t{1} << 61;   // a time of day in the year 2043
constexpr int64_t kMostCount = int64_t{1} << 50;  // durations of 13 days; a thousand of their sums fit

struct Wrong {};

void Check(bool is_good) {
  if (!is_good) throw Wrong{};
}

void BoundTime(int64_t& ns) { ns = std::clamp(ns, -kMostTime, kMostTime); }

template <class... Counts>
void BoundCounts(Counts&... counts) {
  ((counts = std::clamp(counts, int64_t{0}, kMostCount)), ...);
}

void BoundColumn(std::vector<int64_t>& column) {
  for (int64_t& value : column) BoundCounts(value);
}

void BoundSteps(StepColumns& steps) {
  BoundCounts(steps.count, steps.steps_in_one);
  const size_t size = steps.wall_ns.size();
  Check(size <= kKeptSteps && steps.steps_in_one > 0);
  for (auto* column : {&steps.wall_ns, &steps.kernel_ns, &steps.copy_ns, &steps.exposed_ns}) {
    Check(column->size() == size);
    BoundColumn(*column);
  }
  for (auto& column : steps.idle_ns) {
    Check(column.size() == size);
    BoundColumn(column);
  }
}

void BoundWaits(StepWaits& w) {
  BoundCounts(w.every);
  for (auto* column : {&w.length_ns, &w.waits, &w.start_ns, &w.duration_ns, &w.partner}) BoundColumn(*column);
  for (int64_t& ns : w.begin_ns.ns) BoundTime(ns);
  const size_t steps = w.begin_ns.ns.size(), waits = w.start_ns.size();
  Check(w.every > 0 && steps <= 2 * kKeptWaitSteps && w.length_ns.size() == steps && w.waits.size() == steps);
  Check(waits <= 2 * kKeptWaitSteps * kKeptWaits * kKeptPartners && w.duration_ns.size() == waits);
  Check(w.partner.size() == waits);
  int64_t sum = 0;
  for (const int64_t count : w.waits) Check(count <= static_cast<int64_t>(waits) && (sum += count) >= 0);
  Check(sum == static_cast<int64_t>(waits));
  for (const int64_t partner : w.partner) Check(partner < static_cast<int64_t>(w.partners.size()));
}

void BoundCommunicator(Communicator& c) {
  BoundCounts(c.count, c.every);
  BoundColumn(c.numbers);
  BoundColumn(c.duration_ns);
  for (int64_t& ns : c.arrival_ns.ns) BoundTime(ns);
  for (int64_t& ns : c.called_ns.ns) BoundTime(ns);
  const size_t size = c.numbers.size();
  Check(c.called_ns.ns.empty() || c.called_ns.ns.size() == size);
  Check(c.every > 0 && c.duration_ns.size() == size && c.arrival_ns.ns.size() == size);
  Check(size <= 2 * kKeptCollectives && std::ranges::is_sorted(c.numbers));
}

void BoundKernel(RankKernel& kernel) {
  BoundCounts(kernel.count, kernel.total_ns, kernel.min_ns, kernel.max_ns, kernel.gpu_threads);
  BoundColumn(kernel.buckets);
  Check(kernel.buckets.size() % 2 == 0);
  for (size_t i = 0; i < kernel.buckets.size(); i += 2) Check(kernel.buckets[i] < kBuckets);
}

}  // namespace

void BoundSummary(RankSummary* rank) {
  constexpr int64_t kMostRanks = 1 << 30;
  RankSummary& r = *rank;
  r.rank = std::clamp<int64_t>(r.rank, -1, kMostRanks);
  r.world_size = std::clamp<int64_t>(r.world_size, 0, kMostRanks);
  BoundTime(r.start_ns);
  BoundTime(r.day_offset_ns);
  BoundCounts(r.records, r.lost_records, r.day_uncertainty_ns, r.wall_ns, r.window_ns, r.busy_ns, r.kernel_ns,
              r.nccl_ns, r.exposed_ns, r.kernels, r.api_calls, r.api_ns, r.mpi_ns, r.clock_mhz);
  r.ecc_errors = std::clamp(r.ecc_errors, int64_t{-1}, kMostCount);
  r.throttled_ns = std::clamp(r.throttled_ns, int64_t{-1}, kMostCount);
  r.cpu_ns = std::clamp(r.cpu_ns, int64_t{-1}, kMostCount);
  r.preempted_ns = std::clamp(r.preempted_ns, int64_t{-1}, kMostCount);
  for (int64_t* bytes : {&r.memory.allocated_bytes, &r.memory.used_bytes, &r.memory.tensor_bytes,
                         &r.memory.reserved_bytes, &r.memory.gpu_bytes}) {
    *bytes = std::clamp(*bytes, int64_t{-1}, kMostCount);
  }
  for (int64_t& ns : r.idle_ns) BoundCounts(ns);
  for (RankKernel& kernel : r.kernel_times) BoundKernel(kernel);
  for (RankCopies& copy : r.copies) BoundCounts(copy.count, copy.bytes, copy.total_ns);
  for (auto* calls : {&r.api, &r.mpi}) {
    for (RankCalls& call : *calls) BoundCounts(call.count, call.total_ns);
  }
  for (RankRange& range : r.ranges) BoundCounts(range.count, range.total_ns, range.gpu_busy_ns, range.kernels);
  for (IdlePlace& place : r.places) BoundCounts(place.idle_ns);
  BoundSteps(r.steps);
  BoundWaits(r.step_waits);
  for (Communicator& communicator : r.communicators) BoundCommunicator(communicator);
}

std::string SummaryText(const RankSummary& rank) { return CompactText(nlohmann::json(rank)); }

RankSummary ParseSummary(std::string_view text, const std::string& file) {
  const auto damaged = [&](const std::string& what) {
    return Error(ExitCode::kUnreadable, fmt::format("'{}' is damaged: {}", file, what),
                 "make it again with gprof-cli partial");
  };
  try {
    RankSummary rank = nlohmann::json::parse(text).get<RankSummary>();
    BoundSummary(&rank);
    return rank;
  } catch (const nlohmann::json::exception& error) {
    throw damaged(error.what());
  } catch (const Wrong&) {
    throw damaged("figures of an entry do not fit together");
  }
}

}  // namespace gprof
