// Calls, operations and NVTX events are nearly all of a trace, and are read in two passes over its chunks.
//
// The first pass (count_pass.h) reads what many records have in common, gives threads, streams and names their numbers
// in the order of the file, and counts the records. After it every record has its place, so each array is allocated
// once, at its final length. The second pass (fill_pass.h) writes times and correlations straight to these places; no
// block waits for another.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/machine/parallel.h"
#include "gprof/packed_list.h"
#include "gprof/trace/record.h"

namespace gprof {

using BulkRecords =
    trace::RecordTypes<trace::ApiRecord, trace::KernelRecord, trace::MemcpyRecord, trace::PeerCopyRecord,
                       trace::MemsetRecord, trace::GraphLaunchRecord, trace::NvtxRecord>;

template <class R, class List>
inline constexpr bool kIsOneOf = false;
template <class R, class... All>
inline constexpr bool kIsOneOf<R, trace::RecordTypes<All...>> = (std::is_same_v<R, All> || ...);

template <class R>
inline constexpr bool kIsBulk = kIsOneOf<R, BulkRecords>;

// Which fields of a record many have in common. What differs from record to record is kept of each, or not at all.
template <class R>
inline constexpr auto kAreCommon = [] {
  constexpr std::string_view kOfEachRecord[] = {"start_ns", "duration_ns", "time_ns",   "correlation",
                                                "range",    "payload",     "queued_ns", "submitted_ns",
                                                "channel",  "copy_count",  "value"};
  std::array<bool, trace::FieldCount<R>()> are{};
  std::size_t k = 0;
  const R r{};
  R::Fields(r, [&](const trace::FieldInfo& info, const auto&) {
    are[k++] = std::find(std::begin(kOfEachRecord), std::end(kOfEachRecord), info.name) == std::end(kOfEachRecord);
  });
  return are;
}();

// Bytes that a record takes at the most while a trace is loaded and reported, measured with records that are all alike:
// those of the first pass are 50 to 70, calls 120; others are kept as they are until they are joined.
template <class R>
inline constexpr uint64_t kMemoryBytes = std::is_same_v<R, trace::ApiRecord> ? 128
                                         : kIsBulk<R>                        ? 72
                                                                             : 3 * (sizeof(R) + sizeof(uint64_t));

// Which of some things each of many records is or has.
using WhichOf = std::vector<uint16_t, packed_detail::Unwritten<uint16_t>>;

// Records of one kind, neighbours in a chunk.
struct BulkBlock {
  // What some of the records have in common.
  struct Common {
    uint32_t traits = 0;  // index into the traits of calls, operations or NVTX events
    uint32_t count = 0;   // records
    uint32_t group = 0;   // their thread, or their device
    uint32_t place = 0;   // of the first record of the block that is of that group
  };
  trace::RecordKind kind{};
  uint32_t record_count = 0, column_count = 0;
  uint32_t first_byte = 0, size_bytes = 0;  // of the columns, in the body of the chunk
  bool has_device_launches = false;         // kernels that the GPU launched
  std::vector<Common> commons;
  WhichOf which;  // index into `commons` of each record; may be empty where there is one only
};

struct BulkChunk {
  uint64_t offset = 0;      // of its header: tells chunks apart
  std::string_view stored;  // the body as it is in the file
  uint32_t unpacked_bytes = 0;
  bool is_packed = false;
  uint32_t process = 0;
  std::vector<BulkBlock> blocks;
};

// How many threads each of the passes takes for so many bytes of chunks. Each thread has about half a MiB for the
// columns of a chunk: those of a machine with many cores would take more than a part of the model, and each would get a
// few chunks.
inline std::size_t ReadersOf(std::size_t bytes) {
  constexpr std::size_t kFew = 16, kWorthAThreadBytes = 1u << 20;
  return std::min(UsableCores(), std::max(kFew, bytes / kWorthAThreadBytes));
}

// The offset of a chunk, and the number of a block in it.
using DamagedBlocks = std::set<std::pair<uint64_t, std::size_t>>;

}  // namespace gprof
