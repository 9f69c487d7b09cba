#include "report/tree/row_findings.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/findings/finding_catalogue.h"
#include "base/short_names.h"

namespace gprof {
namespace {

constexpr std::string_view kCopy = "copy ";

// "step/load: cudaMemcpyAsync" as ("step/load", "cudaMemcpyAsync"); of other names, all of it twice.
std::pair<std::string_view, std::string_view> RangeAndFunction(std::string_view name) {
  const std::size_t end = name.rfind(": ");
  if (end == std::string_view::npos) return {name, name};
  return {name.substr(0, end), name.substr(end + 2)};
}

bool IsWithin(std::string_view path, std::string_view range) {
  return !range.empty() && path.size() > range.size() && path.starts_with(range) && path[range.size()] == '/';
}

class Row {
 public:
  Row(bool is_idle, const std::vector<std::string>& path) : is_idle_(is_idle), path_(path) {}

  // 0: the finding is about something else.
  int NearnessOf(const Finding& finding) const {
    if (Names(finding.subject, path_.size() - 1)) return 3;
    if (ClaimsTimeOf(finding)) return 2;
    for (std::size_t above = 0; above + 1 < path_.size(); ++above) {
      if (Names(finding.subject, above)) return 1;
    }
    return IsWithin(RangeAndFunction(path_.back()).first, finding.subject.range) ? 1 : 0;
  }

 private:
  bool Names(const Subject& subject, std::size_t place) const {
    const std::string& name = path_[place];
    const auto [range, function] = RangeAndFunction(name);
    const bool is_cause = is_idle_ && std::ranges::find(subject.causes, name) != subject.causes.end();
    return is_cause || (!subject.kernel.empty() && BriefName(subject.kernel) == name) ||
           (!subject.line.empty() && LineOf(subject.line) == LineOf(name)) ||
           (!subject.function.empty() && subject.function == function) ||
           (!subject.direction.empty() && name == std::string(kCopy) + subject.direction) ||
           (!subject.range.empty() && (subject.range == range || subject.range == RangesTo(place)));
  }

  // A finding that names one direction of copies is about no other.
  bool ClaimsTimeOf(const Finding& finding) const {
    const FindingInfo* const info = FindFinding(finding.id);
    const std::string& name = path_.back();
    const bool is_copy = name.starts_with(kCopy) && finding.subject.direction.empty();
    if (info == nullptr || (!is_idle_ && !is_copy)) return false;
    if (is_idle_ && info->claims_its_causes && !finding.subject.causes.empty()) return false;
    const std::string metric = is_idle_ ? "idle." + name + "_ns" : "gpu.copy_only_ns";
    return std::ranges::find(info->claims.ids, metric) != std::end(info->claims.ids);
  }

  // In a tree by ranges each row is one of them.
  std::string RangesTo(std::size_t place) const {
    std::string path = path_.front();
    for (std::size_t i = 1; i <= place; ++i) path += "/" + path_[i];
    return path;
  }

  // "train.py:12" of "train.py:12 (step)".
  static std::string_view LineOf(std::string_view name) { return name.substr(0, name.find(" (")); }

  const bool is_idle_;
  const std::vector<std::string>& path_;
};

}  // namespace

std::vector<const NamedFinding*> FindingsAbout(const std::vector<NamedFinding>& findings, bool is_idle,
                                               const std::vector<std::string>& path) {
  std::array<std::vector<const NamedFinding*>, 4> by_nearness;
  for (const NamedFinding& named : findings) {
    const int nearness = path.empty() ? 3 : Row(is_idle, path).NearnessOf(*named.ranked.finding);
    by_nearness[static_cast<std::size_t>(nearness)].push_back(&named);
  }
  std::vector<const NamedFinding*> about;
  for (const std::size_t nearness : {3u, 2u, 1u}) {
    about.insert(about.end(), by_nearness[nearness].begin(), by_nearness[nearness].end());
  }
  return about;
}

}  // namespace gprof
