#include "tracer/counters/launches/hang_watch.h"

#include <atomic>
#include <cstring>

#include "tracer/core/notice.h"
#include "tracer/counters/request/kernel_name.h"
#include "tracer/counters/request/wanted_counters.h"
#include "tracer/store/interned_names.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constinit std::atomic<uint64_t> measured_since_ns{0};
constinit std::atomic<uint32_t> measured_name{0};

}  // namespace

void WatchLaunch(const char* symbol, uint64_t now_ns) {
  measured_name.store(Names().Intern(symbol).value, std::memory_order_relaxed);
  measured_since_ns.store(now_ns, std::memory_order_release);
}

void UnwatchLaunch() { measured_since_ns.store(0, std::memory_order_release); }

bool IsLaunchWatched() { return measured_since_ns.load(std::memory_order_relaxed) != 0; }

void SayIfLong() {
  static uint64_t said_ns = 0;
  const uint64_t since = measured_since_ns.load(std::memory_order_acquire);
  const uint64_t limit = TheCounterRequest()->hang_limit_ns;
  if (since == 0 || since == said_ns || limit == 0 || MonotonicNs() - since < limit) return;
  said_ns = since;
  const trace::Text name = Names().TextOf({measured_name.load(std::memory_order_relaxed)});
  char text[kMaxNameBytes + 1] = {};
  std::memcpy(text, name.data, name.size < sizeof text ? name.size : sizeof text - 1);
  const NamePart function = FunctionNameOf(text);
  text[function.at - text + static_cast<std::ptrdiff_t>(function.size)] = 0;
  Message message;
  message << "measuring one launch of " << function.at << " has taken " << limit / 1'000'000'000
          << " s so far. Nothing else runs on the GPU during a measurement, so a kernel that waits for a later launch, "
             "another GPU or the host never finishes. If this is such a kernel, stop the program and use --replay-mode "
             "range, which lets kernels run concurrently, or exclude it with -k. If it is just slow, set a higher "
             "--hang-limit";
  Say(trace::NoticeLevel::kWarning, message);
}

}  // namespace gprof::tracer
