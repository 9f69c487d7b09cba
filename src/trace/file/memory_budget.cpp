#include "trace/file/memory_budget.h"

#include <limits>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "gprof/error.h"
#include "gprof/trace/env.h"

namespace gprof {
namespace {

// Traces of programs take 10 to 20 times their size, and twice as much where they are packed.
constexpr uint64_t kAlwaysBytes = 100'000'000, kTimesTheFile = 60;

bool IsUnlimited() { return !EnvironmentText({trace::env::kIgnoreMemoryLimit}).empty(); }

uint64_t LimitFor(uint64_t file_bytes) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  if (IsUnlimited() || file_bytes > (kMost - kAlwaysBytes) / kTimesTheFile) return kMost;
  return kAlwaysBytes + kTimesTheFile * file_bytes;
}

}  // namespace

MemoryBudget::MemoryBudget(std::string path, uint64_t file_bytes)
    : path_(std::move(path)), file_bytes_(file_bytes), limit_bytes_(LimitFor(file_bytes)) {}

void MemoryBudget::Refuse(const char* how_exact, uint64_t bytes) const {
  throw Error(ExitCode::kUnreadable,
              "cannot read '" + path_ + "': it would take " + how_exact + " " + FormatBytes(bytes) +
                  " of memory, far more than is usual for a file of " + FormatBytes(file_bytes_),
              "the file is damaged or made to use up memory; to read it all the same, add --ignore-memory-limit");
}

}  // namespace gprof
