// Copies an array from one GPU to another and back, with and without direct access between the two.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "common/arguments.h"
#include "common/cuda_memory.h"
#include "common/facts.h"
#include "common/nvtx_range.h"

using namespace gprof::examples;

namespace {

constexpr int kFirst = 0, kSecond = 1;

// True where the GPUs read each other's memory directly; without that, the driver stages through the host.
bool EnablePeerAccess(int from, int to) {
  int can_access = 0;
  Check(cudaDeviceCanAccessPeer(&can_access, from, to));
  if (can_access == 0) return false;
  Check(cudaSetDevice(from));
  Check(cudaDeviceEnablePeerAccess(to, 0));
  return true;
}

void CopyThereAndBack(const char* name, unsigned char* first, unsigned char* second, std::size_t bytes,
                      std::size_t rounds, cudaStream_t stream) {
  const NvtxRange range(name);
  for (std::size_t round = 0; round < rounds; ++round) {
    Check(cudaMemcpyPeerAsync(second, kSecond, first, kFirst, bytes, stream));
    Check(cudaMemcpyPeerAsync(first, kFirst, second, kSecond, bytes, stream));
  }
  Check(cudaStreamSynchronize(stream));
}

// Without peer access the driver copies through the host: each copy is then two, both between device memories.
bool WriteFacts(const std::string& path, std::size_t bytes, std::size_t rounds, bool is_direct) {
  const auto direct = static_cast<std::int64_t>(is_direct ? rounds : 0);
  const auto staged = static_cast<std::int64_t>(2 * rounds) - direct;
  Facts facts;
  for (const char* item : {"0>1", "1>0"}) {
    facts.AddCount("peer_copies", item, direct);
    facts.Add("peer_copies", item, "bytes", direct * static_cast<std::int64_t>(bytes));
  }
  for (const char* item : {"d2h", "h2d"}) {
    facts.AddCount("staged_copies", item, 2 * staged);
    facts.Add("staged_copies", item, "bytes", 2 * staged * static_cast<std::int64_t>(bytes));
  }
  return facts.Write(path, "peer_copy");
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments(argc, argv, "peer_copy [-n BYTES] [-r ROUNDS] [--facts FILE]");
  const std::size_t bytes = arguments.Number("-n", std::size_t{16} << 20);
  const std::size_t rounds = arguments.Number("-r", 10);
  const std::string facts_path = arguments.Text("--facts", "");
  arguments.Finish();
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 2) {
    std::fprintf(stderr, "peer_copy needs two GPUs, and there are %d\n", devices);
    return 77;
  }
  std::vector<unsigned char> data(bytes), result(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 131 >> 3);
  Check(cudaSetDevice(kSecond));
  const DeviceArray<unsigned char> second(bytes);
  Check(cudaSetDevice(kFirst));
  const DeviceArray<unsigned char> first(bytes);
  const Streams streams(1);
  Check(cudaMemcpy(first.data(), data.data(), bytes, cudaMemcpyHostToDevice));
  CopyThereAndBack("without peer access", first.data(), second.data(), bytes, rounds, streams[0]);
  const bool is_direct = EnablePeerAccess(kSecond, kFirst) && EnablePeerAccess(kFirst, kSecond);
  Check(cudaSetDevice(kFirst));
  CopyThereAndBack("with peer access", first.data(), second.data(), bytes, rounds, streams[0]);
  Check(cudaMemcpy(result.data(), second.data(), bytes, cudaMemcpyDeviceToHost));
  const bool correct = data == result;
  std::printf("%zu bytes there and back, %s: %s\n", bytes, is_direct ? "directly too" : "through the host only",
              correct ? "correct" : "wrong");
  if (!facts_path.empty() && !WriteFacts(facts_path, bytes, rounds, is_direct)) {
    std::fprintf(stderr, "cannot write %s\n", facts_path.c_str());
    return 1;
  }
  return correct ? 0 : 1;
}
