// What `what-if` delays in the running program: a file that the launcher writes and GPROF_DELAYS names. Each line is
// one of these words, a space and a value. Lines that a tracer does not know are left out.
#pragma once

#include <cstddef>

namespace gprof::trace::delay_request {

inline constexpr char kFile[] = "delays";  // in the run folder
inline constexpr std::size_t kMostBytes = 65536;

inline constexpr char kSeed[] = "seed";      // of the order of the windows
inline constexpr char kWindow[] = "window";  // length in ns of each
// Then the things, each with its delays in ns (separated by commas, 0 among them), a space and its name, by which the
// windows are known. The part of the name behind a colon is what is looked for; a trailing * stands for any ending.
inline constexpr char kLaunches[] = "launches";  // of kernels and graphs, in the calling thread
inline constexpr char kSync[] = "sync";          // calls that wait for the GPU
inline constexpr char kCopies[] = "copies";      // calls that copy or set memory
inline constexpr char kApi[] = "api";            // calls of a CUDA function: "api:cudaFree"
inline constexpr char kRange[] = "range";        // NVTX ranges, when they begin: "range:load"
// Kernels, by another one in their stream that does nothing for so long. Between delays and name stand the hashes (see
// below) of the symbols, separated by commas.
inline constexpr char kKernel[] = "kernel";
// Calls made from a line: those with one of these frames on their stack, by their hashes, which stand where those of
// symbols do: "line:step.cu:12".
inline constexpr char kLine[] = "line";

inline constexpr std::size_t kMostThings = 16, kMostDelays = 8, kMostSymbols = 256;

// FNV-1a.
constexpr unsigned long long HashOfSymbol(const char* symbol) {
  unsigned long long hash = 0xcbf29ce484222325ull;
  for (; *symbol != 0; ++symbol) hash = (hash ^ static_cast<unsigned char>(*symbol)) * 0x100000001b3ull;
  return hash;
}

// Of a frame: the file of its module, and where it is in that.
constexpr unsigned long long HashOfFrame(const char* path, std::size_t bytes, unsigned long long offset) {
  unsigned long long hash = 0xcbf29ce484222325ull;
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<unsigned char>(path[i])) * 0x100000001b3ull;
  return (hash ^ offset) * 0x100000001b3ull;
}

// As the kernel that delays others is called, so that it is not taken for the program's.
inline constexpr char kSpinKernel[] = "gprof_delay";

}  // namespace gprof::trace::delay_request
