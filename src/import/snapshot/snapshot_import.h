// One pass over a snapshot: what the allocator gave and took, and what it had from CUDA for it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "import/shared/foreign_builder.h"
#include "import/snapshot/pickle.h"
#include "import/snapshot/snapshot_stacks.h"

namespace gprof {

class SnapshotImport {
 public:
  SnapshotImport(const Pickle& pickle, const std::string& path, MemoryBudget* budget);

  Trace Run(uint64_t file_bytes);

 private:
  // A block in use when the history begins, or the segments of a device at the end.
  struct Block {
    uint64_t address = 0, size_bytes = 0;
    int64_t stream = 0;
    uint32_t stack = 0;
  };
  struct Segments {
    int64_t count = 0;
    uint64_t reserved_bytes = 0, used_bytes = 0, largest_free_bytes = 0;
    std::vector<Block> blocks;  // in use
  };
  struct Tracks {
    uint32_t allocated = 0, reserved = 0;
  };

  void ReadSegments();
  void ReadBlocks(Pickle::Value segment, Segments* segments);
  void FindTimes();
  void ReadDevice(uint32_t device, std::span<const Pickle::Value> entries);
  void AddEarlierBlocks(uint32_t device, std::span<const Pickle::Value> entries);
  uint64_t ReservedBefore(uint32_t device, std::span<const Pickle::Value> entries) const;
  void Allocate(uint32_t device, uint64_t time_ns, const Block& block);
  void Free(uint32_t device, uint64_t time_ns, uint64_t address);
  void AddTensorBlock(uint32_t device, uint64_t time_ns, const Block& block, int64_t size_bytes);
  void Sample(uint32_t track, uint64_t time_ns, uint64_t size_bytes);
  Tracks AddTracks(uint32_t device);
  uint32_t AddTrack(std::string_view name, uint32_t device);
  uint64_t TimeOf(Pickle::Value entry) const;
  Block BlockOf(Pickle::Value entry);
  void TellWhatIsNotThere();
  void TellSegments();
  void TellOutOfMemory(uint32_t device, Pickle::Value entry);

  const Pickle& pickle_;
  ForeignBuilder builder_;
  SnapshotStacks stacks_;
  std::vector<Segments> segments_;                   // by device
  std::unordered_map<uint64_t, uint64_t> sizes_;     // of blocks in use, by address
  std::string_view free_action_ = "free_requested";  // what ends a block
  int64_t first_us_ = 0, last_us_ = 0;
  uint64_t entries_ = 0;
  uint64_t allocated_bytes_ = 0, reserved_bytes_ = 0;  // of the device that is being read
  uint32_t correlation_ = 0, tracks_ = 0;
};

}  // namespace gprof
