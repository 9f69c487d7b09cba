// Ranks of MPI with NVTX ranges, of which one is late in a known way: what record.sh records.
// usage: ranks sleep | busy | write | bcast | ring | even
#include <fcntl.h>
#include <mpi.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static double field[4096];

static void Sleep(double ms) {
  struct timespec time = {0, (long)(ms * 1e6)};
  nanosleep(&time, NULL);
}

// A fixed amount of work, not of time.
__attribute__((noinline)) void relax(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (int i = 1; i < 4095; ++i) field[i] = 0.5 * field[i] + 0.25 * (field[i - 1] + field[i + 1]) + 1e-9;
  }
}

static void load(double ms) {
  nvtxRangePushA("load");
  Sleep(ms);
  nvtxRangePop();
}

static void compute(int rounds) {
  nvtxRangePushA("compute");
  relax(rounds);
  nvtxRangePop();
}

static void write_restart(void) {
  static char block[1 << 20];
  nvtxRangePushA("write_restart");
  const int file = open("restart.bin", O_CREAT | O_TRUNC | O_WRONLY, 0600);
  for (int i = 0; i < 24; ++i) {
    if (write(file, block, sizeof block) < 0) perror("write");
    fsync(file);
  }
  close(file);
  nvtxRangePop();
}

static void reduce(void) {
  double sum = field[7], all;
  MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void exchange(void) {
  static char out[65536], in[65536];
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Sendrecv(out, sizeof out, MPI_BYTE, right, 1, in, sizeof in, MPI_BYTE, left, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(out, sizeof out, MPI_BYTE, left, 2, in, sizeof in, MPI_BYTE, right, 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

static void step(const char* how, int number) {
  static char input[1 << 20];
  if (!strcmp(how, "sleep")) load(rank == 2 ? 12 : 2);
  if (!strcmp(how, "busy")) load(1), compute(rank == 1 ? 6000 : 2000);
  if (!strcmp(how, "even")) load(3), compute(300);
  if (!strcmp(how, "write")) {
    load(2);
    if (rank == 0 && number % 3 == 2) write_restart();
  }
  if (!strcmp(how, "bcast")) {
    if (rank == 0) {
      nvtxRangePushA("read_input");
      Sleep(10);
      nvtxRangePop();
    }
    MPI_Bcast(input, sizeof input, MPI_BYTE, 0, MPI_COMM_WORLD);
    nvtxRangePushA("compute");
    Sleep(2);
    nvtxRangePop();
  }
  if (!strcmp(how, "ring")) {
    nvtxRangePushA("assemble");
    Sleep(rank == 3 ? 9 : 2);
    nvtxRangePop();
    exchange();
    return;
  }
  reduce();
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int number = 0; number < 10; ++number) {
    nvtxRangePushA("timestep");
    step(words[1], number);
    nvtxRangePop();
  }
  MPI_Finalize();
  return 0;
}
