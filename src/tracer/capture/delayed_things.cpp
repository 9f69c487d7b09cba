#include "tracer/capture/delayed_things.h"

#include <stdlib.h>

#include <atomic>
#include <cstring>

#include "gprof/trace/env.h"
#include "tracer/core/notice.h"
#include "tracer/system/proc_file.h"
#include "tracer/system/settings.h"

namespace gprof::tracer {
namespace {

namespace request = trace::delay_request;

struct ReadPlan {
  DelayPlan plan;
  char text[request::kMostBytes];  // names point into it
};
ReadPlan plans[2];
uint32_t plans_read = 0;
constinit std::atomic<const DelayPlan*> current{nullptr};
bool was_read = false;

struct Word {
  const char* text;
  Delayed what;
};
constexpr Word kWords[] = {{request::kLaunches, Delayed::kLaunches}, {request::kSync, Delayed::kSync},
                           {request::kCopies, Delayed::kCopies},     {request::kApi, Delayed::kApi},
                           {request::kRange, Delayed::kRange},       {request::kKernel, Delayed::kKernel},
                           {request::kLine, Delayed::kLine}};

// What follows the word on the line; null where the line begins with another one.
char* ValueOf(char* line, const char* word) {
  const std::size_t n = std::strlen(word);
  return std::strncmp(line, word, n) == 0 && line[n] == ' ' ? line + n + 1 : nullptr;
}

// Numbers with commas between, up to a space, behind which `at` then is.
template <class Number>
uint32_t ReadNumbers(char** at, Number* numbers, std::size_t most) {
  uint32_t count = 0;
  while (**at != 0 && **at != ' ') {
    const uint64_t value = strtoull(*at, at, 10);
    if (count < most) numbers[count++] = static_cast<Number>(value);
    if (**at != ',') break;
    ++*at;
  }
  if (**at == ' ') ++*at;
  return count;
}

void ReadThing(Delayed what, char* at, DelayPlan* plan) {
  if (plan->count == request::kMostThings) return;
  DelayedThing& thing = plan->things[plan->count];
  thing.what = what;
  thing.delays = ReadNumbers(&at, thing.delays_ns, request::kMostDelays);
  if (what == Delayed::kKernel || what == Delayed::kLine)
    thing.symbol_count = ReadNumbers(&at, thing.symbols, request::kMostSymbols);
  thing.name = at;
  const char* const colon = std::strchr(at, ':');
  thing.pattern = colon == nullptr ? "" : colon + 1;
  if (thing.delays > 0) ++plan->count;
}

void ReadLine(char* line, DelayPlan* plan) {
  if (const char* value = ValueOf(line, request::kSeed); value != nullptr) plan->seed = strtoull(value, nullptr, 10);
  if (const char* value = ValueOf(line, request::kWindow); value != nullptr)
    plan->window_ns = strtoull(value, nullptr, 10);
  for (const Word& word : kWords) {
    if (char* value = ValueOf(line, word.text); value != nullptr) ReadThing(word.what, value, plan);
  }
}

}  // namespace

bool DelayPlan::Has(Delayed what) const {
  for (uint32_t i = 0; i < count; ++i) {
    if (things[i].what == what) return true;
  }
  return false;
}

uint32_t DelayPlan::Steps() const {
  uint32_t steps = 0;
  for (uint32_t i = 0; i < count; ++i) steps += things[i].delays;
  return steps;
}

const DelayPlan* ReadDelayPlan() {
  if (!was_read) ReadNextDelayPlan();
  return TheDelayPlan();
}

const DelayPlan* ReadNextDelayPlan() {
  was_read = true;
  current.store(nullptr, std::memory_order_relaxed);
  const char* const path = Setting(trace::env::kDelays);
  if (path == nullptr) return nullptr;
  ReadPlan& next = plans[plans_read++ % 2];
  next.plan = DelayPlan{};
  if (ReadProcFile(path, next.text, sizeof next.text) <= 0) {
    if (IsAttached()) return nullptr;  // this capture is without delays
    Message message;
    message << "nothing is delayed: cannot read '" << path << "'";
    Say(trace::NoticeLevel::kWarning, message);
    return nullptr;
  }
  for (char* line = next.text; line != nullptr;) {
    char* const end = std::strchr(line, '\n');
    if (end != nullptr) *end = 0;
    ReadLine(line, &next.plan);
    line = end == nullptr ? nullptr : end + 1;
  }
  if (next.plan.count > 0) current.store(&next.plan, std::memory_order_release);
  return TheDelayPlan();
}

const DelayPlan* TheDelayPlan() { return current.load(std::memory_order_acquire); }

bool MayDelay() { return Setting(trace::env::kDelays) != nullptr; }

bool MatchesPattern(const char* pattern, const char* text, uint64_t size) {
  const std::size_t n = std::strlen(pattern);
  const bool is_open = n > 0 && pattern[n - 1] == '*';
  const std::size_t compared = is_open ? n - 1 : n;
  return (is_open ? size >= compared : size == compared) && std::memcmp(pattern, text, compared) == 0;
}

}  // namespace gprof::tracer
