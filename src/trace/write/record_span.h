// When records were, as far as they say so.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include "base/saturate.h"
#include "gprof/trace/record.h"

namespace gprof {

struct RecordSpan {
  uint64_t first_ns = std::numeric_limits<uint64_t>::max(), last_ns = 0;
};

// The field that says when a record was is the first that ends in _ns; duration_ns follows it where there is one.
template <class R>
void Extend(const R& r, RecordSpan* span) {
  uint64_t start = 0, duration = 0;
  bool has_start = false;
  R::Fields(r, [&](const trace::FieldInfo& info, const auto& value) {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, uint64_t>) {
      const std::string_view name = info.name;
      if (name == "duration_ns") duration = value;
      if (!has_start && name.size() > 3 && name.substr(name.size() - 3) == "_ns") {
        start = value;
        has_start = true;
      }
    }
  });
  if (!has_start) return;
  span->first_ns = std::min(span->first_ns, start);
  span->last_ns = std::max(span->last_ns, AddSaturating(start, duration));
}

}  // namespace gprof
