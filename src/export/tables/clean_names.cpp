#include "export/tables/clean_names.h"

#include <utility>

#include "base/text.h"

namespace gprof {

CleanNames::CleanNames(const Trace& trace) : trace_(trace) {
  for (uint32_t i = 0; i < trace.strings.size(); ++i) {
    std::string clean = Utf8(trace.strings[i]);
    if (clean != trace.strings[i]) cleaned_.emplace(i, std::move(clean));
  }
}

}  // namespace gprof
