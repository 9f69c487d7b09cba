#include "normalise/normalise.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "common/arguments.h"
#include "divide_by.h"
#include "partial_reduce.h"
#include "single_thread_sum.h"

namespace gprof::examples {
namespace {

constexpr unsigned kPartialSums = 1024;

std::size_t ChunkCount(const NormaliseOptions& options) {
  return (options.count + options.streams - 1) / options.streams;
}

}  // namespace

NormaliseOptions ParseNormaliseOptions(int argc, char** argv, const char* program) {
  Arguments arguments(argc, argv, std::string(program) + " [-n ELEMENTS] [-s STREAMS] [-r ROUNDS]");
  NormaliseOptions options;
  options.count = arguments.Number("-n", std::size_t{1} << 24);
  options.streams = arguments.Number("-s", 8);
  options.rounds = arguments.Number("-r", 10);
  arguments.Finish();
  return options;
}

Chunk::Chunk(std::size_t first, std::size_t count)
    : first_(first), count_(count), values_(count), partial_sums_(kPartialSums), sum_(1) {}

void Chunk::Normalise(cudaStream_t stream) const {
  Check(kernels::PartialReduce(stream, values_.data(), count_, partial_sums_.data(), kPartialSums));
  Check(kernels::SingleThreadSum(stream, partial_sums_.data(), kPartialSums, sum_.data()));
  Check(kernels::DivideBy(stream, values_.data(), count_, sum_.data()));
}

std::vector<std::unique_ptr<Chunk>> CutIntoChunks(const NormaliseOptions& options) {
  std::vector<std::unique_ptr<Chunk>> chunks;
  const std::size_t size = ChunkCount(options);
  for (std::size_t first = 0; first < options.count; first += size) {
    chunks.push_back(std::make_unique<Chunk>(first, std::min(size, options.count - first)));
  }
  return chunks;
}

void FillInput(std::span<float> input) {
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(1 + i % 7);
}

int Verify(const NormaliseOptions& options, std::span<const float> input, std::span<const float> output) {
  const std::size_t size = ChunkCount(options);
  std::size_t wrong = 0;
  for (std::size_t first = 0; first < options.count; first += size) {
    const auto in = input.subspan(first, std::min(size, options.count - first));
    double sum = 0;
    for (const float value : in) sum += value;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double expected = in[i] / sum;
      // Written so that NaN counts as wrong.
      if (!(std::abs(output[first + i] - expected) <= 1e-4 * expected)) ++wrong;
    }
  }
  std::printf("%zu elements, %zu chunks, %zu rounds: ", options.count, (options.count + size - 1) / size,
              options.rounds);
  if (wrong > 0) {
    std::printf("%zu elements are wrong\n", wrong);
    return 1;
  }
  std::printf("correct\n");
  return 0;
}

}  // namespace gprof::examples
