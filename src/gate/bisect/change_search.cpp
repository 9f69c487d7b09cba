#include "gate/bisect/change_search.h"

#include <algorithm>
#include <numeric>

namespace gprof {

ChangeSearch::ChangeSearch(uint32_t versions, const SearchRules& rules) : versions_(versions), rules_(rules) {
  std::iota(versions_.begin(), versions_.end(), 0U);
}

void ChangeSearch::Skip(uint32_t version) {
  std::erase(versions_, version);
  std::erase_if(runs_, [&](const SearchRun& run) { return run.version == version; });
}

}  // namespace gprof
