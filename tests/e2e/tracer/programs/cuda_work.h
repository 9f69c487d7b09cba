// The CUDA work that exit_matrix does: on the doubles (cuda_work_mock.cpp) or on a GPU (tests/gpu/programs).
#pragma once

namespace cuda_work {

// False: there is no CUDA, and the others must not be called.
bool Open();

// All answer CUDA's error code.
int Launch();       // a short kernel
int LaunchLong();   // one that is still running when the program ends
int LaunchGraph();  // a graph of kernels that take long together
int Synchronize();

}  // namespace cuda_work
