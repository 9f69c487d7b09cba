// Requests of a serving engine as slices of rows: each request with what it did below it, and the engine's steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/facts/serving/served_requests.h"
#include "gprof/trace.h"

namespace gprof {

enum class SliceKind : uint8_t { kRequest, kQueue, kPrefill, kDecode, kStep };

struct RequestSlice {
  Interval time;
  SliceKind kind = SliceKind::kRequest;
  uint32_t request = kNone;  // of ServedRequests; kNone for steps
  uint32_t step = kNone;     // of ServedRequests; kNone for requests and queues
  uint32_t row = 0;          // of the requests of a process: a row is free again when its request has ended
};

// The process of the engine that served it.
uint32_t ProcessOf(const ServedRequests& served, const ServedRequest& request);
// By start. A request is followed by its parts, which lie within it.
std::vector<RequestSlice> RequestSlicesOf(const ServedRequests& served, uint32_t process);
// Steps of a thread come one after the other here: one begins when the one before it has ended.
std::vector<RequestSlice> StepSlicesOf(const ServedRequests& served, uint32_t process);

// "chat-7", "queue", "prefill", "mixed".
std::string NameOf(const ServedRequests& served, const RequestSlice& slice);

}  // namespace gprof
