// By which names the commands of a session or a recorder find it.
#pragma once

#include <string>

namespace gprof::cli {

// Throws Error for a name that cannot be one, or is taken.
void CheckSessionName(const std::string& name);

// The name of the program, with a number where it is taken.
std::string FreeSessionName(const std::string& program);

}  // namespace gprof::cli
