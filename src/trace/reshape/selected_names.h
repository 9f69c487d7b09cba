// Which things of a trace the words of a Selection mean. Words that mean nothing in it are errors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/reshape/select.h"

namespace gprof {

class SelectedNames {
 public:
  SelectedNames(const Trace& trace, const Selection& selection) : trace_(trace), selection_(selection) {}

  // A flag for each process, thread, device and stream.
  std::vector<uint8_t> Processes() const;
  std::vector<uint8_t> Threads(const std::vector<uint8_t>& is_process) const;
  std::vector<uint8_t> Devices() const;
  std::vector<uint8_t> Streams(const std::vector<uint8_t>& is_process, const std::vector<uint8_t>& is_device) const;
  // A flag for each string: paths of ranges, names of kernels. Empty where they are not selected.
  std::vector<uint8_t> Paths() const;
  std::vector<uint8_t> Kernels() const;

 private:
  const Trace& trace_;
  const Selection& selection_;
};

}  // namespace gprof
