// The plain name of a kernel, as its mangled one has it: "scale" of "_ZN3lib5scaleIfEEvPT_f". There is no demangler in
// the target, and for the name of the function none is needed.
#pragma once

#include <cstddef>

namespace gprof::tracer {

struct NamePart {
  const char* at = nullptr;
  std::size_t size = 0;
};

// The whole of what is not mangled, or not understood.
NamePart FunctionNameOf(const char* mangled);

}  // namespace gprof::tracer
