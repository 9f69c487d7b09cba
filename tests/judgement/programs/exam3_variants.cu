// Programs of the third examination, as they are written after tutorials: from the start to the end, with what a whole
// run has. They and their labels were there before anybody profiled them.
//
//   exam3_variants VARIANT [--lock FILE]
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>
#include <thrust/device_vector.h>
#include <thrust/sort.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call)                                                        \
  do {                                                                     \
    const cudaError_t result = (call);                                     \
    if (result != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(result)); \
      std::exit(1);                                                        \
    }                                                                      \
  } while (false)

namespace {

void Work(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) continue;
}

float* OnDevice(size_t count) {
  float* data = nullptr;
  CHECK(cudaMalloc(&data, count * sizeof(float)));
  return data;
}

float* Pinned(size_t count) {
  float* data = nullptr;
  CHECK(cudaMallocHost(&data, count * sizeof(float)));
  return data;
}

__global__ void Add(const float* a, const float* b, float* c, size_t count) {
  const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < count) c[i] = a[i] + b[i];
}

// One addition of two arrays that came from malloc, as everybody's first program.
void VectorAdd() {
  constexpr size_t kCount = 1 << 26;
  std::vector<float> a(kCount, 1.0F), b(kCount, 2.0F), c(kCount);
  float *x = OnDevice(kCount), *y = OnDevice(kCount), *z = OnDevice(kCount);
  CHECK(cudaMemcpy(x, a.data(), kCount * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(y, b.data(), kCount * 4, cudaMemcpyHostToDevice));
  Add<<<kCount / 256, 256>>>(x, y, z, kCount);
  CHECK(cudaMemcpy(c.data(), z, kCount * 4, cudaMemcpyDeviceToHost));
  for (float* data : {x, y, z}) CHECK(cudaFree(data));
}

__global__ void Polynomial(float* values, int count, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float value = values[i];
  for (int k = 0; k < rounds; ++k) value = value * 0.999F + 0.5F;
  values[i] = value;
}

// Two streams and two buffers, but each chunk is waited for before the next one is sent.
void ChunksWaitedFor() {
  constexpr int kCount = 1 << 22, kChunks = 60;
  float *host = Pinned(2 * kCount), *device = OnDevice(2 * kCount);
  cudaStream_t streams[2];
  for (auto& stream : streams) CHECK(cudaStreamCreate(&stream));
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    const int k = chunk % 2;
    float *from = host + k * kCount, *to = device + k * kCount;
    CHECK(cudaMemcpyAsync(to, from, kCount * 4, cudaMemcpyHostToDevice, streams[k]));
    Polynomial<<<kCount / 256, 256, 0, streams[k]>>>(to, kCount, 3000);
    CHECK(cudaMemcpyAsync(from, to, kCount * 4, cudaMemcpyDeviceToHost, streams[k]));
    CHECK(cudaStreamSynchronize(streams[k]));
  }
}

__global__ void BlockSums(const float* values, float* sums, int count) {
  __shared__ float mine[256];
  float sum = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) sum += values[i];
  mine[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) mine[threadIdx.x] += mine[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = mine[0];
}

// Sums of blocks come back in each iteration, and the host adds them up.
void SumsFinishedOnTheHost() {
  constexpr int kCount = 1 << 22, kBlocks = 1024;
  float *values = OnDevice(kCount), *sums = OnDevice(kBlocks);
  CHECK(cudaMemset(values, 0, kCount * 4));
  std::vector<float> partial(kBlocks);
  float total = 0;
  for (int i = 0; i < 3000; ++i) {
    BlockSums<<<kBlocks, 256>>>(values, sums, kCount);
    CHECK(cudaMemcpy(partial.data(), sums, kBlocks * 4, cudaMemcpyDeviceToHost));
    total += std::accumulate(partial.begin(), partial.end(), 0.0F);
  }
  std::printf("%f\n", total);
}

__global__ void Heat(const float* from, float* to, int size) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= size - 1 || y >= size - 1) return;
  const int i = y * size + x;
  to[i] = from[i] + 0.1F * (from[i - 1] + from[i + 1] + from[i - size] + from[i + size] - 4 * from[i]);
}

// Every 20 steps the grid is written into a file.
void HeatIntoAFile() {
  constexpr int kSize = 2048;
  constexpr size_t kCount = size_t(kSize) * kSize;
  float *a = OnDevice(kCount), *b = OnDevice(kCount);
  CHECK(cudaMemset(a, 0, kCount * 4));
  CHECK(cudaMemset(b, 0, kCount * 4));
  std::vector<float> frame(kCount);
  char path[] = "/tmp/heatXXXXXX";
  const int file = mkstemp(path);
  unlink(path);
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 20; ++k) {
      Heat<<<dim3(kSize / 32, kSize / 8), dim3(32, 8)>>>(a, b, kSize);
      std::swap(a, b);
    }
    CHECK(cudaMemcpy(frame.data(), a, kCount * 4, cudaMemcpyDeviceToHost));
    if (write(file, frame.data(), kCount * 4) != ssize_t(kCount * 4) || fdatasync(file) != 0) std::exit(2);
  }
  close(file);
}

// Managed memory that the host and the GPU change in turn.
void ManagedTakesTurns() {
  constexpr int kCount = 1 << 22;
  float* values = nullptr;
  CHECK(cudaMallocManaged(&values, kCount * 4));
  std::fill_n(values, kCount, 1.0F);
  for (int i = 0; i < 8; ++i) {
    Polynomial<<<kCount / 256, 256>>>(values, kCount, 50);
    CHECK(cudaDeviceSynchronize());
    for (int k = 0; k < kCount; k += 64) values[k] += 1;
  }
}

__global__ void Expand(const int* level, int* next, int* again, int count, int depth) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count || level[i] != depth) return;
  next[(i + 1) % count] = depth + 1;
  *again = 1;
}

__global__ void Merge(int* level, const int* next, int count, int depth) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count && next[i] == depth + 1 && level[i] < 0) level[i] = depth + 1;
}

// Breadth-first search: the host asks after each level whether there is another one.
void SearchByLevels() {
  constexpr int kCount = 1 << 18;
  int *level = reinterpret_cast<int*>(OnDevice(kCount)), *next = reinterpret_cast<int*>(OnDevice(kCount));
  int* again = reinterpret_cast<int*>(OnDevice(1));
  CHECK(cudaMemset(level, 0xff, kCount * 4));
  CHECK(cudaMemset(next, 0xff, kCount * 4));
  CHECK(cudaMemset(level, 0, 4));
  for (int depth = 0, goes_on = 1; goes_on != 0 && depth < 2500; ++depth) {
    goes_on = 0;
    CHECK(cudaMemcpy(again, &goes_on, 4, cudaMemcpyHostToDevice));
    Expand<<<kCount / 256, 256>>>(level, next, again, kCount, depth);
    Merge<<<kCount / 256, 256>>>(level, next, kCount, depth);
    CHECK(cudaMemcpy(&goes_on, again, 4, cudaMemcpyDeviceToHost));
  }
}

__global__ void SortBlock(float* values) {
  __shared__ float mine[512];
  const int i = threadIdx.x;
  mine[i] = values[i];
  __syncthreads();
  for (int size = 2; size <= 512; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      const int other = i ^ stride;
      if (other > i && (mine[i] > mine[other]) == ((i & size) == 0)) {
        const float kept = mine[i];
        mine[i] = mine[other];
        mine[other] = kept;
      }
      __syncthreads();
    }
  }
  values[i] = mine[i];
}

// A kernel of one block for each of many segments.
void SegmentsOneByOne() {
  constexpr int kSegments = 6000;
  float* values = OnDevice(size_t(kSegments) * 512);
  CHECK(cudaMemset(values, 0, size_t(kSegments) * 512 * 4));
  for (int segment = 0; segment < kSegments; ++segment) SortBlock<<<1, 512>>>(values + size_t(segment) * 512);
  CHECK(cudaDeviceSynchronize());
}

__device__ float Normal(float d) { return 0.5F * erfcf(-d * 0.70710678F); }

__global__ void Price(const float* stock, const float* strike, const float* years, float* call, float* put, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float root = sqrtf(years[i]), rate = 0.02F, volatility = 0.3F;
  const float d1 =
      (logf(stock[i] / strike[i]) + (rate + 0.5F * volatility * volatility) * years[i]) / (volatility * root);
  const float d2 = d1 - volatility * root, discount = expf(-rate * years[i]);
  call[i] = stock[i] * Normal(d1) - strike[i] * discount * Normal(d2);
  put[i] = strike[i] * discount * Normal(-d2) - stock[i] * Normal(-d1);
}

void OptionsPriced() {
  constexpr int kCount = 1 << 23;
  std::vector<float> host(kCount, 30.0F);
  float* arrays[5];
  for (float*& array : arrays) array = OnDevice(kCount);
  for (int k = 0; k < 3; ++k) CHECK(cudaMemcpy(arrays[k], host.data(), size_t(kCount) * 4, cudaMemcpyHostToDevice));
  for (int i = 0; i < 4000; ++i)
    Price<<<kCount / 128, 128>>>(arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], kCount);
  CHECK(cudaMemcpy(host.data(), arrays[3], size_t(kCount) * 4, cudaMemcpyDeviceToHost));
}

constexpr int kTile = 32;

__global__ void Diagonal(float* m, int size, int k) {
  __shared__ float tile[kTile][kTile];
  const int x = threadIdx.x;
  for (int y = 0; y < kTile; ++y) tile[y][x] = m[size_t(k * kTile + y) * size + k * kTile + x];
  __syncthreads();
  for (int i = 0; i < kTile - 1; ++i) {
    if (x > i) {
      tile[x][i] /= tile[i][i];
      for (int j = i + 1; j < kTile; ++j) tile[x][j] -= tile[x][i] * tile[i][j];
    }
    __syncthreads();
  }
  for (int y = 0; y < kTile; ++y) m[size_t(k * kTile + y) * size + k * kTile + x] = tile[y][x];
}

__global__ void Inner(float* m, int size, int k) {
  const int row = (k + 1 + blockIdx.y) * kTile + threadIdx.y, column = (k + 1 + blockIdx.x) * kTile + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < kTile; ++i)
    sum += m[size_t(row) * size + k * kTile + i] * m[size_t(k * kTile + i) * size + column];
  m[size_t(row) * size + column] -= sum;
}

// A decomposition by tiles: a kernel of one block, which all others wait for, and what is left gets smaller.
void TilesInTurn() {
  constexpr int kSize = 1024, kTiles = kSize / kTile;
  float* m = OnDevice(size_t(kSize) * kSize);
  std::vector<float> host(size_t(kSize) * kSize, 1.0F);
  for (int i = 0; i < kSize; ++i) host[size_t(i) * kSize + i] = 2000;
  CHECK(cudaMemcpy(m, host.data(), host.size() * 4, cudaMemcpyHostToDevice));
  for (int repeat = 0; repeat < 30; ++repeat) {
    for (int k = 0; k < kTiles; ++k) {
      Diagonal<<<1, kTile>>>(m, kSize, k);
      const int left = kTiles - k - 1;
      if (left > 0) Inner<<<dim3(left, left), dim3(kTile, kTile)>>>(m, kSize, k);
    }
  }
  CHECK(cudaDeviceSynchronize());
}

// A library that allocates its scratch memory in each call.
void SortedByThrust() {
  thrust::device_vector<unsigned> keys(1 << 18), values(1 << 18);
  for (int i = 0; i < 400; ++i) thrust::sort_by_key(keys.begin(), keys.end(), values.begin());
}

// A pinned buffer is made for each batch, because pinned is faster.
void PinnedForEachBatch() {
  constexpr size_t kCount = 1 << 22;
  std::vector<float> batch(kCount, 1.0F);
  float* device = OnDevice(kCount);
  for (int i = 0; i < 40; ++i) {
    float* staged = Pinned(kCount);
    std::copy(batch.begin(), batch.end(), staged);
    CHECK(cudaMemcpyAsync(device, staged, kCount * 4, cudaMemcpyHostToDevice));
    Polynomial<<<kCount / 256, 256>>>(device, kCount, 200);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeHost(staged));
  }
}

// Tests, each of which leaves a clean device behind.
void ResetAfterEachTest() {
  for (int test = 0; test < 5; ++test) {
    float* values = OnDevice(1 << 20);
    CHECK(cudaMemset(values, 0, 4 << 20));
    for (int i = 0; i < 10; ++i) Polynomial<<<4096, 256>>>(values, 1 << 20, 100);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(values));
    CHECK(cudaDeviceReset());
  }
}

// Threads with streams of their own, and one mutex around all that each does.
void ThreadsWithOneMutex() {
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&mutex] {
      cudaStream_t stream{};
      CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      float* values = OnDevice(1 << 20);
      for (int i = 0; i < 80; ++i) {
        const std::lock_guard lock(mutex);
        Work(0.0006);
        Polynomial<<<4096, 256, 0, stream>>>(values, 1 << 20, 3000);
        CHECK(cudaStreamSynchronize(stream));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

__global__ void RowTimesVector(const int* starts, const int* columns, const float* m, const float* x, float* y,
                               int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int k = starts[row]; k < starts[row + 1]; ++k) sum += m[k] * x[columns[k]];
  y[row] = sum;
}

// Products of a sparse matrix with vectors, a norm after every tenth.
void SparseProducts() {
  constexpr int kRows = 1 << 21, kPerRow = 16;
  std::vector<int> starts(kRows + 1), columns(size_t(kRows) * kPerRow);
  for (int i = 0; i <= kRows; ++i) starts[i] = i * kPerRow;
  for (size_t i = 0; i < columns.size(); ++i) columns[i] = int((i * 2654435761U) % kRows);
  int *s = reinterpret_cast<int*>(OnDevice(starts.size())), *c = reinterpret_cast<int*>(OnDevice(columns.size()));
  float *m = OnDevice(columns.size()), *x = OnDevice(kRows), *y = OnDevice(kRows), *sums = OnDevice(256);
  CHECK(cudaMemcpy(s, starts.data(), starts.size() * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(c, columns.data(), columns.size() * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(m, 0, columns.size() * 4));
  CHECK(cudaMemset(x, 0, kRows * 4));
  float norms[256];
  for (int i = 0; i < 5000; ++i) {
    RowTimesVector<<<kRows / 256, 256>>>(s, c, m, x, y, kRows);
    std::swap(x, y);
    if (i % 10 < 9) continue;
    BlockSums<<<256, 256>>>(x, sums, kRows);
    CHECK(cudaMemcpy(norms, sums, sizeof(norms), cudaMemcpyDeviceToHost));
  }
}

__global__ void Stencil3d(const float* from, float* to, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size * size && i < size * size * (size - 1)) to[i] = 0.5F * (from[i - size * size] + from[i + size * size]);
}

// A small block of a grid, whose six faces are copied into each other before each step.
void FacesCopied() {
  constexpr int kSize = 64, kFace = kSize * kSize;
  float *a = OnDevice(kSize * kFace), *b = OnDevice(kSize * kFace), *faces = OnDevice(6 * kFace);
  for (int i = 0; i < 800; ++i) {
    for (int face = 0; face < 6; ++face)
      CHECK(cudaMemcpyAsync(faces + face * kFace, a + face * kFace, kFace * 4, cudaMemcpyDeviceToDevice));
    Stencil3d<<<kSize * kFace / 256, 256>>>(a, b, kSize);
    std::swap(a, b);
  }
  CHECK(cudaDeviceSynchronize());
}

// Asks once a millisecond whether a kernel of a third of that is done.
void SleepsUntilDone() {
  float* values = OnDevice(1 << 22);
  cudaEvent_t done{};
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  for (int i = 0; i < 300; ++i) {
    Polynomial<<<1 << 14, 256>>>(values, 1 << 22, 3000);
    CHECK(cudaEventRecord(done));
    while (cudaEventQuery(done) == cudaErrorNotReady) usleep(1000);
  }
}

// As it should be: three streams, pinned memory, nothing waited for. The link is the limit.
void StreamsOverPcie() {
  constexpr int kCount = 1 << 23, kParts = 3;
  float *host = Pinned(size_t(kParts) * kCount), *device = OnDevice(size_t(kParts) * kCount);
  cudaStream_t streams[kParts];
  for (auto& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int i = 0; i < 120; ++i) {
    const int k = i % kParts;
    float *from = host + size_t(k) * kCount, *to = device + size_t(k) * kCount;
    CHECK(cudaMemcpyAsync(to, from, size_t(kCount) * 4, cudaMemcpyHostToDevice, streams[k]));
    Polynomial<<<kCount / 256, 256, 0, streams[k]>>>(to, kCount, 500);
    CHECK(cudaMemcpyAsync(from, to, size_t(kCount) * 4, cudaMemcpyDeviceToHost, streams[k]));
  }
  CHECK(cudaDeviceSynchronize());
}

__global__ void Multiply(const float* a, const float* b, float* c, int size) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < size; ++k) sum += a[size_t(row) * size + k] * b[size_t(k) * size + column];
  c[size_t(row) * size + column] = sum;
}

void MatricesMultiplied() {
  constexpr int kSize = 2048;
  constexpr size_t kCount = size_t(kSize) * kSize;
  std::vector<float> host(kCount, 1.0F);
  float *a = OnDevice(kCount), *b = OnDevice(kCount), *c = OnDevice(kCount);
  CHECK(cudaMemcpy(a, host.data(), kCount * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(b, host.data(), kCount * 4, cudaMemcpyHostToDevice));
  for (int i = 0; i < 150; ++i) Multiply<<<dim3(kSize / 16, kSize / 16), dim3(16, 16)>>>(a, b, c, kSize);
  CHECK(cudaMemcpy(host.data(), c, kCount * 4, cudaMemcpyDeviceToHost));
}

// A graph of long kernels, made once and launched in each step.
void GraphMadeOnce() {
  constexpr int kCount = 1 << 22;
  float* values = OnDevice(kCount);
  cudaStream_t stream{};
  cudaGraph_t graph{};
  cudaGraphExec_t executable{};
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int k = 0; k < 20; ++k) Polynomial<<<kCount / 256, 256, 0, stream>>>(values, kCount, 500);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 600; ++i) CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
}

// A few columns of a matrix that the host has: rows of 16 bytes, far apart.
void ColumnsCopied() {
  constexpr size_t kRows = 1 << 16, kPitch = 1024 * 4, kWidth = 16;
  std::vector<char> matrix(kRows * kPitch);
  float* columns = OnDevice(kRows * kWidth / 4);
  for (int i = 0; i < 40; ++i) {
    CHECK(cudaMemcpy2D(columns, kWidth, matrix.data() + i * kWidth, kPitch, kWidth, kRows, cudaMemcpyHostToDevice));
    Polynomial<<<kRows * kWidth / 4 / 256, 256>>>(columns, kRows * kWidth / 4, 100);
  }
  CHECK(cudaDeviceSynchronize());
}

const std::map<std::string, void (*)()> kVariants{
    {"vector_add", VectorAdd},
    {"chunks_waited_for", ChunksWaitedFor},
    {"sums_finished_on_the_host", SumsFinishedOnTheHost},
    {"heat_into_a_file", HeatIntoAFile},
    {"managed_takes_turns", ManagedTakesTurns},
    {"search_by_levels", SearchByLevels},
    {"segments_one_by_one", SegmentsOneByOne},
    {"options_priced", OptionsPriced},
    {"tiles_in_turn", TilesInTurn},
    {"sorted_by_thrust", SortedByThrust},
    {"pinned_for_each_batch", PinnedForEachBatch},
    {"reset_after_each_test", ResetAfterEachTest},
    {"threads_with_one_mutex", ThreadsWithOneMutex},
    {"sparse_products", SparseProducts},
    {"faces_copied", FacesCopied},
    {"sleeps_until_done", SleepsUntilDone},
    {"streams_over_pcie", StreamsOverPcie},
    {"matrices_multiplied", MatricesMultiplied},
    {"graph_made_once", GraphMadeOnce},
    {"columns_copied", ColumnsCopied},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || !kVariants.contains(argv[1])) {
    for (const auto& [name, function] : kVariants) std::printf("%s\n", name.c_str());
    return argc < 2 ? 0 : 2;
  }
  if (argc > 3 && std::string(argv[2]) == "--lock") {
    const int file = open(argv[3], O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0 || flock(file, LOCK_EX) != 0) return 3;
  }
  kVariants.at(argv[1])();
  return 0;
}
