// What the page says of one event: the values of its columns (src/web/shared/data.ts). All that the page
// takes from the records of a trace is read here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "export/events/event_args.h"
#include "gprof/trace.h"
#include "html/timeline/event_names.h"
#include "html/timeline/page_stacks.h"
#include "html/timeline/timeline.h"

namespace gprof {

// In the order of EVENT_KINDS in src/web/shared/data.ts.
enum class EventKind : uint8_t {
  kKernel,
  kCopyH2d,
  kCopyD2h,
  kCopyD2d,
  kCopyPeer,
  kCopyOther,
  kMemset,
  kGraph,
  kApiLaunch,
  kApiCopy,
  kApiMemset,
  kApiSync,
  kApiMemory,
  kApiLoad,
  kApiQuery,
  kApiStream,
  kApiEvent,
  kApiGraph,
  kApiOther,
  kNvtxRange,
  kNvtxStartEnd,
  kNvtxMark,
  kGap,
  kPageableH2d,
  kPageableD2h,
  kOverhead,
  kProjection,  // made by the page
  kOsCall,
  kMpiCall,
  kThreadRunning,
  kThreadPreempted,
  kThreadBlocked,
  kCpuSample,
  kRequest,
  kRequestQueue,
  kRequestPrefill,
  kRequestDecode,
  kEngineStep,
};

struct EventDetails {
  uint32_t name = 0;
  EventKind kind = EventKind::kKernel;
  uint32_t shape = 0;                                  // 1 + index, 0 for none
  uint32_t call = kNone, range = kNone, next = kNone;  // of the trace
  uint32_t blame_call = kNone, blame_range = kNone;
  uint64_t size_bytes = 0;
  uint32_t memory = 0;
  uint32_t correlation = 0;
  uint32_t result = 0;
  uint64_t color = 0;     // 1 + 0xRRGGBB, 0 for none
  uint32_t payload = 0;   // 1 + name, 0 for none
  uint32_t function = 0;  // 1 + name, 0 for none
  uint32_t object = 0;    // 1 + name, 0 for none
  uint32_t other = 0;     // 1 + name of a thread, 0 for none
  uint32_t stack = 0;     // 1 + node, 0 for none
  uint32_t cpu = 0;       // 1 + number of a processor, 0 for none
};

class EventReader {
 public:
  EventReader(const Trace& trace, const TimelineData& timeline)
      : trace_(trace), timeline_(timeline), args_(trace), names_(trace), stacks_(trace, &names_) {}

  EventDetails Read(EventSource source, uint32_t item);
  const EventNames& names() const { return names_; }
  const PageStacks& stacks() const { return stacks_; }
  // Launch configurations of the kernels that were read, those alone.
  const std::vector<uint32_t>& shapes() const { return shapes_; }

 private:
  EventDetails OfOp(const GpuOp& op);
  EventDetails OfCall(uint32_t call);
  EventDetails OfRange(uint32_t range);
  EventDetails OfMark(uint32_t mark);
  EventDetails OfIdlePart(const IdlePart& part);
  EventDetails OfOverhead(const Overhead& overhead);
  EventDetails OfOsCall(const OsCall& call);
  EventDetails OfMpiCall(const MpiCall& call);
  EventDetails OfState(const ThreadState& state);
  EventDetails OfRequestSlice(const NamedSlice& named);
  EventDetails OfSample(const CpuSample& sample);
  uint32_t NameOrNone(std::string_view text);
  uint32_t Shape(uint32_t shape);
  template <class Write>
  uint32_t Payload(Write&& write);

  const Trace& trace_;
  const TimelineData& timeline_;
  EventArgs args_;
  EventNames names_;
  PageStacks stacks_;
  std::vector<uint32_t> shapes_, shape_numbers_;
  std::size_t payload_count_ = 0;
};

}  // namespace gprof
