// The files that traced processes keep in a run folder (gprof/trace/run_folder.h), as the launcher sees them. Nothing
// in them is taken on trust: a process may die, or write wildly, at any time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gprof/trace/run_folder.h"

namespace gprof {

struct Arena {
  std::string path;
  uint32_t pid = 0;  // as its name says
  bool has_header = false;
  uint64_t start_ticks = 0;
  trace::ArenaState state = trace::ArenaState::kStarting;
  bool is_locked = false;
  uint32_t epoch_done = 0;
  uint32_t captures_started = 0;
  bool wants_shutdown = false;
  bool is_of_collector = false;
  bool is_of_other_user = false;  // of the file
  uint64_t output_run = 0;
  uint32_t outbox_page = 0;   // outbox.h; 0: none
  uint32_t write_error = 0;   // errno of chunks that are lost
  uint64_t lost_records = 0;  // that the trace does not tell of
};

// In the order of their names, those of processes that are another user by now at the end.
std::vector<Arena> ArenasIn(const std::string& folder);

// Whether a process `pid` runs that was started at `start_ticks` (0: whenever). One that is a zombie does not, unless
// threads of it are left.
bool IsProcessAlive(uint32_t pid, uint64_t start_ticks);

// Whether the process is alive in the image that made the arena; exec ends it.
bool IsAlive(const Arena& arena);

// Adds 1 to the bell and wakes who waits for it.
void RingBell(const Arena& arena);

// The right to do away with what a dead process left. Only one process has it at a time, and only when the owner is
// dead.
class ArenaClaim {
 public:
  static std::optional<ArenaClaim> Take(const Arena& arena);
  ArenaClaim(ArenaClaim&& other) noexcept;
  ArenaClaim& operator=(ArenaClaim&&) = delete;
  ~ArenaClaim();

  // As it is now that nobody writes it any more.
  const Arena& arena() const { return arena_; }
  int descriptor() const { return descriptor_; }
  // After somebody else has been at work on it.
  Arena ReadAgain() const;
  uint64_t size_bytes() const { return size_bytes_; }
  void Delete() const;

 private:
  ArenaClaim(int descriptor, Arena arena, uint64_t size_bytes);

  int descriptor_;
  Arena arena_;
  uint64_t size_bytes_;
};

}  // namespace gprof
