// A program that does a known amount of every kind of work and says how much: the yardstick of the tests on a GPU.
// Every part below does its work and writes what it did into the facts; nothing is estimated.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/cuda_check.h"
#include "common/facts.h"

namespace gprof::examples {

// Makes a call of the CUDA runtime, checks it and counts it under its own name. Two sections, because a profiler may
// leave the cheap query calls out.
#define COUNTED_CALL(facts, function, ...) ::gprof::examples::Counted(facts, "api", #function, function(__VA_ARGS__))
#define COUNTED_QUERY(facts, function, ...) \
  ::gprof::examples::Counted(facts, "api_queries", #function, function(__VA_ARGS__))

inline void Counted(Facts& facts, const char* section, const char* function, cudaError_t error,
                    std::source_location where = std::source_location::current()) {
  facts.AddCount(section, function);
  Check(error, where);
}

// Counts a launch made by the functions of kernels/: each is one cudaLaunchKernel.
void CountLaunch(Facts& facts, cudaError_t error, const char* kernel, const std::string& stream_name);

// Fields `count` and `bytes` of a copy: "h2d/pinned/device/async".
void CountCopy(Facts& facts, const std::string& item, std::size_t bytes);

// Streams by the NVTX names that they are given.
struct NamedStreams {
  cudaStream_t blocking = nullptr;       // "facts blocking"
  cudaStream_t non_blocking = nullptr;   // "facts non-blocking"
  cudaStream_t high_priority = nullptr;  // "facts high priority"
};
inline constexpr char kBlocking[] = "facts blocking";
inline constexpr char kNonBlocking[] = "facts non-blocking";
inline constexpr char kHighPriority[] = "facts high priority";
inline constexpr char kDefaultStream[] = "default";

NamedStreams CreateStreams(Facts& facts);
void DestroyStreams(Facts& facts, const NamedStreams& streams);

void LaunchKernels(Facts& facts, const NamedStreams& streams);
void LaunchShapes(Facts& facts, const NamedStreams& streams);
void LaunchTimedKernels(Facts& facts, const NamedStreams& streams);
void LaunchGraph(Facts& facts, const NamedStreams& streams);
void CopyHostAndDevice(Facts& facts, const NamedStreams& streams);
void CopyWithinDevice(Facts& facts, const NamedStreams& streams);
void CopyArrays(Facts& facts);
void CopyManaged(Facts& facts);
void SetMemory(Facts& facts, const NamedStreams& streams);
void Synchronise(Facts& facts, const NamedStreams& streams);
void QueryMuch(Facts& facts, const NamedStreams& streams);
void AllocateInStream(Facts& facts, const NamedStreams& streams);
void Annotate(Facts& facts);
void RunThreads(Facts& facts);

}  // namespace gprof::examples
