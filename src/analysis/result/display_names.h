// How results name the things of a trace, so that every table names them alike.
#pragma once

#include <string>
#include <string_view>

#include "gprof/trace.h"

namespace gprof {

std::string KernelName(const Trace& trace, NameId mangled);
bool IsNcclKernel(std::string_view name);  // mangled or not
// It runs until something else happens, going by its name: a collective, a kernel that spins or sleeps. More blocks
// would not make it shorter.
bool IsWaitingKernel(std::string_view name);
// Of cuBLAS, cuDNN, CUTLASS, CUB or PyTorch, going by its name: the library chooses the grid, not the program.
bool IsLibraryKernel(std::string_view name);
std::string OpName(const Trace& trace, const GpuOp& op);
std::string DeviceScope(const Trace& trace, uint32_t device);     // gpu0
std::string StreamName(const Trace& trace, uint32_t stream);      // "copy (stream 14)"
std::string ThreadName(const TraceHead& trace, uint32_t thread);  // "loader (4711)"
std::string FunctionName(const Trace& trace, uint32_t api_call);
std::string PathName(const Trace& trace, NameId path);  // "(no range)" for the empty path

enum class Direction : uint8_t { kH2d, kD2h, kD2d, kP2p, kH2h, kOther };
inline constexpr size_t kDirectionCount = 6;

Direction DirectionOf(const GpuOp& op);
std::string_view DirectionName(Direction direction);       // "host to device"
std::string_view ShortDirectionName(Direction direction);  // "H2D"
std::string_view MemoryName(trace::MemoryKind memory);     // "pageable"

}  // namespace gprof
