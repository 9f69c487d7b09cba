#include "analysis/polling.h"

#include <string_view>

namespace gprof {
namespace {

// cudaStreamQuery, cudaEventQuery and their driver calls. Other queries (cudaGetLastError, cudaGetDevice) neither poll
// nor end a loop: programs make them in between.
enum class Query : uint8_t { kNotSeen, kPoll, kOther };

class QueryNames {
 public:
  explicit QueryNames(const Trace& trace) : trace_(trace), known_(trace.strings.size(), Query::kNotSeen) {}
  bool IsPoll(NameId function) {
    Query& known = known_[function.value];
    if (known == Query::kNotSeen) {
      known = trace_.Text(function).find("Query") == std::string_view::npos ? Query::kOther : Query::kPoll;
    }
    return known == Query::kPoll;
  }

 private:
  const Trace& trace_;
  std::vector<Query> known_;
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
  QueryNames names(trace);
  for (uint32_t thread = 0; thread < trace.thread_api_calls.size(); ++thread) {
    const size_t first = sites.size();
    Loop loop;
    const Trace::Slice slice = trace.thread_api_calls[thread];
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      const ApiCall& call = trace.api_calls[i];
      if (call.parent != kNone) continue;
      const bool is_query = call.api_class == ApiClass::kQuery;
      if (is_query && !names.IsPoll(call.function)) continue;
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
