#include "analysis/implied_waits.h"

#include <algorithm>
#include <limits>
#include <string_view>

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
  std::sort(questions.begin(), questions.end(),
            [](const Question& a, const Question& b) { return a.time_ns < b.time_ns; });
  return questions;
}

// Moves along the operations of each device once, and answers the questions in order of time.
void Answer(const Trace& trace, const std::vector<Question>& questions, std::vector<Candidate>* candidates) {
  std::vector<uint32_t> process_of;  // by the facts of operations; those of none are kept as well
  const uint32_t processes = static_cast<uint32_t>(trace.processes.size());
  for (uint32_t i = 0; i < trace.ops.FactsCount(); ++i) {
    process_of.push_back(std::min(trace.ops.FactsAt(i).process, processes));
  }
  const PackedOps::Item* const items = trace.ops.items().data();
  for (const Trace::Slice slice : trace.device_ops) {
    std::vector<int64_t> until_ns(processes + 1, kNever);
    const PackedOps::Item *next = items + slice.first, *const last = items + slice.last;
    for (const Question& question : questions) {
      for (; next != last && next->start_ns() < question.time_ns; ++next) {
        PrefetchForReading(next);
        int64_t& of_process_ns = until_ns[process_of[next->facts]];
        const int64_t end_ns = trace.ops.EndNs(*next);
        if (end_ns > of_process_ns) of_process_ns = end_ns;
      }
      Candidate& candidate = (*candidates)[question.candidate];
      int64_t& answer_ns = question.is_entry ? candidate.entry_until_ns : candidate.return_until_ns;
      answer_ns = std::max(answer_ns, until_ns[question.process]);
    }
  }
}

bool HasWaited(const ApiCall& call, const Candidate& candidate) {
  if (candidate.entry_until_ns <= call.start_ns || candidate.return_until_ns > call.end_ns) return false;
  const int64_t waited_ns = candidate.return_until_ns - call.start_ns;
  return waited_ns >= kLeastWaitNs && 2 * waited_ns >= call.DurationNs();
}

}  // namespace

std::vector<uint32_t> ImpliedWaits(const Trace& trace, std::span<const uint32_t> memory_calls) {
  std::vector<Candidate> candidates = CandidatesOf(trace, memory_calls);
  if (candidates.empty()) return {};
  Answer(trace, QuestionsOf(trace, candidates), &candidates);
  std::vector<uint32_t> calls;
  for (const Candidate& candidate : candidates) {
    if (HasWaited(trace.api_calls[candidate.call], candidate)) calls.push_back(candidate.call);
  }
  return calls;
}

}  // namespace gprof
