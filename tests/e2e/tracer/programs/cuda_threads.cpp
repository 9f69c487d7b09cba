// Many threads that launch work at the same time: usage: cuda_threads THREADS LAUNCHES
#include <cuda_runtime_api.h>

#include <thread>
#include <vector>

#include "facts.h"
#include "fake_kernel.h"

namespace {
const FakeKernel work("_Z4workv");
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 8;
  const int launches = argc > 2 ? std::atoi(argv[2]) : 1000;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([=] {
      cudaStream_t stream;
      CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      for (int i = 0; i < launches; ++i) CHECK(work.Launch(1, 32, stream));
      CHECK(cudaStreamSynchronize(stream));
      facts::Say(R"({"fact":"thread","tid":%u,"launches":%d})", facts::Tid(), launches);
    });
  }
  for (std::thread& t : all) t.join();
  return 0;
}
