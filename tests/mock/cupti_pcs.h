// What PC sampling of the libcupti double has with the rest of it.
#pragma once

#include "hub.h"

namespace mock {

// The device runs it.
void NoteSampledKernel(const Op& op);

}  // namespace mock
