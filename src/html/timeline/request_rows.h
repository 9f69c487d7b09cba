// Requests and steps of a serving engine on the timeline.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/facts/serving/served_requests.h"
#include "html/timeline/timeline.h"

namespace gprof {

class RequestRows {
 public:
  explicit RequestRows(const Trace& trace);
  // Below the track of the process; nothing where it served no requests.
  void AddTo(uint32_t process, int32_t parent, TimelineData* data) const;

 private:
  void AddTrack(const std::vector<RequestSlice>& slices, int32_t parent, const char* label, const char* detail,
                TimelineData* data) const;
  std::string DetailOf(const RequestSlice& slice) const;

  std::optional<ServedRequests> served_;
};

}  // namespace gprof
