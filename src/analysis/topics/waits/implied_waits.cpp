#include <algorithm>
#include <limits>
#include <string_view>

#include "analysis/topics/waits/host_waits.h"

namespace gprof {
namespace {

constexpr int64_t kLeastWaitNs = 5'000;
constexpr int64_t kNever = std::numeric_limits<int64_t>::min();

struct Candidate {
  uint32_t call = kNone;
  int64_t entry_until_ns = kNever, return_until_ns = kNever;  // end of the work that had started by then
};

struct Question {
  int64_t time_ns = 0;
  uint32_t candidate = 0, process = 0;
  bool is_entry = false;
};

std::vector<Candidate> CandidatesOf(const Trace& trace, std::span<const uint32_t> memory_calls) {
  std::vector<Candidate> candidates;
  for (uint32_t i : memory_calls) {
    const ApiCall& call = trace.api_calls[i];
    if (call.process == kNone || call.DurationNs() < kLeastWaitNs) continue;
    if (trace.Text(call.function).find("Async") == std::string_view::npos) candidates.push_back({i, kNever, kNever});
  }
  return candidates;
}

std::vector<Question> QuestionsOf(const Trace& trace, const std::vector<Candidate>& candidates) {
  std::vector<Question> questions;
  questions.reserve(2 * candidates.size());
  for (uint32_t i = 0; i < candidates.size(); ++i) {
    const ApiCall& call = trace.api_calls[candidates[i].call];
    questions.push_back({call.start_ns, i, call.process, true});
    questions.push_back({call.end_ns, i, call.process, false});
  }
  std::ranges::sort(questions, {}, &Question::time_ns);
  return questions;
}

// When the work of each process on a device had ended that had started by some time. Times have to come in order.
class EndsOfDevice {
 public:
  EndsOfDevice(const Trace& trace, const OpFacts& ops, const std::vector<uint32_t>& process_of, uint32_t device)
      : ops_(trace.ops),
        process_of_(process_of),
        until_ns_(trace.processes.size() + 1, kNever),
        all_until_ns_(until_ns_) {
    const Trace::Slice slice = trace.device_ops[device];
    if (slice.first == slice.last) return;
    next_ = ops_.items().data() + slice.first, end_ = ops_.items().data() + slice.last;
    last_ns_ = end_[-1].start_ns();
    for (uint32_t i = 0; i < ops_.TraitsCount(); ++i) {
      if (ops_.TraitsAt(i).device != device || ops.sums()[i].count == 0) continue;
      int64_t& of_process_ns = all_until_ns_[process_of[i]];
      of_process_ns = std::max(of_process_ns, ops.sums()[i].window.end_ns);
    }
  }

  int64_t Of(uint32_t process, int64_t time_ns) {
    if (time_ns > last_ns_) return all_until_ns_[process];  // as most frees come last, all have started
    for (; next_ != end_ && next_->start_ns() < time_ns; ++next_) {
      PrefetchForReading(next_);
      int64_t& of_process_ns = until_ns_[process_of_[next_->traits]];
      of_process_ns = std::max(of_process_ns, ops_.EndNs(*next_));
    }
    return until_ns_[process];
  }

 private:
  const PackedOps& ops_;
  const std::vector<uint32_t>& process_of_;  // by the traits of operations
  std::vector<int64_t> until_ns_, all_until_ns_;
  const PackedOps::Item *next_ = nullptr, *end_ = nullptr;
  int64_t last_ns_ = std::numeric_limits<int64_t>::max();  // when the last one started
};

void Answer(const Trace& trace, const OpFacts& ops, const std::vector<Question>& questions,
            std::vector<Candidate>* candidates) {
  std::vector<uint32_t> process_of;  // those of none are kept as well
  const uint32_t processes = static_cast<uint32_t>(trace.processes.size());
  for (uint32_t i = 0; i < trace.ops.TraitsCount(); ++i) {
    process_of.push_back(std::min(trace.ops.TraitsAt(i).process, processes));
  }
  for (uint32_t device = 0; device < trace.device_ops.size(); ++device) {
    EndsOfDevice ends(trace, ops, process_of, device);
    for (const Question& question : questions) {
      Candidate& candidate = (*candidates)[question.candidate];
      int64_t& answer_ns = question.is_entry ? candidate.entry_until_ns : candidate.return_until_ns;
      answer_ns = std::max(answer_ns, ends.Of(question.process, question.time_ns));
    }
  }
}

bool HasWaited(const ApiCall& call, const Candidate& candidate) {
  if (candidate.entry_until_ns <= call.start_ns || candidate.return_until_ns > call.end_ns) return false;
  const int64_t waited_ns = candidate.return_until_ns - call.start_ns;
  return waited_ns >= kLeastWaitNs && 2 * waited_ns >= call.DurationNs();
}

}  // namespace

std::vector<uint32_t> ImpliedWaits(const Trace& trace, const OpFacts& ops, std::span<const uint32_t> memory_calls) {
  std::vector<Candidate> candidates = CandidatesOf(trace, memory_calls);
  if (candidates.empty()) return {};
  Answer(trace, ops, QuestionsOf(trace, candidates), &candidates);
  std::vector<uint32_t> calls;
  for (const Candidate& candidate : candidates) {
    if (HasWaited(trace.api_calls[candidate.call], candidate)) calls.push_back(candidate.call);
  }
  return calls;
}

}  // namespace gprof
