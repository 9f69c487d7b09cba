// The code of kernels (cubins) as it was loaded, by the checksum that CUPTI's samples name it with.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gprof::tracer {

struct LoadedCode {
  uint64_t checksum = 0;
  const void* bytes = nullptr;
  std::size_t size = 0;
  bool has_lines = false;  // of its source
};

// Copies it, as the program may free what it was loaded from. [any thread]
void NoteLoadedCode(uint64_t checksum, const void* bytes, std::size_t size);
// Its bytes are null where it is not known. [any thread]
LoadedCode FindLoadedCode(uint64_t checksum);
// Writes it into the folder for whoever takes it apart, once. [one thread at a time]
void WriteLoadedCode(const char* folder, uint64_t checksum);

}  // namespace gprof::tracer
