// A serving engine that knows its truth and tells of it by the header for engines of one's own, as two engine threads
// with requests of their own would. Each thing that it tells is a fact, a line of JSON.
//
// usage: serving_nvtx [bench]: how long a step with 256 requests takes to tell, in nanoseconds
#include <gprof_cli/serving_nvtx.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using gprof_cli::RequestEvent;

constexpr uint32_t kPrompt = 900, kChunk = 512, kTokens = 4, kAtOnce = 70;

struct Request {
  uint32_t number, computed, tokens;
};

void Tell(uint32_t request, RequestEvent event, uint32_t tokens, uint64_t ago_ns = 0) {
  gprof_cli::TellRequest(request, event, tokens, ago_ns);
  std::printf("{\"fact\":\"event\",\"request\":%u,\"event\":%u,\"tokens\":%u,\"ago_ns\":%llu}\n", request,
              static_cast<unsigned>(event), tokens, static_cast<unsigned long long>(ago_ns));
}

void Admit(uint32_t number, std::vector<Request>* running) {
  const std::string name = "cmpl-" + std::to_string(number);
  gprof_cli::NameRequest(number, name.c_str());
  Tell(number, RequestEvent::kArrived, kPrompt, number % 7 == 0 ? 5'000'000'000 : 0);
  running->push_back({number, 0, 0});
}

// A step of all that run: prompts in chunks first, then a token each.
std::string RunStep(uint32_t step_number, std::vector<Request>* running) {
  std::string members;
  gprof_cli::EngineStep step(step_number % 5, 10 + step_number, 1000);
  for (Request& request : *running) {
    const bool is_prefill = request.computed < kPrompt;
    const uint32_t tokens = !is_prefill ? 1 : kPrompt - request.computed < kChunk ? kPrompt - request.computed : kChunk;
    const uint32_t found = request.computed + tokens >= kPrompt ? 1 : 0;
    step.Add(request.number, tokens, request.computed, found, is_prefill);
    members += (members.empty() ? "[" : ",[") + std::to_string(request.number) + "," + std::to_string(tokens) + "," +
               std::to_string(request.computed) + "," + std::to_string(found) + "," + (is_prefill ? "1" : "0") + "]";
    request.computed += tokens;
    request.tokens += found;
  }
  return members;
}

void Serve(uint32_t first_number) {
  std::vector<Request> running;
  for (uint32_t i = 0; i < kAtOnce; ++i) Admit(first_number + i, &running);
  for (uint32_t step = 0; !running.empty(); ++step) {
    std::vector<uint32_t> before;
    for (const Request& request : running) before.push_back(request.tokens);
    const std::string members = RunStep(step, &running);
    std::printf("{\"fact\":\"step\",\"waiting\":%u,\"cache_used\":%u,\"members\":[%s]}\n", step % 5, 10 + step,
                members.c_str());
    std::vector<Request> left;
    for (size_t i = 0; i < running.size(); ++i) {
      const Request& request = running[i];
      if (request.tokens > before[i]) Tell(request.number, RequestEvent::kTokensOut, 1);
      if (request.tokens < kTokens) left.push_back(request);
      if (request.tokens >= kTokens) Tell(request.number, RequestEvent::kFinished, 0);
    }
    if (step == 2) Tell(left.front().number, RequestEvent::kPreempted, 0);
    running = left;
  }
}

void Bench() {
  constexpr uint32_t kSteps = 2000, kRequests = 256;
  const auto begin = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < kSteps; ++i) {
    gprof_cli::EngineStep step(3, i, 1000);
    for (uint32_t request = 0; request < kRequests; ++request) step.Add(request, 1, i, 1);
  }
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
  std::printf("%lld ns a step of %u requests\n", static_cast<long long>(took.count() / kSteps), kRequests);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "bench") == 0) {
    Bench();
    return 0;
  }
  Serve(1);
  std::thread([] { Serve(1000); }).join();
}
