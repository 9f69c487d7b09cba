/* Host work within NVTX ranges, timed by itself: marked_work TURNS DEPTH THREADS. Prints the nanoseconds of a step in
   each of its rounds; a step is DEPTH nested ranges around TURNS of a loop. Needs no GPU. */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kRounds = 9, kMostThreads = 64 };
static const double kRoundNs = 50e6;
static long work_turns, depth;
static volatile uint64_t sink;
static double rounds_ns[kMostThreads][kRounds];

static double NowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void Work(long turns) {
  uint64_t x = sink + 1;
  for (long i = 0; i < turns; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
  sink = x;
}

static void Step(void) {
  for (long i = 0; i < depth; ++i) nvtxRangePushA("work");
  Work(work_turns);
  for (long i = 0; i < depth; ++i) nvtxRangePop();
}

static void* Run(void* thread) {
  double* own = rounds_ns[(intptr_t)thread];
  for (int i = 0; i < 1000; ++i) Step();
  for (int round = 0; round < kRounds; ++round) {
    long steps = 0;
    const double start_ns = NowNs();
    double end_ns = start_ns;
    for (; end_ns - start_ns < kRoundNs; end_ns = NowNs()) {
      for (int i = 0; i < 100; ++i) Step();
      steps += 100;
    }
    own[round] = (end_ns - start_ns) / (double)steps;
  }
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[kMostThreads];
  if (argc != 4) return 2;
  work_turns = atol(argv[1]);
  depth = atol(argv[2]);
  const long count = atol(argv[3]);
  if (count < 1 || count > kMostThreads) return 2;
  for (intptr_t i = 0; i < count; ++i) pthread_create(&threads[i], NULL, Run, (void*)i);
  for (long i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  printf("{\"step_ns\": [");
  for (int round = 0; round < kRounds; ++round) {
    double sum_ns = 0;
    for (long i = 0; i < count; ++i) sum_ns += rounds_ns[i][round];
    printf("%s%.3f", round > 0 ? ", " : "", sum_ns / (double)count);
  }
  printf("]}\n");
  return 0;
}
