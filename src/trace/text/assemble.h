// The inverse of dump: makes a trace of lines of text. For tests, examples and for repairing traces by hand.
#pragma once

#include <string>
#include <string_view>

namespace gprof {

// Fields that a line leaves out keep their default, chunk lines may be left out altogether. Throws Error with the
// number of the line for text that is not in the form that docs/trace-format.md describes.
std::string AssembleTrace(std::string_view text);

}  // namespace gprof
