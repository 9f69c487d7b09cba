// Records that are told once in a process and every trace of it needs: kept, so that a later capture into another
// file has them.
#pragma once

#include "gprof/trace/record.h"
#include "tracer/store/memory/kept_list.h"

namespace gprof::tracer {

template <class R>
inline constexpr bool kIsStanding = false;
template <>
inline constexpr bool kIsStanding<trace::DeviceRecord> = true;
template <>
inline constexpr bool kIsStanding<trace::ContextRecord> = true;
template <>
inline constexpr bool kIsStanding<trace::StreamRecord> = true;
template <>
inline constexpr bool kIsStanding<trace::GraphNodeRecord> = true;
template <>
inline constexpr bool kIsStanding<trace::GeneratedLinesRecord> = true;
template <>
inline constexpr bool kIsStanding<trace::ModuleRecord> = true;
template <>
inline constexpr bool kIsStanding<trace::FrameRecord> = true;
template <>
inline constexpr bool kIsStanding<trace::StackRecord> = true;

// What there is no room for is not told again. [writer thread]
template <class R>
using StandingRecords = KeptList<R, Region::kRows, 256, 1024>;

}  // namespace gprof::tracer
