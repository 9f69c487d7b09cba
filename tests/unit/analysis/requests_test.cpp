#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "analysis/facts/serving/span_requests.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/serving/one_request.h"
#include "analysis/topics/serving/serving_tables.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

using Kind = trace::RequestEventKind;

struct Member {
  std::string request;
  uint32_t tokens = 1, tokens_out = 1;
  bool is_prefill = false;
  uint32_t cached = 0;
};

// An engine on thread 0 of process 0: its requests are told by their names.
class Engine {
 public:
  TraceMaker& maker() { return maker_; }

  void Tell(const std::string& request, int64_t time_ns, Kind event, uint32_t tokens = 0) {
    maker_.trace().request_events.push_back({time_ns, 0, 0, NumberOf(request), tokens, {}, event});
  }

  // A step, whose kernel runs from one time to another; without one, where it ends before it begins.
  void Step(int64_t start_ns, int64_t end_ns, int64_t kernel_start_ns, int64_t kernel_end_ns,
            const std::vector<Member>& members, int64_t waiting = 0) {
    const auto step = static_cast<uint32_t>(maker_.trace().engine_steps.size()) + 1;
    if (kernel_start_ns < kernel_end_ns) maker_.Launch(start_ns + 1, start_ns + 2, kernel_start_ns, kernel_end_ns);
    maker_.trace().engine_steps.push_back(
        {start_ns, end_ns, 0, 0, step, static_cast<int64_t>(members.size()), waiting, 0, 0});
    for (const Member& m : members) {
      maker_.trace().step_requests.push_back(
          {start_ns, 0, step, NumberOf(m.request), m.tokens, m.cached, m.tokens_out, m.is_prefill});
    }
  }

  const Trace& Finish() {
    for (size_t i = 0; i < names_.size(); ++i) {
      maker_.trace().request_events.push_back(
          {0, 0, 0, static_cast<uint32_t>(i), 0, maker_.Name(names_[i]), Kind::kNamed});
    }
    std::ranges::stable_sort(maker_.trace().request_events, {}, &RequestEvent::time_ns);
    return trace_ = maker_.Finish();
  }

 private:
  uint32_t NumberOf(const std::string& request) {
    const auto found = std::ranges::find(names_, request);
    if (found != names_.end()) return static_cast<uint32_t>(found - names_.begin());
    names_.push_back(request);
    return static_cast<uint32_t>(names_.size()) - 1;
  }

  TraceMaker maker_;
  std::vector<std::string> names_;
  Trace trace_;
};

const Latency& TokenOf(const Serving& serving, const std::string& request, uint32_t token) {
  static const Latency kNothing;
  for (const auto* list : {&serving.latencies.first_tokens(), &serving.latencies.next_tokens()}) {
    for (const Latency& latency : *list) {
      if (serving.served.requests()[latency.request].name == request && latency.token == token) return latency;
    }
  }
  ADD_FAILURE() << "no token " << token << " of " << request;
  return kNothing;
}

// One request is decoded; another one arrives, waits for the step that runs, and is computed beside the first.
class TwoRequests : public testing::Test {
 protected:
  TwoRequests() {
    engine_.Tell("a", 0, Kind::kArrived, 100);
    engine_.Step(10, 100, 20, 90, {{"a", 100, 1, true}});
    engine_.Tell("a", 105, Kind::kTokensOut, 1);
    engine_.Tell("b", 130, Kind::kArrived, 500);
    engine_.Step(120, 160, 125, 155, {{"a"}}, 1);
    engine_.Tell("a", 165, Kind::kTokensOut, 1);
    engine_.Step(170, 300, 180, 290, {{"a"}, {"b", 500, 1, true}});
    engine_.Tell("a", 305, Kind::kTokensOut, 1);
    engine_.Tell("b", 310, Kind::kTokensOut, 1);
    engine_.Tell("a", 311, Kind::kFinished);
  }
  Engine engine_;
};

TEST_F(TwoRequests, TheFirstTokenIsQueueAndPrefillAndWhatTheHostTook) {
  const Serving serving{AnalysisInput(engine_.Finish())};
  const Latency& a = TokenOf(serving, "a", 0);
  EXPECT_EQ(a.time.DurationNs(), 105);
  EXPECT_EQ(a.split[LatencyPart::kQueue], 10);
  EXPECT_EQ(a.split[LatencyPart::kPrefill], 70);
  EXPECT_EQ(a.split[LatencyPart::kHost], 20);
  EXPECT_EQ(a.split[LatencyPart::kOutput], 5);
  const Latency& b = TokenOf(serving, "b", 0);
  EXPECT_EQ(b.split[LatencyPart::kQueue], 40) << "also while a step of others runs";
  EXPECT_EQ(b.split[LatencyPart::kPrefill], 110) << "the whole of the step that it shares";
  EXPECT_EQ(b.split[LatencyPart::kHost], 20);
  EXPECT_EQ(b.split[LatencyPart::kOutput], 10);
}

TEST_F(TwoRequests, ADecodeBesideAPromptIsNoDecodeOfItsOwn) {
  const Serving serving{AnalysisInput(engine_.Finish())};
  const Latency& second = TokenOf(serving, "a", 1);
  EXPECT_EQ(second.split[LatencyPart::kDecode], 30);
  EXPECT_EQ(second.split[LatencyPart::kHost], 25) << "between the steps, and in the second one";
  EXPECT_EQ(second.split[LatencyPart::kOutput], 5);
  const Latency& third = TokenOf(serving, "a", 2);
  EXPECT_EQ(third.split[LatencyPart::kMixed], 110);
  EXPECT_EQ(third.split[LatencyPart::kDecode], 0);
  EXPECT_EQ(third.split.Sum(), 140);
}

TEST_F(TwoRequests, AreTables) {
  const AnalysisResult result = RunRequests(engine_.Finish(), kAllRows);
  EXPECT_EQ(MetricOf(result, "requests.count"), 2);
  EXPECT_EQ(MetricOf(result, "requests.output_tokens"), 4);
  const Table& slowest = TableOf(result, "requests_slowest");
  EXPECT_EQ(TextOf(slowest, 0, "request"), "b");
  EXPECT_EQ(IntOf(slowest, 0, "latency_ns"), 180);
  EXPECT_EQ(IntOf(slowest, 0, "queue_ns"), 40);
  const Table& steps = TableOf(result, "engine_steps");
  ASSERT_EQ(steps.rows.size(), 3u);
  EXPECT_EQ(TextOf(steps, 2, "kind"), "mixed");
}

TEST_F(TwoRequests, OneOfThemTokenByToken) {
  const AnalysisResult one = ExplainRequest(engine_.Finish(), "a", 0);
  EXPECT_EQ(TableOf(one, "request_tokens").rows.size(), 3u);
  const Table& steps = TableOf(one, "request_steps");
  ASSERT_EQ(steps.rows.size(), 3u);
  EXPECT_EQ(IntOf(steps, 2, "others_prefill_tokens"), 500);
  EXPECT_NEAR(RealOf(steps, 2, "share_percent"), 100.0 / 501, 1e-9);
  EXPECT_TRUE(ExplainRequest(engine_.Finish(), "c", 0).tables.empty());
}

TEST(Requests, StepsWithoutARequestAreNotItsOwn) {
  Engine engine;
  engine.Tell("a", 0, Kind::kArrived, 10);
  engine.Step(0, 50, 5, 45, {{"a", 10, 1, true}});
  engine.Tell("a", 55, Kind::kPreempted);
  engine.Step(60, 160, 70, 150, {{"b"}});
  engine.Step(170, 220, 180, 210, {{"a"}});
  const Serving serving{AnalysisInput(engine.Finish())};
  const Latency& token = TokenOf(serving, "a", 1);
  EXPECT_EQ(token.split[LatencyPart::kNotScheduled], 100);
  EXPECT_EQ(token.split[LatencyPart::kDecode], 30);
  EXPECT_EQ(token.split[LatencyPart::kHost], 40);
  EXPECT_EQ(token.split.Sum(), 170);
}

// The host begins a step while the GPU is still at the one before it.
TEST(Requests, ANanosecondOfStepsThatOverlapBelongsToOneOfThem) {
  Engine engine;
  engine.Tell("a", 0, Kind::kArrived, 10);
  engine.Step(0, 100, 10, 90, {{"a", 10, 1, true}});
  engine.Step(60, 180, 95, 170, {{"a"}});
  const Trace& trace = engine.Finish();
  const ServedRequests served(trace);
  const EngineTime time{AnalysisInput(trace), served};
  EXPECT_EQ(time.Of(0).kernel_ns, 80);
  EXPECT_EQ(time.Of(1).kernel_ns, 75);
  EXPECT_EQ(time.Of(0).Sum() + time.Of(1).Sum(), 180);
  EXPECT_EQ(time.Of(1, {0, 92}).host_ns, 2) << "from the end of the first kernel";
}

// The ranks of a model that is split over GPUs tell of the same requests, with numbers of their own.
TEST(Requests, StepsOfOneOfSeveralWorkersCount) {
  Engine engine;
  engine.Tell("a", 0, Kind::kArrived, 10);
  engine.Step(0, 50, 5, 45, {{"a", 10, 1, true}});
  engine.Step(60, 90, 65, 85, {{"a"}});
  TraceMaker& maker = engine.maker();
  const uint32_t worker = maker.AddProcess(8);
  maker.trace().engine_steps.push_back({2, 48, worker, kNone, 1, 1, 0, 0, 0});
  maker.trace().step_requests.push_back({2, worker, 1, 77, 10, 0, 1, true});
  maker.trace().request_events.push_back({1, worker, kNone, 77, 0, maker.Name("a"), Kind::kNamed});
  const ServedRequests served(engine.Finish());
  ASSERT_EQ(served.requests().size(), 1u);
  EXPECT_EQ(served.steps().size(), 2u);
  EXPECT_EQ(served.requests()[0].tokens.size(), 2u);
}

TEST(Requests, OfABeginThatWasNotRecordedNothingIsSaid) {
  Engine engine;
  engine.Step(0, 50, 5, 45, {{"a"}});
  engine.Step(60, 90, 65, 85, {{"a"}});
  const AnalysisResult result = RunRequests(engine.Finish(), kAllRows);
  EXPECT_FALSE(HasMetric(result, "requests.first_token_p50_ns"));
  EXPECT_EQ(MetricOf(result, "requests.next_token_p50_ns"), 40);
}

// Captures of vLLM by other tools.
TEST(Requests, StepsAreKnownByTheirRangesWhereNobodyToldOfThem) {
  TraceMaker maker;
  maker.AddRange(0, 100, "execute_context_1(512)_generation_7(7)");
  maker.AddRange(200, 260, "execute_context_0(0)_generation_8(8)");
  maker.AddRange(300, 310, "execute_context_0");
  maker.Launch(1, 2, 10, 90);
  maker.Launch(201, 202, 210, 250);
  const AnalysisResult result = RunRequests(maker.Finish(), kAllRows);
  EXPECT_FALSE(HasMetric(result, "requests.count"));
  const Table& steps = TableOf(result, "engine_steps");
  ASSERT_EQ(steps.rows.size(), 2u);
  EXPECT_EQ(TextOf(steps, 0, "kind"), "decode");
  EXPECT_EQ(IntOf(steps, 0, "tokens_in"), 8);
  EXPECT_EQ(RealOf(steps, 0, "mean_kernel_ns"), 40);
  EXPECT_EQ(TextOf(steps, 1, "kind"), "mixed");
  EXPECT_EQ(IntOf(steps, 1, "tokens_in"), 519);
}

// "a" has 60 of 100 tokens from the cache and computes 30 of them again, 10 with the prompt of "b" beside them. Of "c",
// which came before the recording, nobody knows what was computed.
TEST(Requests, TokensOfPromptsAreCachedOrComputedOrComputedAgain) {
  Engine engine;
  engine.Tell("a", 0, Kind::kArrived, 100);
  engine.Tell("b", 1, Kind::kArrived, 30);
  engine.Step(10, 20, 11, 19, {{"c", 50, 0, true, 400}});
  engine.Step(30, 40, 31, 39, {{"a", 40, 1, true, 60}});
  engine.Step(50, 60, 51, 59, {{"a", 3, 1, false, 100}});
  engine.Step(70, 80, 71, 79, {{"a", 20, 0, true, 71}});
  engine.Step(90, 110, 91, 109, {{"a", 15, 1, true, 91}, {"b", 30, 1, true}});
  const Trace& trace = engine.Finish();
  const Serving serving{AnalysisInput(trace)};
  const PromptCache& prompts = serving.prompts;
  EXPECT_EQ(prompts.cached.tokens, 60);
  EXPECT_EQ(prompts.cached.requests, 1);
  EXPECT_EQ(prompts.computed.tokens, 40 + 30 + 5) << "and what came behind the drafts that were not accepted";
  EXPECT_EQ(prompts.computed.steps, 2);
  EXPECT_EQ(prompts.again.tokens, 30);
  EXPECT_EQ(prompts.again.requests, 1);
  EXPECT_EQ(prompts.again.kernel_ns, 8 + 18);
  EXPECT_DOUBLE_EQ(prompts.again.share_ns, 8 + 18 * 10 / 45.0);
  const AnalysisResult result = RunRequests(trace, kAllRows);
  EXPECT_NEAR(MetricOf(result, "requests.prefix_hit_percent"), 100 * 60 / 135.0, 1e-9);
  const Table& table = TableOf(result, "prompt_tokens");
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(IntOf(table, 2, "tokens"), 30);
  EXPECT_EQ(IntOf(TableOf(result, "requests_slowest"), 0, "cached_tokens") +
                IntOf(TableOf(result, "requests_slowest"), 1, "cached_tokens"),
            60);
  const auto again = std::ranges::find(result.findings, "requests.computed_again", &Finding::id);
  ASSERT_NE(again, result.findings.end()) << "no preemption was told";
  EXPECT_EQ(again->evidence.front(),
            "To keep them would save at most the 26 ns of kernels in their 2 steps, by their share of tokens 12 ns (an "
            "estimate).");
  engine.Tell("a", 65, Kind::kPreempted);
  const AnalysisResult preempted = RunRequests(engine.Finish(), kAllRows);
  EXPECT_EQ(std::ranges::find(preempted.findings, "requests.computed_again", &Finding::id), preempted.findings.end());
  const auto finding = std::ranges::find(preempted.findings, "requests.preempted", &Finding::id);
  ASSERT_NE(finding, preempted.findings.end());
  EXPECT_EQ(finding->message, "1 request was preempted, 1 time in all: 30 tokens computed again");
}

// Spans of an engine that told of nothing.
TEST(Requests, SpansBecomeRequestsInTheStepsOfTheirTime) {
  TraceMaker maker;
  maker.AddRange(0, 10, "load");
  maker.AddRange(100, 200, "execute_context_1(512)_generation_1(1)");
  maker.AddRange(300, 360, "execute_context_0(0)_generation_2(2)");
  maker.AddRange(400, 500, "execute_context_1(9)_generation_2(2)");
  maker.Launch(101, 102, 110, 190);
  maker.Launch(301, 302, 310, 350);
  maker.Launch(401, 402, 410, 490);
  trace::ClockRecord clock;
  clock.monotonic_ns = 1, clock.realtime_ns = 1'000'001;
  maker.trace().clocks.push_back({0, clock});
  Trace trace = maker.Finish();
  ASSERT_TRUE(CanAddRequests(trace));
  std::vector<RequestSpan> spans(4);
  spans[0] = {"a", 1'000'050, 160, 400, 30, 512, 7};
  spans[1] = {"long after", 2'000'000, 160, 400, 30, 512, 7};
  spans[2] = {"no queue", 1'000'050, 160, 400, {}, 512, 7};
  spans[3] = {"between steps", 1'000'205, 20, 30, 10, 512, 7};
  const SpanRequests counts = AddRequestsOfSpans(spans, &trace);
  EXPECT_EQ(counts.added, 1u);
  EXPECT_EQ(counts.elsewhen, 1u);
  EXPECT_EQ(counts.incomplete, 1u);
  EXPECT_EQ(counts.without_step, 1u);
  const Serving serving{AnalysisInput(trace)};
  ASSERT_EQ(serving.served.requests().size(), 1u);
  const ServedRequest& a = serving.served.requests()[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.OutputTokens(), 7);
  EXPECT_EQ(a.LastTokenNs(), 450);
  ASSERT_EQ(a.steps.size(), 3u);
  EXPECT_TRUE(a.steps[0].is_prefill);
  EXPECT_FALSE(a.steps[1].is_prefill);
  EXPECT_FALSE(a.steps[2].is_prefill) << "its prompt was known by then";
  const Latency& first = TokenOf(serving, "a", 0);
  EXPECT_EQ(first.time.DurationNs(), 160);
  EXPECT_EQ(first.split[LatencyPart::kQueue], 50);
  EXPECT_EQ(first.split[LatencyPart::kPrefill], 80);
  EXPECT_EQ(first.split[LatencyPart::kHost], 20);
  EXPECT_EQ(first.split[LatencyPart::kOutput], 10);
  EXPECT_TRUE(serving.latencies.next_tokens().empty()) << "nobody said when the others came";
}

TEST(Requests, ASpanIsARequestsByItsNameOrTheOneThatAClientKnows) {
  Engine engine;
  const char* const names[] = {"a", "cmpl-1-0123abcd", "twice-0123abcd", "twice-0123abce", "of-two-spans"};
  for (const char* name : names) engine.Tell(name, 5, Kind::kArrived, 1);
  const ServedRequests served(engine.Finish());
  const auto place = [&](const char* name) {
    return static_cast<uint32_t>(std::ranges::find(served.requests(), name, &ServedRequest::name) -
                                 served.requests().begin());
  };
  std::vector<RequestSpan> spans;
  for (const char* name : {"a", "cmpl-1", "twice", "of-two-spans", "of-two-spans", "cmpl", ""}) {
    spans.emplace_back();
    spans.back().request = name;
  }
  EXPECT_EQ(RequestsOfSpans(spans, served),
            (std::vector<uint32_t>{place("a"), place("cmpl-1-0123abcd"), kNone, kNone, kNone, kNone, kNone}));
}

TEST(Requests, WithoutAnEngineThereIsNothing) {
  TraceMaker maker;
  maker.Launch(0, 1, 2, 3);
  const AnalysisResult result = RunRequests(maker.Finish(), kAllRows);
  EXPECT_TRUE(result.tables.empty());
  EXPECT_TRUE(result.metrics.empty());
}

// ---- an engine that serves many requests, and what is planted in it ----

struct Planted {
  uint32_t long_prefill = 0;     // tokens of one prompt in the middle
  bool has_slow_output = false;  // of every 40th step
  bool has_stalls = false;       // of the scheduler, before every 40th step
  bool has_preemption = false;
  bool has_hog = false;                               // other work beside every 40th step, which takes longer
  bool has_slow_kernels = false, has_copies = false;  // in every 40th step
};

// Batches of 8 requests whose steps take 1 ms, and 1 us more for each token of a prompt.
const Trace& Serve(Engine* engine, const Planted& planted) {
  std::mt19937 random(7);
  int64_t now_ns = kMs;
  std::vector<std::pair<std::string, int64_t>> running;  // and tokens that they still want
  int64_t next = 0;
  for (int64_t step = 1; step <= 400; ++step) {
    std::vector<Member> members;
    const bool is_special = step % 40 == 0;
    const bool is_away = planted.has_preemption && step % 40 < 3 && step > 40;
    for (size_t i = 0; i < running.size(); ++i) {
      if (is_away && i == 0) continue;
      members.push_back({running[i].first});
    }
    uint32_t prompt = 0;
    const bool is_long = planted.long_prefill > 0 && step % 50 == 0;
    if (running.size() < 8 || is_long) {
      const std::string name = "r" + std::to_string(next++);
      prompt = is_long ? planted.long_prefill : 20;
      engine->Tell(name, now_ns - 100 * kUs, Kind::kArrived, prompt);
      members.push_back({name, prompt, 1, true});
      running.emplace_back(name, 60 + random() % 20);
    }
    if (is_away && !running.empty() && step % 40 == 0) engine->Tell(running[0].first, now_ns, Kind::kPreempted);
    if (planted.has_stalls && is_special) now_ns += 10 * kMs;
    const bool is_hogged = planted.has_hog && is_special, is_slow = planted.has_slow_kernels && is_special;
    const bool has_copy = planted.has_copies && is_special;
    const int64_t copy_ns = has_copy ? 6 * kMs : 0;
    const int64_t kernel_ns =
        (is_hogged || is_slow ? 5 : 1) * kMs + prompt * kUs + static_cast<int64_t>(random() % 20) * kUs;
    const int64_t start_ns = now_ns, end_ns = start_ns + 200 * kUs + kernel_ns + copy_ns;
    engine->Step(start_ns, end_ns, start_ns + 100 * kUs, start_ns + 100 * kUs + kernel_ns, members);
    if (is_hogged) engine->maker().AddKernel(start_ns + 100 * kUs, start_ns + 100 * kUs + kernel_ns, kNone, "hog");
    if (has_copy) {
      const uint32_t call = engine->maker().AddCall(start_ns + 10, start_ns + 20, "cudaMemcpyAsync");
      engine->maker().AddPageable(start_ns + 110 * kUs + kernel_ns, start_ns + 110 * kUs + kernel_ns + copy_ns, 1,
                                  call);
    }
    now_ns = end_ns + 20 * kUs;
    if (planted.has_slow_output && is_special) now_ns += 8 * kMs;
    for (const Member& member : members) engine->Tell(member.request, now_ns, Kind::kTokensOut, 1);
    for (auto& [name, left] : running) {
      if (--left == 0) engine->Tell(name, now_ns, Kind::kFinished);
    }
    std::erase_if(running, [](const auto& r) { return r.second == 0; });
  }
  return engine->Finish();
}

TEST(Requests, PartsAddUpToEachLatency) {
  Engine engine;
  const Serving serving{AnalysisInput(Serve(&engine, {3000, true, true, true, true}))};
  ASSERT_GT(serving.latencies.next_tokens().size(), 2000u);
  for (const auto* list : {&serving.latencies.first_tokens(), &serving.latencies.next_tokens()}) {
    for (const Latency& latency : *list) {
      ASSERT_EQ(latency.split.Sum(), latency.time.DurationNs());
      for (const int64_t ns : latency.split.ns) ASSERT_GE(ns, 0);
    }
  }
}

// The reason of most late tokens, and that nothing else is one.
std::string ReasonOf(const Planted& planted) {
  Engine engine;
  const Serving serving{AnalysisInput(Serve(&engine, planted))};
  return serving.late.groups.empty() ? "" : ReasonText(serving.late.groups.front());
}

TEST(Requests, LateTokensHaveTheReasonThatWasPlanted) {
  EXPECT_EQ(ReasonOf({.long_prefill = 4000}), "prefill of others in the same step (4,000 tokens or more)");
  EXPECT_EQ(ReasonOf({.has_slow_output = true}), "output");
  EXPECT_EQ(ReasonOf({.has_stalls = true}), "host code");
  EXPECT_EQ(ReasonOf({.has_preemption = true}), "preemption");
  EXPECT_EQ(ReasonOf({.has_hog = true}), "other work on the GPU");
}

TEST(Requests, FindingsSayWhatToDo) {
  const auto has = [](const Planted& planted, const char* id) {
    Engine engine;
    return FindingOf(RunRequests(Serve(&engine, planted), kAllRows), id) != nullptr;
  };
  EXPECT_TRUE(has({.has_slow_output = true}, "requests.output"));
  EXPECT_TRUE(has({.has_stalls = true}, "requests.host"));
  EXPECT_TRUE(has({.has_preemption = true}, "requests.not_scheduled"));
  EXPECT_TRUE(has({.has_preemption = true}, "requests.preempted"));
  EXPECT_TRUE(has({.has_hog = true}, "requests.other_work"));
  EXPECT_FALSE(has({.has_hog = true}, "requests.slow_kernels"));
  EXPECT_TRUE(has({.has_slow_kernels = true}, "requests.slow_kernels"));
  EXPECT_TRUE(has({.has_copies = true}, "requests.copies"));
}

TEST(Requests, TheQueueSaysWhatWasFull) {
  Engine engine;
  for (int64_t i = 0; i < 20; ++i) {
    const std::string name = "r" + std::to_string(i);
    engine.Tell(name, 0, Kind::kArrived, 10);
    engine.Step(i * kMs, (i + 1) * kMs, i * kMs + 10, (i + 1) * kMs - 10, {{name, 10, 1, true}}, 19 - i);
  }
  for (EngineStep& step : engine.maker().trace().engine_steps) step.cache_used = 97, step.cache_blocks = 100;
  const AnalysisResult result = RunRequests(engine.Finish(), kAllRows);
  EXPECT_NE(
      WordsOf(FindingOf(result, "requests.queue")).find("The KV cache was full (95% or more) in 19 of the 19 steps"),
      std::string::npos)
      << WordsOf(FindingOf(result, "requests.queue"));
}

TEST(Requests, AGpuWithoutWorkIsNamed) {
  Engine engine;
  for (int64_t i = 0; i < 10; ++i) engine.Step(i * kMs, (i + 1) * kMs, i * kMs + 10, i * kMs + 200 * kUs, {{"a"}});
  const AnalysisResult result = RunRequests(engine.Finish(), kAllRows);
  EXPECT_NE(WordsOf(FindingOf(result, "requests.gpu_idle"))
                .find("for 80.0% of the time between tokens (800.01 us of 1.00 ms)"),
            std::string::npos)
      << WordsOf(FindingOf(result, "requests.gpu_idle"));
}

// Batches of 3 launch a graph, batches of 5 kernel by kernel.
TEST(Requests, DecodeWithoutAGraphIsToldFromDecodeWithOne) {
  Engine engine;
  int64_t now_ns = 0;
  for (int64_t step = 0; step < 40; ++step) {
    const bool has_graph = step % 2 == 0;
    std::vector<Member> members;
    for (int64_t i = 0; i < (has_graph ? 3 : 5); ++i) members.push_back({"r" + std::to_string(i)});
    const int64_t end_ns = now_ns + (has_graph ? 1 : 3) * kMs;
    engine.Step(now_ns, end_ns, 0, 0, members);
    for (int64_t at_ns = now_ns; at_ns + 100 * kUs < end_ns && !has_graph; at_ns += 100 * kUs)
      engine.maker().Launch(at_ns, at_ns + 5 * kUs, at_ns + 6 * kUs, at_ns + 10 * kUs);
    if (has_graph) {
      const uint32_t call = engine.maker().AddCall(now_ns + 1, now_ns + 2, "cudaGraphLaunch");
      engine.maker().AddKernel(now_ns + 10, end_ns - 10, call);
    }
    now_ns = end_ns;
  }
  const AnalysisResult result = RunRequests(engine.Finish(), kAllRows);
  const std::string words = WordsOf(FindingOf(result, "requests.no_graph"));
  EXPECT_NE(words.find("20 decode steps launched 29 kernels one by one"), std::string::npos) << words;
  EXPECT_NE(words.find("Batches of 5 requests: 3.00 ms a step"), std::string::npos) << words;
  EXPECT_NE(words.find("Batches of 3 requests launch a CUDA graph: 1.00 ms a step"), std::string::npos) << words;
}

TEST(Requests, NothingIsLateWhereNothingWasPlanted) {
  Engine engine;
  const AnalysisResult result = RunRequests(Serve(&engine, {}), kAllRows);
  EXPECT_EQ(MetricOf(result, "requests.late_tokens"), 0);
  EXPECT_EQ(FindingOf(result, "requests.prefill"), nullptr);
}

TEST(Requests, AFindingSaysWhatASmallerChunkWouldBound) {
  Engine engine;
  const AnalysisResult result = RunRequests(Serve(&engine, {.long_prefill = 4000}), kAllRows);
  const Finding* const finding = FindingOf(result, "requests.prefill");
  EXPECT_NE(WordsOf(finding).find("chunks of 1,000 in place of 4,000 would bound it at about 2.2"), std::string::npos)
      << WordsOf(finding);
}

}  // namespace
}  // namespace gprof::test
