// By how much recording slows the program down, as it goes on: the rates of its work in windows with and without
// (record --budget), of which a snapshot has no more than the last seconds.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analysis/facts/recording/measured_slow_down.h"
#include "gprof/trace.h"
#include "trace/file/reader.h"

namespace gprof {

class WorkRates {
 public:
  void Take(const trace::ProcessKey& process, const trace::WorkRateRecord& row, std::string_view function);
  // Of the process that is slowed down most; not known before there are windows enough.
  MeasuredSlowDown Measure(trace::ProcessKey* process) const;

 private:
  std::unordered_map<trace::ProcessKey, std::deque<WorkRate>, ProcessKeyHash> rates_;  // the last ones of each
  std::unordered_map<std::string, uint32_t> functions_;
};

}  // namespace gprof
