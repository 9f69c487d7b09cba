#include "analysis/kernels/shared_use.h"

#include <algorithm>

#include "analysis/facts/operations.h"

namespace gprof {
namespace {

struct Running {
  int64_t end_ns;
  uint32_t use;
};

bool EndsLater(const Running& a, const Running& b) { return a.end_ns > b.end_ns; }

void AddTime(const std::vector<Running>& running, int64_t ns, std::vector<SharedUse>* uses) {
  double used = 0;
  for (const Running& one : running) used += (*uses)[one.use].share;
  if (used >= 1) return;
  const double unused_ns = static_cast<double>(ns) * (1 - used) / static_cast<double>(running.size());
  for (const Running& one : running) {
    SharedUse& use = (*uses)[one.use];
    if (used < use.small) use.unused_ns += unused_ns;
  }
}

}  // namespace

void AddUnused(const Trace& trace, uint32_t device, const std::vector<uint32_t>& use_of, std::vector<SharedUse>* uses) {
  std::vector<Running> running;  // a heap: the first one ends first
  int64_t now_ns = 0;
  const auto run_until = [&](int64_t until_ns) {
    while (!running.empty()) {
      const int64_t next_ns = std::min(running.front().end_ns, until_ns);
      if (next_ns > now_ns) AddTime(running, next_ns - now_ns, uses);
      now_ns = next_ns;
      if (running.front().end_ns > until_ns) return;
      std::pop_heap(running.begin(), running.end(), EndsLater);
      running.pop_back();
    }
  };
  for (const Operation op : OperationsOf(trace, trace.device_ops[device])) {
    if (use_of[op.kind_number()] == kNone) continue;
    run_until(op.start_ns());
    now_ns = op.start_ns();
    running.push_back({op.end_ns(), use_of[op.kind_number()]});
    std::push_heap(running.begin(), running.end(), EndsLater);
  }
  run_until(INT64_MAX);
}

}  // namespace gprof
