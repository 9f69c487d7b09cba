#include "analysis/together.h"

#include "analysis/shared_facts.h"
#include "base/parallel.h"

namespace gprof {

namespace {

constexpr size_t kMoreThanAnalysesUse = 4;

}  // namespace

bool IsDoneTogether(const AnalysisInput& input) { return input.shared().threads() >= kMoreThanAnalysesUse; }

void RunTogether(const AnalysisInput& input, const std::vector<std::function<void()>>& parts) {
  RunTogether(input.shared().threads(), parts);
}

void RunTogether(size_t threads, const std::vector<std::function<void()>>& parts) {
  ForEachSideBySide(parts.size(), threads >= kMoreThanAnalysesUse ? threads : 1, [&](size_t i) { parts[i](); });
}

}  // namespace gprof
