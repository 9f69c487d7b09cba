#include "analysis/topics/serving/serving_findings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/serving/thread_places.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/finding_words.h"
#include "base/units.h"

namespace gprof {
namespace {

// Less than that of what tokens are late by, or of the times to the first token, is not worth a finding.
constexpr double kPercentWorthAFinding = 10;

double PercentOf(int64_t part, int64_t whole) {
  return whole <= 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

Finding NewLateFinding(const LateGroup& group, double percent) {
  switch (group.part) {
    case LatencyPart::kMixed:
      if (group.is_mostly_host) break;
      return NewFinding("requests.prefill", percent);
    case LatencyPart::kDecode:
      if (group.has_other_work) return NewFinding("requests.other_work", percent);
      return NewFinding("requests.slow_kernels", percent);
    case LatencyPart::kOutput:
      return NewFinding("requests.output", percent);
    case LatencyPart::kNotScheduled:
    case LatencyPart::kPrefill:
    case LatencyPart::kQueue:
      return NewFinding("requests.not_scheduled", percent);
    case LatencyPart::kCopies:
      return NewFinding("requests.copies", percent);
    case LatencyPart::kHost:
      break;
  }
  return NewFinding("requests.host", percent);
}

class Findings {
 public:
  Findings(const Serving& serving, AnalysisResult* result) : s_(serving), result_(*result) {}

  void Run() {
    AddIdle();
    for (const LateGroup& group : s_.late.groups) AddLate(group);
    AddQueue();
    AddPreemptions();
    AddLaunches();
  }

 private:
  // Host code is what all tokens wait for, not late ones alone.
  void AddIdle() {
    constexpr double kPercentOfIdle = 25;
    int64_t host_ns = 0, all_ns = 0;
    for (const Latency& token : s_.latencies.next_tokens()) {
      host_ns += token.split[LatencyPart::kHost];
      all_ns += token.time.DurationNs();
    }
    const double percent = PercentOf(host_ns, all_ns);
    const auto tokens = static_cast<int64_t>(s_.latencies.next_tokens().size());
    if (percent < kPercentOfIdle || !HasGpuWork()) return;
    Finding finding = NewFinding("requests.gpu_idle", percent);
    finding.message = "The GPU had no work of a step for " + FormatPercent(percent) + " of the time between tokens (" +
                      FormatNs(host_ns / tokens) + " of " + FormatNs(all_ns / tokens) + ")";
    finding.subject.line = HostPlace();
    AddPlace(finding.subject.line.empty() ? "" : "mostly at " + finding.subject.line, &finding);
    FitMessage(&finding);
    result_.findings.push_back(std::move(finding));
  }

  bool HasGpuWork() const {
    for (uint32_t i = 0; i < s_.served.steps().size(); ++i) {
      if (s_.time.Kernels(i) + s_.time.Graphs(i) > 0) return true;
    }
    return false;
  }

  // Of the thread with the first step, as long as it has steps.
  std::string HostPlace() const {
    const std::vector<BatchStep>& steps = s_.served.steps();
    const BatchStep& first = steps.front();
    Interval time = first.time;
    for (const BatchStep& step : steps) {
      if (step.thread == first.thread) time.end_ns = std::max(time.end_ns, step.time.end_ns);
    }
    return ThreadPlaces(s_.input).MostOf(first.thread, s_.time.HostIntervals(first.process, time));
  }

  // A share of the late time is one of the extra time of tokens: what users of the server see.
  void AddLate(const LateGroup& group) {
    const double percent = PercentOf(group.extra_ns, s_.late.extra_ns);
    if (percent < kPercentWorthAFinding) return;
    Finding finding = NewLateFinding(group, percent);
    const std::vector<int64_t> times = Durations(s_.latencies.next_tokens());
    finding.message = "Between tokens p99 is " + FormatNs(Percentile(times, 99)) + ", the median " +
                      FormatNs(s_.late.median_ns) + ": " + FormatCount(group.tokens) + " of " +
                      CountOf(s_.late.late, "late token") + " because of " + ReasonText(group);
    finding.evidence.push_back("They are late by " + FormatNs(group.extra_ns) + " in all, " + FormatPercent(percent) +
                               " of what all late tokens are late by.");
    finding.evidence.push_back("Worst: token " + std::to_string(group.worst.token + 1) + " of " +
                               s_.served.requests()[group.worst.request].name + " after " +
                               FormatNs(group.worst.time.DurationNs()) + ".");
    if (finding.id == "requests.prefill") AddBound(&finding);
    if (finding.id == "requests.host" || group.part == LatencyPart::kOutput) finding.subject.line = group.where;
    if (group.part == LatencyPart::kDecode) finding.subject.process = group.where;
    FitMessage(&finding);
    result_.findings.push_back(std::move(finding));
  }

  // Steps that compute prompts take a time that grows with their tokens: a straight line through all of them says what
  // a smaller chunk would take.
  void AddBound(Finding* finding) const {
    double n = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
    int64_t most = 0;
    for (const BatchStep& step : s_.served.steps()) {
      if (step.prefills == 0) continue;
      const auto x = static_cast<double>(step.prefill_tokens), y = static_cast<double>(step.time.DurationNs());
      n += 1, sum_x += x, sum_y += y, sum_xx += x * x, sum_xy += x * y;
      most = std::max(most, step.prefill_tokens);
    }
    const double spread = n * sum_xx - sum_x * sum_x;
    if (n < 3 || spread <= 0) return;
    const double slope = (n * sum_xy - sum_x * sum_y) / spread, base = (sum_y - slope * sum_x) / n;
    if (slope <= 0 || base < 0) return;
    const int64_t chunk = most / 4;
    finding->evidence.push_back("A step takes about " + FormatNs(base) + " and " + FormatNs(1000 * slope) +
                                " for 1,000 tokens of prompts: chunks of " + FormatCount(chunk) + " in place of " +
                                FormatCount(most) + " would bound it at about " +
                                FormatNs(base + slope * static_cast<double>(chunk)) + ".");
  }

  void AddQueue() {
    int64_t queue_ns = 0, all_ns = 0;
    for (const Latency& latency : s_.latencies.first_tokens()) {
      queue_ns += latency.split[LatencyPart::kQueue];
      all_ns += latency.time.DurationNs();
    }
    const double percent = PercentOf(queue_ns, all_ns);
    if (percent < kPercentWorthAFinding) return;
    const std::vector<int64_t> queues = QueueTimes(s_.latencies.first_tokens());
    const std::vector<int64_t> firsts = Durations(s_.latencies.first_tokens());
    Finding finding = NewFinding("requests.queue", percent);
    finding.message = "Requests waited in the queue for " + FormatPercent(percent) +
                      " of the time to their first token (queue p99 " + FormatNs(Percentile(queues, 99)) +
                      ", first token p99 " + FormatNs(Percentile(firsts, 99)) + ")";
    AddLimit(&finding);
    FitMessage(&finding);
    result_.findings.push_back(std::move(finding));
  }

  // What kept the engine from taking more: the KV cache, or the size of a batch.
  void AddLimit(Finding* finding) const {
    int64_t waiting_steps = 0, full_steps = 0, most_requests = 0, at_most = 0;
    for (const BatchStep& step : s_.served.steps())
      most_requests = std::max(most_requests, step.prefills + step.decodes);
    for (const BatchStep& step : s_.served.steps()) {
      if (step.waiting == 0) continue;
      ++waiting_steps;
      at_most += step.prefills + step.decodes == most_requests;
      full_steps += step.cache_blocks > 0 && 100 * step.cache_used >= 95 * step.cache_blocks;
    }
    if (waiting_steps == 0) return;
    if (2 * full_steps >= waiting_steps) {
      finding->evidence.push_back("The KV cache was full (95% or more) in " + FormatCount(full_steps) + " of the " +
                                  CountOf(waiting_steps, "step") + " with requests in the queue.");
    } else if (2 * at_most >= waiting_steps) {
      finding->evidence.push_back("The batch was at its largest, " + CountOf(most_requests, "request") + ", in " +
                                  FormatCount(at_most) + " of the " + CountOf(waiting_steps, "step") +
                                  " with requests in the queue.");
    }
  }

  void AddPreemptions() {
    int64_t preemptions = 0, requests = 0;
    for (const ServedRequest& request : s_.served.requests()) {
      preemptions += request.preemptions;
      requests += request.preemptions > 0;
    }
    int64_t prefill_tokens = 0;
    for (const BatchStep& step : s_.served.steps()) prefill_tokens += step.prefill_tokens;
    const PromptTokens& again = s_.prompts.again;
    const double percent = PercentOf(again.tokens, prefill_tokens);
    if (preemptions == 0 && percent < kPercentWorthAFinding) return;
    Finding finding =
        preemptions > 0 ? NewFinding("requests.preempted", percent) : NewFinding("requests.computed_again", percent);
    const std::string tokens = CountOf(again.tokens, "token");
    if (preemptions == 0) {
      finding.message = tokens + " of " + CountOf(again.requests, "request") + " computed again, " +
                        FormatPercent(percent) + " of all tokens of prompts that were computed";
    } else {
      finding.message = CountOf(requests, "request") + (requests == 1 ? " was" : " were") + " preempted, " +
                        CountOf(preemptions, "time") + " in all";
      if (again.tokens > 0) finding.message += ": " + tokens + " computed again";
    }
    if (again.kernel_ns > 0)
      finding.evidence.push_back("To keep them would save at most the " + FormatNs(again.kernel_ns) +
                                 " of kernels in their " + CountOf(again.steps, "step") +
                                 ", by their share of tokens " + FormatNs(again.share_ns) + " (an estimate).");
    FitMessage(&finding);
    result_.findings.push_back(std::move(finding));
  }

  // Decode steps of one batch size that launch kernel by kernel, while others launch a CUDA graph.
  void AddLaunches() {
    struct OfSize {
      int64_t steps = 0, kernels = 0, graphs = 0, ns = 0, host_ns = 0;
    };
    std::map<int64_t, OfSize> sizes;
    for (uint32_t i = 0; i < s_.served.steps().size(); ++i) {
      const BatchStep& step = s_.served.steps()[i];
      if (step.prefills > 0 || step.decodes == 0) continue;
      OfSize& size = sizes[step.decodes];
      ++size.steps;
      size.kernels += s_.time.Kernels(i);
      size.graphs += s_.time.Graphs(i) > 0;
      size.ns += step.time.DurationNs();
      size.host_ns += s_.time.Of(i).host_ns;
    }
    int64_t host_ns = 0, all_ns = 0, steps = 0, kernels = 0, graph_steps = 0, graph_ns = 0, own_ns = 0;
    std::string without, with;
    for (const auto& [requests, size] : sizes) {
      all_ns += size.ns;
      const bool is_graph = 2 * size.graphs > size.steps;
      std::string& list = is_graph ? with : without;
      list += (list.empty() ? "" : ", ") + std::to_string(requests);
      if (is_graph) {
        graph_steps += size.steps, graph_ns += size.ns;
        continue;
      }
      steps += size.steps, kernels += size.kernels, host_ns += size.host_ns, own_ns += size.ns;
    }
    const double percent = PercentOf(host_ns, all_ns);
    constexpr int64_t kKernelsWorthAGraph = 20;
    if (steps == 0 || percent < kPercentWorthAFinding || kernels < kKernelsWorthAGraph * steps) return;
    Finding finding = NewFinding("requests.no_graph", percent);
    finding.message = CountOf(steps, "decode step") + " launched " + FormatCount(kernels / steps) +
                      " kernels one by one and left the GPU without work for " +
                      FormatPercent(PercentOf(host_ns, own_ns)) + " of the time";
    finding.evidence.push_back("Batches of " + without + " requests: " + FormatNs(own_ns / steps) + " a step.");
    if (graph_steps > 0) {
      finding.evidence.push_back("Batches of " + with +
                                 " requests launch a CUDA graph: " + FormatNs(graph_ns / graph_steps) + " a step.");
    }
    FitMessage(&finding);
    result_.findings.push_back(std::move(finding));
  }

  const Serving& s_;
  AnalysisResult& result_;
};

}  // namespace

void AddServingFindings(const Serving& serving, AnalysisResult* result) { Findings(serving, result).Run(); }

}  // namespace gprof
