// Snapshots of PyTorch's memory: what torch.cuda.memory._dump_snapshot() writes.
#pragma once

#include <string>
#include <string_view>

#include "gprof/trace.h"

namespace gprof {

// `path` is for messages.
Trace ReadSnapshot(std::string_view bytes, const std::string& path);

}  // namespace gprof
