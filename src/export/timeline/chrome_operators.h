// Operators of frameworks as torch.profiler writes them: their inputs are arguments, and not a part of their names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "export/events/labels.h"
#include "export/timeline/chrome_events.h"
#include "gprof/trace.h"

namespace gprof {

struct ChromeOperator {
  uint32_t label = kNone;
  std::string sizes{}, types{}, inputs{};  // lists as JSON, empty where they are not known
};

class ChromeOperators {
 public:
  ChromeOperators(const Trace& trace, Labels* labels);

  // nullptr: the range is no operator.
  const ChromeOperator* Of(uint32_t range) const;
  void AddArgs(uint32_t range, const ChromeOperator& op, ChromeArgs& sink);

 private:
  const Trace& trace_;
  std::vector<ChromeOperator> of_traits_;  // by traits of ranges; without a label where they are none of an operator
  uint64_t count_ = 0;
};

}  // namespace gprof
