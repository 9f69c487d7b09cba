#include "export/events/request_slices.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"

namespace gprof {
namespace {

// From its arrival, or what is known of it first, until the last thing that is.
Interval TimeOf(const ServedRequests& served, const ServedRequest& request) {
  Interval time{INT64_MAX, INT64_MIN};
  const auto add = [&time](int64_t start_ns, int64_t end_ns) {
    time.start_ns = std::min(time.start_ns, start_ns);
    time.end_ns = std::max(time.end_ns, end_ns);
  };
  if (request.HasArrived()) add(request.arrived_ns, request.arrived_ns);
  if (request.ended_ns != INT64_MIN) add(request.ended_ns, request.ended_ns);
  if (!request.tokens.empty()) add(request.tokens.front().time_ns, request.tokens.back().time_ns);
  for (const Membership& member : request.steps) {
    const Interval& step = served.steps()[member.step].time;
    add(step.start_ns, step.end_ns);
  }
  return time;
}

void AddParts(const ServedRequests& served, uint32_t index, const RequestSlice& whole,
              std::vector<RequestSlice>* slices) {
  int64_t from_ns = whole.time.start_ns;
  const auto add = [&](int64_t start_ns, int64_t end_ns, SliceKind kind, uint32_t step) {
    if (end_ns > start_ns) slices->push_back({{start_ns, end_ns}, kind, index, step, whole.row});
  };
  const ServedRequest& request = served.requests()[index];
  if (!request.steps.empty() && request.HasArrived())
    add(from_ns, served.steps()[request.steps.front().step].time.start_ns, SliceKind::kQueue, kNone);
  for (const Membership& member : request.steps) {
    const Interval& step = served.steps()[member.step].time;
    add(std::max(step.start_ns, from_ns), step.end_ns, member.is_prefill ? SliceKind::kPrefill : SliceKind::kDecode,
        member.step);
    from_ns = std::max(from_ns, step.end_ns);
  }
}

}  // namespace

uint32_t ProcessOf(const ServedRequests& served, const ServedRequest& request) {
  return request.steps.empty() ? request.process : served.steps()[request.steps.front().step].process;
}

std::vector<RequestSlice> RequestSlicesOf(const ServedRequests& served, uint32_t process) {
  std::vector<RequestSlice> requests, slices;
  for (uint32_t i = 0; i < served.requests().size(); ++i) {
    const ServedRequest& request = served.requests()[i];
    if (ProcessOf(served, request) != process) continue;
    const Interval time = TimeOf(served, request);
    if (time.start_ns <= time.end_ns) requests.push_back({time, SliceKind::kRequest, i});
  }
  std::ranges::stable_sort(requests, {}, [](const RequestSlice& slice) { return slice.time.start_ns; });
  std::vector<int64_t> free_ns;  // by row
  for (RequestSlice& request : requests) {
    const auto row = std::ranges::find_if(free_ns, [&](int64_t ns) { return ns <= request.time.start_ns; });
    request.row = static_cast<uint32_t>(row - free_ns.begin());
    if (row == free_ns.end()) free_ns.push_back(0);
    free_ns[request.row] = request.time.end_ns;
    slices.push_back(request);
    AddParts(served, request.request, request, &slices);
  }
  return slices;
}

std::vector<RequestSlice> StepSlicesOf(const ServedRequests& served, uint32_t process) {
  std::vector<RequestSlice> slices;
  std::map<uint32_t, int64_t> ends_ns;  // by thread
  for (uint32_t i = 0; i < served.steps().size(); ++i) {
    const BatchStep& step = served.steps()[i];
    if (step.process != process) continue;
    int64_t& end_ns = ends_ns.try_emplace(step.thread, INT64_MIN).first->second;
    const int64_t start_ns = std::max(step.time.start_ns, end_ns);
    if (step.time.end_ns <= start_ns) continue;
    end_ns = step.time.end_ns;
    slices.push_back({{start_ns, end_ns}, SliceKind::kStep, kNone, i});
  }
  return slices;
}

std::string NameOf(const ServedRequests& served, const RequestSlice& slice) {
  switch (slice.kind) {
    case SliceKind::kRequest:
      return Utf8(served.requests()[slice.request].name);
    case SliceKind::kQueue:
      return "queue";
    case SliceKind::kPrefill:
      return "prefill";
    case SliceKind::kDecode:
      return "decode";
    case SliceKind::kStep:
      break;
  }
  const BatchStep& step = served.steps()[slice.step];
  return step.IsMixed() ? "mixed" : step.prefills > 0 ? "prefill" : "decode";
}

}  // namespace gprof
