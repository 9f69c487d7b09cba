#include "export/timeline/perfetto_requests.h"

#include <map>
#include <string>

#include "analysis/facts/serving/engine_time.h"
#include "analysis/facts/serving/served_requests.h"
#include "export/events/request_slices.h"
#include "gprof/analysis.h"

namespace gprof {
namespace {

using PacketType = PerfettoPackets::EventType;

// Flows from requests to steps; those of operations have lower numbers.
constexpr uint64_t kFirstFlow = uint64_t{1} << 40;

class RequestTracks {
 public:
  RequestTracks(const Trace& trace, Labels* labels, PerfettoPackets* packets)
      : served_(trace),
        time_(AnalysisInput(trace), served_),
        labels_(*labels),
        packets_(*packets),
        flows_of_steps_(served_.steps().size()) {}

  void Write(uint32_t process, uint64_t process_track, const std::function<uint64_t(uint32_t)>& flow_of_op) {
    WriteRequests(RequestSlicesOf(served_, process), process_track);
    WriteSteps(StepSlicesOf(served_, process), process_track, flow_of_op);
  }

 private:
  void WriteRequests(const std::vector<RequestSlice>& slices, uint64_t process_track) {
    std::map<uint32_t, uint64_t> tracks;  // by row
    const RequestSlice* open = nullptr;
    for (const RequestSlice& slice : slices) {
      const bool is_whole = slice.kind == SliceKind::kRequest;
      if (is_whole && open != nullptr) packets_.End(tracks[open->row], open->time.end_ns);
      if (is_whole) open = &slice;
      const auto [track, is_new] = tracks.try_emplace(slice.row, 0);
      const std::string name = "requests " + std::to_string(slice.row + 1);
      if (is_new) track->second = packets_.AddTrack({.parent = process_track, .name = name});
      if (is_whole) {
        BeginRequest(track->second, slice);
      } else {
        BeginPart(track->second, slice);
        packets_.End(track->second, slice.time.end_ns);
      }
    }
    if (open != nullptr) packets_.End(tracks[open->row], open->time.end_ns);
  }

  void BeginRequest(uint64_t track, const RequestSlice& slice) {
    const ServedRequest& request = served_.requests()[slice.request];
    Begin(track, slice, "request", [&](ArgSink& sink, auto&) {
      sink.Int("prompt tokens", request.prompt_tokens);
      sink.Int("preemptions", request.preemptions);
    });
  }

  void BeginPart(uint64_t track, const RequestSlice& slice) {
    if (slice.step == kNone) return Begin(track, slice, "request_part", [](ArgSink&, auto&) {});
    const Membership* const member = ServedRequests::Find(served_.requests()[slice.request], slice.step);
    flows_of_steps_[slice.step].push_back(next_flow_);
    Begin(track, slice, "request_part", [&](ArgSink& sink, protozero::pbf_writer& event) {
      PerfettoPackets::AddFlow(next_flow_++, false, &event);
      sink.Int("step", served_.steps()[slice.step].number);
      if (member == nullptr) return;
      sink.Int("tokens", member->tokens);
      sink.Int("cached tokens", member->cached);
    });
  }

  void WriteSteps(const std::vector<RequestSlice>& slices, uint64_t process_track,
                  const std::function<uint64_t(uint32_t)>& flow_of_op) {
    std::map<uint32_t, uint64_t> tracks;  // by thread
    for (const RequestSlice& slice : slices) {
      const BatchStep& step = served_.steps()[slice.step];
      const auto [track, is_new] = tracks.try_emplace(step.thread, 0);
      if (is_new) track->second = packets_.AddTrack({.parent = process_track, .name = "engine steps"});
      Begin(track->second, slice, "engine_step", [&](ArgSink& sink, protozero::pbf_writer& event) {
        for (const uint64_t flow : flows_of_steps_[slice.step]) PerfettoPackets::AddFlow(flow, true, &event);
        const uint32_t op = time_.FirstOp(slice.step);
        if (op != kNone) PerfettoPackets::AddFlow(flow_of_op(op), false, &event);
        sink.Int("step", step.number);
        sink.Int("requests", step.prefills + step.decodes);
        sink.Int("prompt tokens", step.prefill_tokens);
        sink.Int("waiting", step.waiting);
      });
      packets_.End(track->second, slice.time.end_ns);
    }
  }

  template <class F>
  void Begin(uint64_t track, const RequestSlice& slice, std::string_view category, F&& f) {
    const std::string name = NameOf(served_, slice);
    const uint32_t label = labels_.Of(std::string_view(name));
    packets_.Event(PacketType::kBegin, track, slice.time.start_ns, category, label, labels_.Text(label), f);
  }

  const ServedRequests served_;
  const EngineTime time_;
  Labels& labels_;
  PerfettoPackets& packets_;
  std::vector<std::vector<uint64_t>> flows_of_steps_;
  uint64_t next_flow_ = kFirstFlow;
};

}  // namespace

void WriteRequests(const Trace& trace, const std::vector<uint64_t>& process_tracks,
                   const std::function<uint64_t(uint32_t)>& flow_of_op, Labels* labels, PerfettoPackets* packets) {
  if (!ServedRequests::MayBeIn(trace)) return;
  RequestTracks tracks(trace, labels, packets);
  for (uint32_t i = 0; i < trace.processes.size(); ++i) tracks.Write(i, process_tracks[i], flow_of_op);
}

}  // namespace gprof
