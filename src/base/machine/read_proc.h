// Files of /proc, which may end with an error at any moment, when their process does. A stream would throw then.
#pragma once

#include <string>

namespace gprof {

// What could be read of it; empty where it is not there.
std::string ReadProcFile(const std::string& path);

}  // namespace gprof
