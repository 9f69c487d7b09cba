#include "export/timeline/perfetto_requests.h"

#include <algorithm>
#include <map>
#include <string>

#include "analysis/facts/serving/engine_time.h"
#include "analysis/facts/serving/served_requests.h"
#include "base/text.h"
#include "gprof/analysis.h"

namespace gprof {
namespace {

using PacketType = PerfettoPackets::EventType;

// Flows from requests to steps; those of operations have lower numbers.
constexpr uint64_t kFirstFlow = uint64_t{1} << 40;

class RequestTracks {
 public:
  RequestTracks(const Trace& trace, const std::vector<uint64_t>& process_tracks, Labels* labels,
                PerfettoPackets* packets)
      : served_(trace),
        time_(AnalysisInput(trace), served_),
        process_tracks_(process_tracks),
        labels_(*labels),
        packets_(*packets),
        flows_of_steps_(served_.steps().size()) {}

  void Write(const std::function<uint64_t(uint32_t)>& flow_of_op) {
    WriteRequests();
    WriteSteps(flow_of_op);
  }

 private:
  uint64_t ProcessTrack(uint32_t process) const { return process == kNone ? 0 : process_tracks_[process]; }

  static int64_t StartOf(const ServedRequest& request, const std::vector<BatchStep>& steps) {
    if (request.HasArrived()) return request.arrived_ns;
    return request.steps.empty() ? request.tokens.front().time_ns : steps[request.steps.front().step].time.start_ns;
  }

  // Steps of a request may end behind its last token.
  static int64_t EndOf(const ServedRequest& request, const std::vector<BatchStep>& steps) {
    int64_t end_ns = request.ended_ns == INT64_MIN ? StartOf(request, steps) : request.ended_ns;
    if (!request.tokens.empty()) end_ns = std::max(end_ns, request.tokens.back().time_ns);
    if (!request.steps.empty()) end_ns = std::max(end_ns, steps[request.steps.back().step].time.end_ns);
    return end_ns;
  }

  // A row is free again when its request has ended.
  void WriteRequests() {
    std::vector<const ServedRequest*> order;
    for (const ServedRequest& request : served_.requests()) order.push_back(&request);
    std::ranges::stable_sort(order, {}, [&](const ServedRequest* r) { return StartOf(*r, served_.steps()); });
    struct Lane {
      uint64_t track;
      int64_t free_ns;
    };
    std::map<uint32_t, std::vector<Lane>> lanes;
    for (const ServedRequest* request : order) {
      const int64_t start_ns = StartOf(*request, served_.steps()), end_ns = EndOf(*request, served_.steps());
      std::vector<Lane>& own = lanes[request->process];
      auto lane = std::ranges::find_if(own, [&](const Lane& l) { return l.free_ns <= start_ns; });
      if (lane == own.end()) {
        const std::string name = "requests " + std::to_string(own.size() + 1);
        own.push_back({packets_.AddTrack({.parent = ProcessTrack(request->process), .name = name}), 0});
        lane = own.end() - 1;
      }
      lane->free_ns = end_ns;
      WriteRequest(*request, {start_ns, end_ns}, lane->track);
    }
  }

  void WriteRequest(const ServedRequest& request, const Interval& time, uint64_t track) {
    Begin(track, time.start_ns, "request", Utf8(request.name), [&](ArgSink& sink, auto&) {
      sink.Int("prompt tokens", request.prompt_tokens);
      sink.Int("times tokens came out", static_cast<int64_t>(request.tokens.size()));
      sink.Int("preemptions", request.preemptions);
    });
    int64_t from_ns = time.start_ns;
    for (const Membership& member : request.steps) {
      const BatchStep& step = served_.steps()[member.step];
      const int64_t start_ns = std::max(step.time.start_ns, from_ns);
      if (step.time.end_ns <= start_ns) continue;
      if (from_ns == time.start_ns && start_ns > from_ns) {
        Begin(track, from_ns, "request_part", "queue", [](ArgSink&, auto&) {});
        packets_.End(track, start_ns);
      }
      const uint64_t flow = next_flow_++;
      flows_of_steps_[member.step].push_back(flow);
      Begin(track, start_ns, "request_part", member.is_prefill ? "prefill" : "decode",
            [&](ArgSink& sink, protozero::pbf_writer& event) {
              PerfettoPackets::AddFlow(flow, false, &event);
              sink.Int("tokens", member.tokens);
              sink.Int("cached tokens", member.cached);
              sink.Int("step", step.number);
            });
      packets_.End(track, from_ns = step.time.end_ns);
    }
    packets_.End(track, time.end_ns);
  }

  void WriteSteps(const std::function<uint64_t(uint32_t)>& flow_of_op) {
    std::map<uint32_t, uint64_t> tracks;  // by thread: its steps come one after the other
    std::map<uint32_t, int64_t> ends_ns;
    for (uint32_t i = 0; i < served_.steps().size(); ++i) {
      const BatchStep& step = served_.steps()[i];
      const auto [track, is_new] = tracks.try_emplace(step.thread, 0);
      if (is_new) track->second = packets_.AddTrack({.parent = ProcessTrack(step.process), .name = "engine steps"});
      const int64_t start_ns = std::max(step.time.start_ns, ends_ns[step.thread]);
      const char* const kind = step.IsMixed() ? "mixed" : step.prefills > 0 ? "prefill" : "decode";
      Begin(track->second, start_ns, "engine_step", kind, [&](ArgSink& sink, protozero::pbf_writer& event) {
        for (const uint64_t flow : flows_of_steps_[i]) PerfettoPackets::AddFlow(flow, true, &event);
        if (time_.FirstOp(i) != kNone) PerfettoPackets::AddFlow(flow_of_op(time_.FirstOp(i)), false, &event);
        sink.Int("step", step.number);
        sink.Int("requests", step.prefills + step.decodes);
        sink.Int("prompt tokens", step.prefill_tokens);
        sink.Int("waiting", step.waiting);
      });
      ends_ns[step.thread] = std::max(start_ns, step.time.end_ns);
      packets_.End(track->second, ends_ns[step.thread]);
    }
  }

  template <class F>
  void Begin(uint64_t track, int64_t time_ns, std::string_view category, const std::string& name, F&& f) {
    const uint32_t label = labels_.Of(std::string_view(name));
    packets_.Event(PacketType::kBegin, track, time_ns, category, label, labels_.Text(label), f);
  }

  const ServedRequests served_;
  const EngineTime time_;
  const std::vector<uint64_t>& process_tracks_;
  Labels& labels_;
  PerfettoPackets& packets_;
  std::vector<std::vector<uint64_t>> flows_of_steps_;
  uint64_t next_flow_ = kFirstFlow;
};

}  // namespace

void WriteRequests(const Trace& trace, const std::vector<uint64_t>& process_tracks,
                   const std::function<uint64_t(uint32_t)>& flow_of_op, Labels* labels, PerfettoPackets* packets) {
  if (!ServedRequests::MayBeIn(trace)) return;
  RequestTracks(trace, process_tracks, labels, packets).Write(flow_of_op);
}

}  // namespace gprof
