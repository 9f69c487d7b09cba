#include "analysis/facts/side_by_side.h"

#include "analysis/facts/shared_facts.h"
#include "base/machine/parallel.h"

namespace gprof {

void RunSideBySide(const AnalysisInput& input, const std::vector<std::function<void()>>& parts) {
  RunSideBySide(input.shared().threads(), parts);
}

void RunSideBySide(size_t threads, const std::vector<std::function<void()>>& parts) {
  constexpr size_t kMoreThanAnalysesUse = 4;
  ForEachSideBySide(parts.size(), threads >= kMoreThanAnalysesUse ? threads : 1, [&](size_t i) { parts[i](); });
}

}  // namespace gprof
