#include "analysis/facts/operations/kernel_groups.h"

#include <map>

#include "analysis/result/display_names.h"

namespace gprof {

KernelGroups::KernelGroups(const Trace& trace, const std::vector<int64_t>& of_name)
    : group_of_name_(trace.strings.size(), kNone) {
  std::map<std::string, std::vector<uint32_t>> ids;
  for (uint32_t i = 0; i < of_name.size(); ++i) {
    if (of_name[i] > 0) ids[KernelName(trace, NameId{i})].push_back(i);
  }
  for (const auto& [name, members] : ids) {
    counts_.push_back(0);
    for (const uint32_t id : members) {
      group_of_name_[id] = size();
      counts_.back() += of_name[id];
    }
    kernels_ += counts_.back();
    names_.push_back(name);
  }
  for (uint32_t i = 0; i < trace.ops.TraitsCount(); ++i) {
    const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
    group_of_traits_.push_back(traits.kind == OpKind::kKernel ? group_of_name_[traits.name.value] : kNone);
  }
}

std::vector<Statistics> TimesOfKernels(const Trace& trace, const KernelGroups& kernels) {
  KernelSamples samples(kernels);
  const uint32_t* const groups = kernels.of_traits().data();
  samples.AddDurations(trace.ops, [groups](const PackedOps::Item& op) { return groups[op.traits]; });
  std::vector<Statistics> times;
  for (uint32_t i = 0; i < kernels.size(); ++i) times.push_back(samples.Of(i).Summary());
  return times;
}

KernelSamples::KernelSamples(const KernelGroups& kernels) : samples_(static_cast<size_t>(kernels.kernels())) {
  size_t first = 0;
  for (uint32_t i = 0; i < kernels.size(); ++i) {
    first_.push_back(first);
    first += static_cast<size_t>(kernels.Count(i));
  }
  next_ = first_;
}

}  // namespace gprof
