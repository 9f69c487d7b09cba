// Calls about memory that go straight to the kernel. UCX and Open MPI put code of theirs at the start of libc's
// functions, which takes locks, and they call libc while they hold these: where the tracer then maps memory, as in a
// wrapper of that call or the handler of a sample, UCX would find its own lock taken and abort the program.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>

namespace gprof::tracer {

// As the functions of libc are, errno included.
inline void* SystemMmap(void* at, std::size_t bytes, int protection, int flags, int fd, off_t offset) {
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, fd, offset));
}
inline int SystemMunmap(void* at, std::size_t bytes) { return static_cast<int>(syscall(SYS_munmap, at, bytes)); }
inline int SystemMprotect(void* at, std::size_t bytes, int protection) {
  return static_cast<int>(syscall(SYS_mprotect, at, bytes, protection));
}
inline int SystemMadvise(void* at, std::size_t bytes, int advice) {
  return static_cast<int>(syscall(SYS_madvise, at, bytes, advice));
}
inline void* SystemMremap(void* at, std::size_t old_bytes, std::size_t new_bytes, int flags, void* to) {
  return reinterpret_cast<void*>(syscall(SYS_mremap, at, old_bytes, new_bytes, flags, to));
}

}  // namespace gprof::tracer
