// A page for each kernel with counters, as text.
#pragma once

#include <span>
#include <string>

#include "analysis/topics/counters/counter_pages.h"
#include "base/terminal.h"

namespace gprof::cli {

std::string RenderCounterPages(std::span<const CounterPage> pages, const Terminal& terminal);

}  // namespace gprof::cli
