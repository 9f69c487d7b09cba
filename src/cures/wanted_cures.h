// Which cures the program runs with: a list in GPROF_CURES, read once when the library is loaded.
#pragma once

#include <cstdint>

namespace gprof::cures {

enum Cure : uint8_t { kPinCopies = 1, kStreamWaits = 2, kPoolAllocations = 4, kPrefetchManaged = 8, kAnyCure = 15 };

bool IsWanted(uint8_t cures);
// The program does something that the cure does not understand: it does nothing from now on.
void GiveUp(Cure cure);

}  // namespace gprof::cures
