// Third version with a bug that every program has had once: the streams are all there, and one of them gets everything.
// In Python it reads `streams = [cuda.stream()] * N`.
#include <vector>

#include "normalise/stream_rounds.h"

using namespace gprof::examples;

int main(int argc, char** argv) {
  const NormaliseOptions options = ParseNormaliseOptions(argc, argv, "normalise_v3_bug");
  const Streams created(options.streams);
  // The bug: N copies of the first handle, not the N handles.
  const std::vector<cudaStream_t> streams(options.streams, created[0]);
  return NormaliseInStreams(options, streams);
}
