// Kernels by name; several mangled names may read alike once they are demangled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

class KernelGroups {
 public:
  explicit KernelGroups(const Trace& trace);

  uint32_t size() const { return static_cast<uint32_t>(names_.size()); }
  uint32_t Of(const GpuOp& kernel) const { return group_of_name_[kernel.name.value]; }
  const std::string& Name(uint32_t group) const { return names_[group]; }  // in order of the groups
  int64_t Count(uint32_t group) const { return counts_[group]; }
  int64_t kernels() const { return kernels_; }

 private:
  std::vector<uint32_t> group_of_name_;  // by NameId, kNone where no kernel has it
  std::vector<std::string> names_;
  std::vector<int64_t> counts_;
  int64_t kernels_ = 0;
};

}  // namespace gprof
