#include "analysis/kernel_groups.h"

#include <map>

#include "analysis/names.h"

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
  for (uint32_t i = 0; i < trace.ops.FactsCount(); ++i) {
    const PackedOps::Facts& facts = trace.ops.FactsAt(i);
    group_of_facts_.push_back(facts.kind == OpKind::kKernel ? group_of_name_[facts.name.value] : kNone);
  }
}

namespace {

// How long kernels in a row took that share their facts. Returns the first that others follow, or that took long.
const PackedOps::Item* AddRun(const PackedOps::Item* op, const PackedOps::Item* end, uint32_t group,
                              const KernelSamples::Ends& to) {
  if (to.samples == nullptr) return op;
  uint32_t* next = to.At(group);
  for (const uint32_t facts = op->facts; op != end && op->facts == facts && op->duration_high == 0; ++op) {
    PrefetchForReading(op);
    *next++ = op->duration;
  }
  to.SetEnd(group, next);
  return op;
}

}  // namespace

std::vector<Statistics> TimesOfKernels(const Trace& trace, const KernelGroups& kernels) {
  KernelSamples samples(kernels);
  const uint32_t* const groups = kernels.of_facts().data();
  const PackedOps::Item* const end = trace.ops.items().data() + trace.ops.size();
  for (const PackedOps::Item* op = trace.ops.items().data(); op != end;) {
    const uint32_t group = groups[op->facts];
    const PackedOps::Item* const first = op;
    if (group != kNone) op = AddRun(op, end, group, samples.ends());
    if (op != first) continue;
    if (group != kNone) samples.Add(group, trace.ops.EndNs(*op) - op->start_ns());
    ++op;
  }
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
