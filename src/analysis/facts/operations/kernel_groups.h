// Kernels by name; several mangled names may read alike once they are demangled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/result/statistics.h"
#include "gprof/trace.h"

namespace gprof {

class KernelGroups {
 public:
  // `of_name`: how many kernels have each name.
  KernelGroups(const Trace& trace, const std::vector<int64_t>& of_name);

  uint32_t size() const { return static_cast<uint32_t>(names_.size()); }
  uint32_t Of(const GpuOp& kernel) const { return group_of_name_[kernel.name.value]; }
  // By PackedOps::TraitsIndex; kNone for what is no kernel.
  const std::vector<uint32_t>& of_traits() const { return group_of_traits_; }
  const std::string& Name(uint32_t group) const { return names_[group]; }  // in order of the groups
  int64_t Count(uint32_t group) const { return counts_[group]; }
  int64_t kernels() const { return kernels_; }

 private:
  std::vector<uint32_t> group_of_name_;  // by NameId, kNone where no kernel has it
  std::vector<uint32_t> group_of_traits_;
  std::vector<std::string> names_;
  std::vector<int64_t> counts_;
  int64_t kernels_ = 0;
};

// Times of the kernels on the GPU, by group.
std::vector<Statistics> TimesOfKernels(const Trace& trace, const KernelGroups& kernels);

// Samples by kernel, at most one for each kernel that ran, all in one vector.
class KernelSamples {
 public:
  explicit KernelSamples(const KernelGroups& kernels);
  void Add(uint32_t group, int64_t sample) { samples_.Set(next_[group]++, sample); }
  template <class List, class F>
  void AddDurations(const List& list, F&& group_of) {
    AddDurationsTo(list, group_of, next_.data(), &samples_);
  }
  Samples::Slice Of(uint32_t group) { return {&samples_, first_[group], next_[group] - first_[group]}; }

 private:
  std::vector<size_t> first_, next_;  // of each group
  Samples samples_;
};

}  // namespace gprof
