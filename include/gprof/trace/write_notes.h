// Who wrote last into which pipe, socket or eventfd, and who posted which semaphore that processes share, in a file of
// the run folder (run_folder.h): a thread that waited for one finds there who ended its wait, in whatever process of
// the run that is.
#pragma once

#include <atomic>
#include <cstdint>

namespace gprof::trace {

inline constexpr char kWriteNotesFile[] = "writers";

// The end of a channel has a number that is the same in all processes. Ends whose numbers lead to the same place take
// it from each other.
struct WriteNote {
  std::atomic<uint64_t> end;     // whose note this is; 0: nobody's
  std::atomic<uint64_t> writer;  // PackWriter; 0: nobody yet
  std::atomic<uint64_t> peer;    // the end that reads what this one writes and writes what it reads; 0: not known
  uint64_t reserved;
};

inline constexpr uint32_t kWriteNoteBits = 11;
inline constexpr uint32_t kWriteNotes = 1u << kWriteNoteBits;

constexpr uint32_t PlaceOfEnd(uint64_t end) {
  return static_cast<uint32_t>(end * 0x9E3779B97F4A7C15u >> (64 - kWriteNoteBits));
}

// Linux has ids below 2^22. Time is that of a stamp, in units of 1,024.
inline constexpr uint32_t kWriterTimeBits = 40, kWriterTimeShift = 10;

constexpr uint64_t PackWriter(uint32_t id, uint64_t stamp) {
  return uint64_t{id} << kWriterTimeBits | (stamp >> kWriterTimeShift & ((uint64_t{1} << kWriterTimeBits) - 1));
}
constexpr uint32_t WriterId(uint64_t writer) { return static_cast<uint32_t>(writer >> kWriterTimeBits); }
// Whether it wrote at that time or later. Half of the range is days.
constexpr bool HasWrittenSince(uint64_t writer, uint64_t stamp) {
  const uint64_t passed = (writer - (stamp >> kWriterTimeShift)) << (64 - kWriterTimeBits);
  return static_cast<int64_t>(passed) >= 0;
}
static_assert(HasWrittenSince(PackWriter(77, 5'000'000), 4'000'000));
static_assert(!HasWrittenSince(PackWriter(77, 5'000'000), 6'000'000));
static_assert(WriterId(PackWriter(77, 5'000'000)) == 77);

}  // namespace gprof::trace
