// The process that a collector runs in.
//
// It holds nothing of what the launcher and the program have open, is in a session of its own, so that neither Ctrl-C
// nor a signal to the process group reaches it, follows the control page, and ends when the run has ended or the
// launcher is gone. What it had when it was killed is written by SalvageCollector().
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "collect/run/collector_list.h"

namespace gprof {

// What a helper's exit code says beside 0 and the errno value of a chunk that could not be written.
inline constexpr int kNothingToCollect = 253, kNoJournal = 254, kCannotCollect = 255;

// Why a collector cannot work, for the launcher: kCannotCollect with a text that it left in the run folder. Empty:
// none.
std::string TakeReason(const std::string& run_folder, const CollectorKind& kind);

// Forks a process that runs the collector. Call it while this one has a single thread. -1 with errno: there is none.
pid_t StartHelper(const CollectorKind& kind, const CollectorOptions& options, const RunView& run);

// Writes what a collector left in its journal, and says in the trace that it ended early. In a process of its own that
// may crash: the memory was written by one that died. `died_ns`: CLOCK_MONOTONIC, 0 when not known. 0, or an errno
// value.
int SalvageCollector(const std::string& journal_path, uint64_t died_ns);

}  // namespace gprof
