// How much memory the content of a file may take. A few bytes can stand for gigabytes: columns whose values are all
// alike, and whatever gzip or zstd packed.
#pragma once

#include <cstdint>
#include <string>

namespace gprof {

class MemoryBudget {
 public:
  MemoryBudget(std::string path, uint64_t file_bytes);

  // So much more is about to be taken. Throws Error where it is far more than a file of this size may hold.
  void Take(uint64_t bytes) {
    taken_bytes_ += bytes;
    if (taken_bytes_ > limit_bytes_) [[unlikely]]
      Refuse("more than", limit_bytes_);
  }
  // All of it will take about so much. Throws as Take does.
  void Expect(uint64_t bytes) const {
    if (bytes > limit_bytes_) Refuse("about", bytes);
  }

  uint64_t limit_bytes() const { return limit_bytes_; }

 private:
  void Refuse(const char* how_exact, uint64_t bytes) const;

  std::string path_;
  uint64_t file_bytes_, limit_bytes_, taken_bytes_ = 0;
};

}  // namespace gprof
