// Third version: every chunk has a stream of its own, so copies and kernels of different chunks run at the same time.
#include <vector>

#include "normalise/stream_rounds.h"

using namespace gprof::examples;

int main(int argc, char** argv) {
  const NormaliseOptions options = ParseNormaliseOptions(argc, argv, "normalise_v3_streams");
  const Streams created(options.streams);
  std::vector<cudaStream_t> streams;
  for (std::size_t i = 0; i < created.size(); ++i) streams.push_back(created[i]);
  return NormaliseInStreams(options, streams);
}
