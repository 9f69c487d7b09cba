#include "tracer/counters/launches/launch_batch.h"

#ifdef GPROF_HAS_RANGE_PROFILER
#include "tracer/core/notice.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {

bool LaunchBatch::IsOld() const {
  constexpr uint64_t kLongestNs = 250'000'000;
  return IsOpen() && MonotonicNs() - opened_ns_.load(std::memory_order_relaxed) > kLongestNs;
}

bool LaunchBatch::Open(RangeSession* session) {
  count_ = unwanted_in_a_row_ = 0;
  if (!session->Begin(kMost, CUPTI_ApplicationReplay)) return false;
  opened_ns_.store(MonotonicNs(), std::memory_order_relaxed);
  session_.store(session, std::memory_order_relaxed);
  return true;
}

void LaunchBatch::Add(const MeasuredLaunch& launch, bool is_wanted) {
  if (IsFull()) return;
  entries_[count_++] = {launch, is_wanted};
  unwanted_in_a_row_ = is_wanted ? 0 : unwanted_in_a_row_ + 1;
}

bool LaunchBatch::HasRoom(bool is_wanted) const {
  return !IsFull() && !IsOld() && (is_wanted || unwanted_in_a_row_ < kMostUnwanted);
}

void LaunchBatch::Close() {
  RangeSession* session = session_.exchange(nullptr);
  if (session == nullptr) return;
  const uint32_t ranges = session->End();
  const bool is_whole = ranges == count_;
  uint32_t wanted = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    if (!entries_[i].is_wanted) continue;
    ++wanted;
    KeepLaunch(*session, entries_[i].launch, is_whole ? int64_t{i} : -1);
  }
  constexpr uint32_t kShort = 3, kEnough = 3;
  short_batches_ = wanted < kShort ? short_batches_ + 1 : 0;
  if (is_whole && short_batches_ < kEnough) return;
  is_given_up_.store(true, std::memory_order_relaxed);
  if (is_whole) return;
  Message message;
  message << ranges << " kernels ran where " << count_
          << " launches were seen, so counters cannot be assigned to launches; from here on, kernels are measured one "
             "at a time, which takes longer";
  Say(trace::NoticeLevel::kWarning, message);
}

void LaunchBatch::ForgetAfterFork() {
  session_.store(nullptr, std::memory_order_relaxed);
  is_given_up_.store(false, std::memory_order_relaxed);
  count_ = short_batches_ = 0;
}

}  // namespace gprof::tracer
#endif
