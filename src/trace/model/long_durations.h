// What is longer than an item of the packed lists can say (gprof/packed_list.h) is kept beside the items.
#pragma once

#include <cstdint>
#include <vector>

#include "gprof/packed_list.h"

namespace gprof::packed_detail {

template <class Item>
void SetTimesOf(Item* item, int64_t start_ns, int64_t end_ns, std::vector<int64_t>* long_durations_ns) {
  const int64_t duration_ns = end_ns - start_ns;
  item->SetStart(start_ns);
  if (Times::IsLong(duration_ns)) {
    item->duration_high = kLong;
    item->duration = static_cast<uint32_t>(long_durations_ns->size());
    long_durations_ns->push_back(duration_ns);
  } else {
    item->SetDuration(static_cast<uint64_t>(duration_ns));
  }
}

}  // namespace gprof::packed_detail
