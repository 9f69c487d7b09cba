// What runs left behind whose launcher was killed.
#pragma once

#include <string>

#include "gprof/error.h"

namespace gprof::cli {

// Brings it into the traces it belongs to, says so in one line each on stderr, and removes it. Every command that reads
// a trace or starts a run calls this first. Never fails: a trace without it is a good trace still.
void RecoverEarlierRuns();

// `error`, which may be about this file, as one that mends itself where a run has not written anything to it yet.
Error Explained(const Error& error, const std::string& path);

}  // namespace gprof::cli
