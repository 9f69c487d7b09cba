#include <string_view>

#include "analysis/topics/waits/host_waits.h"

namespace gprof {
namespace {

// cudaStreamQuery, cudaEventQuery and their driver calls. Other queries (cudaGetLastError, cudaGetDevice) neither poll
// nor end a loop: programs make them in between.
enum class Query : uint8_t { kNone, kPoll, kOther };

// By the traits of calls, and whether a thread has any that poll.
struct Queries {
  explicit Queries(const Trace& trace) : has_polls(trace.threads.size(), 0) {
    for (uint32_t i = 0; i < trace.api_calls.TraitsCount(); ++i) {
      const PackedCalls::Traits& traits = trace.api_calls.TraitsAt(i);
      const bool is_poll =
          traits.api_class == ApiClass::kQuery && trace.Text(traits.function).find("Query") != std::string_view::npos;
      of_traits.push_back(is_poll ? Query::kPoll : traits.api_class == ApiClass::kQuery ? Query::kOther : Query::kNone);
      if (is_poll && traits.thread != kNone) has_polls[traits.thread] = 1;
    }
  }
  std::vector<Query> of_traits;
  std::vector<uint8_t> has_polls;
};

struct Loop {
  NameId function;
  int64_t calls = 0, start_ns = 0, end_ns = 0;
};

// `first` is where the sites of the thread begin.
void Close(const Loop& loop, uint32_t thread, size_t first, std::vector<PollingSite>* sites) {
  if (loop.calls < kPollsOfALoop) return;
  size_t i = first;
  while (i < sites->size() && (*sites)[i].function != loop.function) ++i;
  if (i == sites->size()) sites->push_back({loop.function, thread, 0, 0, 0});
  PollingSite& site = (*sites)[i];
  ++site.loops;
  site.calls += loop.calls;
  site.time_ns += loop.end_ns - loop.start_ns;
}

}  // namespace

std::vector<PollingSite> PollingOf(const Trace& trace) {
  std::vector<PollingSite> sites;
  const Queries queries(trace);
  for (uint32_t thread = 0; thread < trace.thread_api_calls.size(); ++thread) {
    if (queries.has_polls[thread] == 0) continue;
    const size_t first = sites.size();
    Loop loop;
    const Trace::Slice slice = trace.thread_api_calls[thread];
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      const ApiCall& call = trace.api_calls[i];
      const Query query = queries.of_traits[trace.api_calls.TraitsIndex(i)];
      if (query == Query::kOther || call.parent != kNone) continue;
      const bool is_query = query == Query::kPoll;
      if (!is_query || call.function != loop.function) {
        Close(loop, thread, first, &sites);
        loop = {call.function, 0, call.start_ns, call.end_ns};
      }
      if (!is_query) continue;
      ++loop.calls;
      loop.end_ns = call.end_ns;
    }
    Close(loop, thread, first, &sites);
  }
  return sites;
}

}  // namespace gprof
