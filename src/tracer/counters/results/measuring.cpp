#include "tracer/counters/results/measuring.h"

#include <cstring>

#include "gprof/trace/counter_request.h"
#include "tracer/counters/request/kernel_name.h"
#include "tracer/store/memory/shared_pages.h"

namespace gprof::tracer {
namespace {

// Null where there is none.
trace::counter_request::MeasuringPage* ThePage() {
  static trace::counter_request::MeasuringPage* page = nullptr;
  static bool is_tried = false;
  if (!is_tried)
    page = static_cast<trace::counter_request::MeasuringPage*>(
        MapSharedPage(trace::counter_request::kMeasuringFile, sizeof *page));
  is_tried = true;
  return page;
}

}  // namespace

void TellMeasuring(const char* symbol, uint32_t passes) {
  trace::counter_request::MeasuringPage* page = ThePage();
  if (page == nullptr) return;
  const NamePart name = FunctionNameOf(symbol);
  constexpr std::size_t kRoom = sizeof page->kernel - 1;
  const std::size_t size = name.size < kRoom ? name.size : kRoom;
  std::memcpy(page->kernel, name.at, size);
  std::memset(page->kernel + size, 0, sizeof page->kernel - size);
  page->passes.store(passes, std::memory_order_relaxed);
}

void CountMeasured() {
  if (trace::counter_request::MeasuringPage* page = ThePage(); page != nullptr)
    page->launches.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace gprof::tracer
