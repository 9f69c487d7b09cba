#include "collect/collectors.h"

#include <algorithm>
#include <iterator>

#include "collect/host_load.h"

namespace gprof {
namespace {

constexpr CollectorKind kCollectors[] = {
    {"host_load", "host load", [](const CollectorOptions& options) { return options.host_load_hz > 0; }, MakeHostLoad},
};

}  // namespace

std::span<const CollectorKind> Collectors() { return kCollectors; }

const CollectorKind* FindCollector(std::string_view name) {
  const auto is_it = [name](const CollectorKind& kind) { return kind.name == name; };
  const auto* const found = std::find_if(std::begin(kCollectors), std::end(kCollectors), is_it);
  return found == std::end(kCollectors) ? nullptr : found;
}

}  // namespace gprof
