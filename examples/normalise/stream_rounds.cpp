#include "normalise/stream_rounds.h"

#include <nvtx3/nvToolsExtCudaRt.h>

#include <string>

#include "common/nvtx_range.h"

namespace gprof::examples {
namespace {

void RunRound(std::span<const std::unique_ptr<Chunk>> chunks, std::span<const cudaStream_t> streams,
              PinnedArray<float>& input, PinnedArray<float>& output) {
  const NvtxRange range("round");
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const Chunk& chunk = *chunks[i];
    Check(cudaMemcpyAsync(chunk.device_values(), &input[chunk.first()], chunk.size_bytes(), cudaMemcpyHostToDevice,
                          streams[i]));
    chunk.Normalise(streams[i]);
    Check(cudaMemcpyAsync(&output[chunk.first()], chunk.device_values(), chunk.size_bytes(), cudaMemcpyDeviceToHost,
                          streams[i]));
  }
  for (const cudaStream_t stream : streams) Check(cudaStreamSynchronize(stream));
}

}  // namespace

int NormaliseInStreams(const NormaliseOptions& options, std::span<const cudaStream_t> streams) {
  for (std::size_t i = 0; i < streams.size(); ++i) {
    nvtxNameCudaStreamA(streams[i], ("chunk " + std::to_string(i)).c_str());
  }
  PinnedArray<float> input(options.count), output(options.count);
  FillInput({input.data(), input.size()});
  const auto chunks = CutIntoChunks(options);
  for (std::size_t round = 0; round < options.rounds; ++round) RunRound(chunks, streams, input, output);
  return Verify(options, {input.data(), input.size()}, {output.data(), output.size()});
}

}  // namespace gprof::examples
