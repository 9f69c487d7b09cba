// First version: ordinary host memory, blocking copies, the default stream.
#include <vector>

#include "normalise/normalise.h"

using namespace gprof::examples;

int main(int argc, char** argv) {
  const NormaliseOptions options = ParseNormaliseOptions(argc, argv, "normalise_v1_pageable");
  std::vector<float> input(options.count), output(options.count);
  FillInput(input);
  const auto chunks = CutIntoChunks(options);
  for (std::size_t round = 0; round < options.rounds; ++round) {
    for (const auto& chunk : chunks) {
      Check(cudaMemcpy(chunk->device_values(), &input[chunk->first()], chunk->size_bytes(), cudaMemcpyHostToDevice));
      chunk->Normalise(nullptr);
      Check(cudaMemcpy(&output[chunk->first()], chunk->device_values(), chunk->size_bytes(), cudaMemcpyDeviceToHost));
    }
  }
  return Verify(options, input, output);
}
