#pragma once

#include <optional>
#include <string>

namespace gprof {

// Throws the Error (126 or 127) that execvp would end in, so that a typing mistake costs no trace. `path` is PATH as
// the program will see it.
void CheckProgram(const std::string& program, const std::optional<std::string>& path);

// The Error for an exec of `program` that failed with `error` although CheckProgram was content.
[[noreturn]] void ThrowExecError(const std::string& program, int error);

// Absolute path of libgprof-tracer.so, which lies at a fixed place relative to this executable, installed or built.
std::string FindTracer();

}  // namespace gprof
