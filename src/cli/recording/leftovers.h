// What runs left behind whose launcher was killed.
#pragma once

namespace gprof::cli {

// Brings it into the traces it belongs to, says so in one line each on stderr, and removes it. Every command that reads
// a trace or starts a run calls this first. Never fails: a trace without it is a good trace still.
void RecoverEarlierRuns();

}  // namespace gprof::cli
