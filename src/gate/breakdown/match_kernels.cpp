#include "gate/breakdown/match_kernels.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/demangle.h"
#include "base/units.h"

namespace gprof {
namespace {

// In a program that launches its kernels in order, one that was renamed stays about where it was.
constexpr double kNearby = 0.25;

using Rows = std::vector<size_t>;

class Matcher {
 public:
  Matcher(std::span<const KernelOfRun> base, std::span<const KernelOfRun> now) : base_(base), now_(now) {}

  std::vector<KernelPair> Run() {
    PairNames();
    PairInstances();
    PairLookalikes();
    for (const size_t row : gone_) pairs_.push_back({row, kNoKernel, {}});
    for (const size_t row : new_) pairs_.push_back({kNoKernel, row, {}});
    return std::move(pairs_);
  }

 private:
  // Both are sorted by name.
  void PairNames() {
    size_t b = 0, n = 0;
    while (b < base_.size() || n < now_.size()) {
      const int order = b == base_.size() ? 1 : n == now_.size() ? -1 : base_[b].name.compare(now_[n].name);
      if (order == 0) {
        pairs_.push_back({b++, n++, {}});
      } else if (order < 0) {
        gone_.push_back(b++);
      } else {
        new_.push_back(n++);
      }
    }
    const auto has_path = [](const KernelOfRun& kernel) { return !kernel.path.empty(); };
    has_paths_ = std::any_of(base_.begin(), base_.end(), has_path) && std::any_of(now_.begin(), now_.end(), has_path);
  }

  static bool HasShape(const KernelOfRun& kernel) { return !kernel.shapes.contains(""); }

  bool LooksLike(const KernelOfRun& a, const KernelOfRun& b) const {
    return HasShape(a) && a.shapes == b.shapes && (!has_paths_ || a.path == b.path);
  }

  // The rows of one side that look like each other, in order of place.
  Rows Alike(const KernelOfRun& wanted, std::span<const KernelOfRun> all, const Rows& rows) const {
    Rows alike;
    for (const size_t row : rows) {
      if (LooksLike(wanted, all[row])) alike.push_back(row);
    }
    std::sort(alike.begin(), alike.end(), [&](size_t a, size_t b) { return all[a].place < all[b].place; });
    return alike;
  }

  // As many gone as new ones that look alike are paired in their order; with more of one sort nobody could tell.
  void PairLookalikes() {
    const Rows candidates = gone_;
    for (const size_t candidate : candidates) {
      if (std::find(gone_.begin(), gone_.end(), candidate) == gone_.end()) continue;
      const Rows gone = Alike(base_[candidate], base_, gone_), come = Alike(base_[candidate], now_, new_);
      if (gone.size() != come.size()) continue;
      for (size_t i = 0; i < gone.size(); ++i) {
        const bool is_near = std::fabs(base_[gone[i]].place - now_[come[i]].place) <= kNearby;
        const bool has_path = has_paths_ && !base_[gone[i]].path.empty();
        if (!has_path && !is_near) continue;
        Pair(gone[i], come[i], has_path ? "same shape, count and NVTX range" : "same shape, count and position");
      }
    }
  }

  void PairInstances() {
    std::map<std::string, std::pair<Rows, Rows>> by_function;
    for (const size_t row : gone_) by_function[ShortName(base_[row].name)].first.push_back(row);
    for (const size_t row : new_) by_function[ShortName(now_[row].name)].second.push_back(row);
    for (const auto& [function, rows] : by_function) {
      if (rows.first.size() != 1 || rows.second.size() != 1) continue;
      Pair(rows.first.front(), rows.second.front(), "same function, different arguments");
    }
  }

  void Pair(size_t base, size_t now, std::string why) {
    pairs_.push_back({base, now, std::move(why)});
    std::erase(gone_, base);
    std::erase(new_, now);
  }

  std::span<const KernelOfRun> base_, now_;
  std::vector<KernelPair> pairs_;
  Rows gone_, new_;
  bool has_paths_ = false;  // both runs name NVTX ranges
};

}  // namespace

std::string KernelOfRun::ShapeText() const {
  if (shapes.size() == 1) return shapes.begin()->first;
  return CountOf(static_cast<int64_t>(shapes.size()), "shape");
}

std::vector<KernelOfRun> KernelsOf(const Breakdown& run) {
  std::map<std::string, KernelOfRun> by_name;
  for (const DeviceTime& device : run.devices) {
    const auto rows = static_cast<double>(device.kernels.size());
    for (const KernelTime& row : device.kernels) {
      KernelOfRun& kernel = by_name[row.name];
      const double place = static_cast<double>(row.place) / rows;
      if (kernel.count == 0 || place < kernel.place) {
        kernel.place = place;
        kernel.path = row.path;
      }
      kernel.name = row.name;
      kernel.shapes[row.shape] += row.count;
      kernel.count += row.count;
      kernel.total_ns += row.total_ns;
    }
  }
  std::vector<KernelOfRun> kernels;
  for (auto& entry : by_name) kernels.push_back(std::move(entry.second));
  return kernels;
}

std::vector<KernelPair> MatchKernels(std::span<const KernelOfRun> base, std::span<const KernelOfRun> now) {
  return Matcher(base, now).Run();
}

}  // namespace gprof
