// C++ names as written in the source. Names come out of traces, so they may be long, odd or hostile.
#pragma once

#include <string>
#include <string_view>

namespace gprof {

// The full signature. What is not a mangled name, or would grow beyond 64 KiB or 4 KiB and 32 times its length, comes
// back as it is.
std::string Demangle(std::string_view name);

// The qualified name alone: no return type, template arguments, parameters or ABI tags. The entries of CUTLASS keep
// their first argument, which is the kernel: "cutlass::Kernel2<cutlass_80_…>". Takes mangled and demangled names;
// whatever does not look like a C++ signature comes back as it is.
std::string ShortName(std::string_view name);

}  // namespace gprof
