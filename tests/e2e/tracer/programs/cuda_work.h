// The CUDA work that exit_matrix and scripted do: on the doubles (cuda_work_mock.cpp) or on a GPU (tests/gpu/programs).
#pragma once

#include <cstddef>

namespace cuda_work {

// False: there is no CUDA, and the others must not be called.
bool Open();

// They answer CUDA's error code.
int Launch();            // a short kernel
int LaunchLong();        // one that is still running when the program ends
int LaunchGraph();       // a graph of kernels that take long together
int CapturedLaunches();  // how many launches went into it instead of to the GPU; no error code
int Synchronize();
int Allocate(std::size_t bytes);  // and frees it again
int ProfilerStart();
int ProfilerStop();

}  // namespace cuda_work
