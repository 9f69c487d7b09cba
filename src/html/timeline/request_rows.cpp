#include "html/timeline/request_rows.h"

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"

namespace gprof {
namespace {

constexpr std::size_t kLanesToSee = 16;  // more are folded at first

}  // namespace

RequestRows::RequestRows(const Trace& trace) {
  if (ServedRequests::MayBeIn(trace)) served_.emplace(trace);
}

void RequestRows::AddTo(uint32_t process, int32_t parent, TimelineData* data) const {
  if (!served_) return;
  AddTrack(StepSlicesOf(*served_, process), parent, "engine steps", "steps of the serving engine", data);
  AddTrack(RequestSlicesOf(*served_, process), parent, "requests", "each request, and below it its queue and steps",
           data);
}

// A request has two lanes: itself, and its parts.
void RequestRows::AddTrack(const std::vector<RequestSlice>& slices, int32_t parent, const char* label,
                           const char* detail, TimelineData* data) const {
  if (slices.empty()) return;
  std::map<uint32_t, TimelineLane> lanes;
  for (const RequestSlice& slice : slices) {
    const bool is_part = slice.kind != SliceKind::kRequest && slice.kind != SliceKind::kStep;
    const uint32_t depth = 2 * slice.row + (is_part ? 1 : 0);
    lanes[depth].depth = depth;
    lanes[depth].items.push_back(static_cast<uint32_t>(data->request_slices.size()));
    data->request_slices.push_back({slice, NameOf(*served_, slice), DetailOf(slice)});
  }
  TimelineTrack track{TrackKind::kRequests, EventSource::kRequestSlice, parent, label, detail, {}, {}};
  for (auto& [depth, lane] : lanes) track.lanes.push_back(std::move(lane));
  track.is_folded = track.lanes.size() > kLanesToSee;
  data->tracks.push_back(std::move(track));
}

std::string RequestRows::DetailOf(const RequestSlice& slice) const {
  if (slice.step == kNone) {
    const ServedRequest& request = served_->requests()[slice.request];
    if (slice.kind == SliceKind::kQueue) return "";
    return CountOf(request.prompt_tokens, "prompt token") + ", " +
           CountOf(static_cast<int64_t>(request.tokens.size()), "hand-out of tokens", "hand-outs of tokens");
  }
  const BatchStep& step = served_->steps()[slice.step];
  if (slice.request == kNone) {
    return CountOf(step.prefills + step.decodes, "request") + ", " + CountOf(step.prefill_tokens, "prompt token") +
           fmt::format(", {} waiting", step.waiting);
  }
  const Membership* const member = ServedRequests::Find(served_->requests()[slice.request], slice.step);
  if (member == nullptr) return "";
  return fmt::format("step {}, {}, {} cached", step.number, CountOf(member->tokens, "token"), member->cached);
}

}  // namespace gprof
