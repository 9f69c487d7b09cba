// What there is to say of the calls that are wrapped, by the place that it has among their arguments.
#pragma once

#include <cstdint>

#include "gprof/trace/record.h"

namespace gprof::tracer {

enum class How : uint8_t {
  kPlain,
  kBytes,       // first argument: descriptor; the result: bytes
  kWrite,       // likewise, and somebody may wait for what is written
  kDescriptor,  // first argument: descriptor
  kConnect,     // likewise
  kSource,      // second argument: descriptor; the result: bytes
  kDuplicate,   // second argument: descriptor that is closed and opened
  kClose,
  kSocket,      // the result: descriptor
  kAccept,      // first argument: descriptor; the result: another one
  kSocketPair,  // fourth argument: two descriptors
  kOpen,        // first argument: path; the result: descriptor
  kOpenAt,      // second argument: path
  kMutex,       // first argument: address; the result: error
  kRwLock,      // likewise
  kCondition,   // likewise
  kNumber,      // first argument: number of a thread
  kSem,         // first argument: address
  kFutex,       // second argument: address
  kLength,      // second argument: bytes of memory
  kProcess,     // first argument: id of a process
  kPoll,        // first two arguments: descriptors
  kSelect,      // first two arguments: sets of descriptors
  kEpoll,       // first argument: descriptor of a set, second: events; the result: how many
  kFopen,       // first argument: path; the result: stream
  kFclose,
  kFflush,  // first argument: stream
  kFread,   // second argument: bytes of an element, fourth: stream; the result: elements
  kFgets,   // third argument: stream
  kHost     // first argument: name of a host
};

constexpr bool IsOfFiles(How how) {
  switch (how) {
    case How::kBytes:
    case How::kWrite:
    case How::kDescriptor:
    case How::kConnect:
    case How::kEpoll:
    case How::kSource:
    case How::kClose:
    case How::kOpen:
    case How::kOpenAt:
    case How::kFopen:
    case How::kFclose:
    case How::kFflush:
    case How::kFread:
    case How::kFgets:
      return true;
    default:
      return false;
  }
}

constexpr bool IsOfLocks(How how) { return how == How::kMutex || how == How::kRwLock || how == How::kCondition; }

// Allocators lock, map and, where they spin, sleep.
constexpr bool MayHoldAllocator(How how, trace::OsObject object) {
  return how == How::kLength || object == trace::OsObject::kMutex || object == trace::OsObject::kFutex ||
         object == trace::OsObject::kTimer || object == trace::OsObject::kRwLock;
}

}  // namespace gprof::tracer
