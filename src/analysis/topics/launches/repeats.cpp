#include "analysis/topics/launches/repeats.h"

#include <iterator>
#include <map>

namespace gprof {

uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

namespace repeats_detail {

std::vector<Repeat> Choose(std::vector<Repeat> found, const Least& least) {
  // Symbols that are repetitions of earlier ones.
  const auto worth = [](const Repeat& r) { return uint64_t{r.last} - r.first - r.period; };
  std::ranges::sort(found, [&](const Repeat& a, const Repeat& b) {
    if (worth(a) != worth(b)) return worth(a) > worth(b);
    return a.first != b.first ? a.first < b.first : a.period < b.period;
  });
  std::map<uint32_t, Repeat> chosen;  // by first
  for (Repeat r : found) {
    // Neighbours share a few symbols where one chain goes over into the next.
    const auto after = chosen.upper_bound(r.first);
    if (after != chosen.begin()) r.first = std::max(r.first, std::prev(after)->second.last);
    if (after != chosen.end()) r.last = std::min(r.last, after->second.first);
    if (least.Has(r)) chosen.emplace(r.first, r);
  }
  std::vector<Repeat> result;
  for (const auto& entry : chosen) result.push_back(entry.second);
  return result;
}

}  // namespace repeats_detail
}  // namespace gprof
