// Which file a descriptor is: as it was opened, or as the kernel says when the writer thread looks.
#pragma once

#include <cstdint>

#include "gprof/trace/record.h"

namespace gprof::tracer {

// [any thread, the one that opens and closes]
void RememberDescriptor(int descriptor, const char* path);
void RememberSocket(int descriptor);
bool IsSocket(int descriptor);
// Before it is closed: the next moment another thread may get the same number.
void ForgetDescriptor(int descriptor);
// As it was opened; 0 when that was not seen. [any thread]
trace::StringId NameOfDescriptor(int descriptor);

// Which end of a pipe, socket or eventfd it is (channels.h); kUnknownEnd until somebody has asked. [any thread]
inline constexpr uint64_t kUnknownEnd = 0, kNoEnd = ~uint64_t{0};
uint64_t EndOfDescriptor(int descriptor);
void SetEndOfDescriptor(int descriptor, uint64_t end);

// As the kernel says; empty where the descriptor has been opened or closed since. [writer thread]
trace::StringId LookUpDescriptor(uint32_t tid, int descriptor, uint64_t since_stamp);

}  // namespace gprof::tracer
