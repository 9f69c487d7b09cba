// Calls of MPI whose arguments are known, in four processes. Built by the test, against each MPI there is.
// usage: mpi_facts known | late | hang
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

// Where recording starts.
static void StartCuda(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver != NULL) ((int (*)(unsigned))dlsym(driver, "cuInit"))(0);
}

static void Messages(void) {
  int out[100], in[100];
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0; i < 100; ++i) out[i] = rank;
  MPI_Sendrecv(out, 100, MPI_INT, right, 7, in, 100, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Request requests[2];
  MPI_Irecv(in, 50, MPI_INT, left, 8, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, 50, MPI_INT, right, 8, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  if (rank == 0) MPI_Send(out, 3, MPI_DOUBLE_INT, 1, 9, MPI_COMM_WORLD);
  if (rank == 1)
    MPI_Recv(malloc(1000), 5, MPI_DOUBLE_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(out, 5, MPI_INT, MPI_PROC_NULL, 10, MPI_COMM_WORLD);
}

// Arguments that do not count are as bad as MPI allows.
static void Collectives(void) {
  double sums[1000], own[1000];
  for (int i = 0; i < 1000; ++i) own[i] = rank + i;
  MPI_Allreduce(own, sums, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, sums, 500, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  char* block = calloc(1, 1 << 20);
  MPI_Bcast(block, 1 << 20, MPI_BYTE, 1, MPI_COMM_WORLD);
  int mine = rank, all[64] = {0}, counts[4] = {1, 2, 3, 4}, places[4] = {0, 4, 8, 12};
  if (rank == 0) MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank != 0) MPI_Gather(&mine, 1, MPI_INT, NULL, -77, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
  if (rank == 0) MPI_Scatterv(all, counts, places, MPI_INT, MPI_IN_PLACE, -77, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
  if (rank != 0) MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, all, rank + 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Allgatherv(all, rank + 1, MPI_INT, all + 16, counts, places, MPI_INT, MPI_COMM_WORLD);
  int same[4] = {2, 2, 2, 2}, apart[4] = {0, 2, 4, 6};
  MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, all, same, apart, MPI_INT, MPI_COMM_WORLD);
  MPI_Reduce(own, sums, 10, MPI_DOUBLE, MPI_MAX, 3, MPI_COMM_WORLD);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Allreduce(own, sums, 2, MPI_DOUBLE, MPI_SUM, half);
  MPI_Comm_free(&half);
  printf("{\"fact\":\"sum\",\"rank\":%d,\"value\":%.0f}\n", rank, sums[0] + sums[1] + all[3] + block[77]);
}

static void Windows(void) {
  static int memory[16];
  MPI_Win window;
  MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  int value[4] = {1, 2, 3, 4};
  MPI_Put(value, 4, MPI_INT, (rank + 1) % size, 0, 4, MPI_INT, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  printf("{\"fact\":\"put\",\"rank\":%d,\"value\":%d}\n", rank, memory[3]);
}

// A barrier that nobody enters but this one is asked for again and again.
static void Polls(void) {
  MPI_Request request;
  int done = 0, polls = 0;
  if (rank == 0) {
    char byte;
    MPI_Irecv(&byte, 1, MPI_BYTE, 1, 99, MPI_COMM_WORLD, &request);
    for (; !done; ++polls) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    printf("{\"fact\":\"polls\",\"count\":%d}\n", polls);
  } else if (rank == 1) {
    usleep(50000);
    MPI_Send("x", 1, MPI_BYTE, 0, 99, MPI_COMM_WORLD);
  }
}

static void ComeLate(void) {
  for (int i = 0; i < 10; ++i) {
    if (rank == 2) usleep(20000);
    double value = i, sum;
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

int main(int count, char** arguments) {
  const char* what = count > 1 ? arguments[1] : "known";
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  StartCuda();
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(what, "known") == 0) {
    Messages();
    Collectives();
    Windows();
    Polls();
  } else if (strcmp(what, "late") == 0) {
    ComeLate();
  } else if (strcmp(what, "hang") == 0) {
    printf("{\"fact\":\"ready\",\"rank\":%d,\"pid\":%d}\n", rank, (int)getpid());
    fflush(stdout);
    if (rank == 0) MPI_Recv(&count, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sleep(100);
  }
  MPI_Finalize();
  return 0;
}
