// Whether a stream is being captured into a graph: then nothing is done that the program does not do itself.
#pragma once

namespace gprof::cures {

bool IsCapturing();

}  // namespace gprof::cures
