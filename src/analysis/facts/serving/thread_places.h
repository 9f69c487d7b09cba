// Where threads of an engine were in some time, by samples of what ran and by the OS calls in which they waited.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/facts/places/call_places.h"
#include "gprof/trace.h"

namespace gprof {

class AnalysisInput;

class ThreadPlaces {
 public:
  explicit ThreadPlaces(const AnalysisInput& input);
  // "serve.py:12 (tokenise)": where the thread was for most of these times; empty where nothing is known.
  std::string MostOf(uint32_t thread, const std::vector<Interval>& times);

 private:
  void AddSamples(uint32_t thread, const Interval& time, PlaceSums* sums);
  void AddOsCalls(uint32_t thread, const Interval& time, PlaceSums* sums);

  const Trace& trace_;
  CallPlaces place_of_;
  std::map<uint32_t, std::vector<uint32_t>> os_calls_of_;  // by thread
};

}  // namespace gprof
