// Adds chunks to a trace that others write to as well: what the tracer does in the program, for processes outside of
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gprof {

struct TraceFile {
  std::string path;
  uint64_t device = 0, inode = 0;  // 0: whatever file has the name
  uint64_t run = 0;                // of its first chunk; 0: whatever it is
  friend bool operator==(const TraceFile&, const TraceFile&) = default;
};

struct Appended {
  int error = 0;              // errno of the first chunk that is not in the file as a whole
  uint32_t chunks = 0;        // that there were
  uint64_t lost_records = 0;  // in those that are not in the file
  bool is_untouched = true;   // not a byte was written
};

// Each chunk with one write to a descriptor opened with O_APPEND. A chunk that a full disk cut short stays where it is,
// as others may have added theirs behind it; readers notice. SIGXFSZ has to be ignored where `ulimit -f` may be met.
Appended AppendChunks(const TraceFile& file, std::string_view chunks);

// A descriptor to append with, or -1 with errno: ESTALE where another file has the name.
int OpenTrace(const TraceFile& file);

// Nothing where the file is gone, or another has taken its place.
std::optional<uint64_t> SizeOf(const TraceFile& file);

// It is there, and nobody has written to it since it was made.
bool IsStillEmpty(const TraceFile& file);

}  // namespace gprof
