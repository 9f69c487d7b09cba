// Second version: pinned host memory, copies that do not block, NVTX ranges. Still one stream.
#include "common/nvtx_range.h"
#include "normalise/normalise.h"

using namespace gprof::examples;

int main(int argc, char** argv) {
  const NormaliseOptions options = ParseNormaliseOptions(argc, argv, "normalise_v2_pinned_nvtx");
  PinnedArray<float> input(options.count), output(options.count);
  FillInput({input.data(), input.size()});
  const auto chunks = CutIntoChunks(options);
  const Streams streams(1);
  for (std::size_t round = 0; round < options.rounds; ++round) {
    const NvtxRange round_range("round");
    for (const auto& chunk : chunks) {
      const NvtxRange chunk_range("chunk");
      {
        const NvtxRange range("copy in");
        Check(cudaMemcpyAsync(chunk->device_values(), &input[chunk->first()], chunk->size_bytes(),
                              cudaMemcpyHostToDevice, streams[0]));
      }
      {
        const NvtxRange range("normalise");
        chunk->Normalise(streams[0]);
      }
      const NvtxRange range("copy out");
      Check(cudaMemcpyAsync(&output[chunk->first()], chunk->device_values(), chunk->size_bytes(),
                            cudaMemcpyDeviceToHost, streams[0]));
    }
    Check(cudaStreamSynchronize(streams[0]));
  }
  return Verify(options, {input.data(), input.size()}, {output.data(), output.size()});
}
