#include "tracer/osrt/wakers/channels.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

#include "gprof/trace/write_notes.h"
#include "tracer/osrt/descriptors.h"
#include "tracer/osrt/wakers/shared_memory.h"
#include "tracer/osrt/wrappers.h"
#include "tracer/store/clock.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/memory/shared_pages.h"
#include "tracer/store/thread_log.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

using trace::WriteNote;

constexpr std::size_t kTableBytes = trace::kWriteNotes * sizeof(WriteNote);
constinit std::atomic<WriteNote*> notes{nullptr};
constinit std::atomic<uint32_t> event_counters{0};

// Numbers of ends say in their last bits what they are of; those of memory have 0 there (shared_memory.cpp).
constexpr uint64_t kOfEventCounter = 1, kOfPipe = 2, kOfSocket = 3, kKindBits = 2;
constexpr uint64_t EndWith(uint64_t number, uint64_t kind) { return number << kKindBits | kind; }
constexpr bool IsOfSocket(uint64_t end) { return (end & kOfSocket) == kOfSocket; }

// The note of an end, made anew where another end has the place.
WriteNote* ClaimNote(WriteNote* table, uint64_t end) {
  WriteNote* const note = &table[trace::PlaceOfEnd(end)];
  if (note->end.load(std::memory_order_acquire) == end) return note;
  note->writer.store(0, std::memory_order_relaxed);
  note->peer.store(0, std::memory_order_relaxed);
  note->end.store(end, std::memory_order_release);
  return note;
}

const WriteNote* FindNote(const WriteNote* table, uint64_t end) {
  const WriteNote* const note = &table[trace::PlaceOfEnd(end)];
  return note->end.load(std::memory_order_acquire) == end ? note : nullptr;
}

void Pair(uint64_t first, uint64_t second) {
  WriteNote* const table = notes.load(std::memory_order_acquire);
  if (table == nullptr || first == second) return;
  ClaimNote(table, first)->peer.store(second, std::memory_order_release);
  ClaimNote(table, second)->peer.store(first, std::memory_order_release);
}

// Both ends of a connection within the machine have the same two addresses, in the opposite order.
uint64_t EndOfConnection(const sockaddr_storage& from, socklen_t from_bytes, const sockaddr_storage& to,
                         socklen_t to_bytes) {
  const uint64_t a = HashBytes(&from, from_bytes), b = HashBytes(&to, to_bytes);
  return EndWith(a ^ (b * 0x9E3779B97F4A7C15u + 1), kOfSocket);
}

uint64_t EndOfSocket(int descriptor, uint64_t inode) {
  sockaddr_storage own = {}, other = {};
  socklen_t own_bytes = sizeof own, other_bytes = sizeof other;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &own_bytes) != 0) return kNoEnd;
  const bool is_of_network = own.ss_family == AF_INET || own.ss_family == AF_INET6;
  if (!is_of_network) return EndWith(inode, kOfSocket);
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&other), &other_bytes) != 0) return kNoEnd;
  const uint64_t end = EndOfConnection(own, own_bytes, other, other_bytes);
  Pair(end, EndOfConnection(other, other_bytes, own, own_bytes));
  return end;
}

uint64_t AskForEnd(int descriptor) {
  const ErrnoGuard errno_guard;
  struct stat status;
  if (fstat(descriptor, &status) != 0) return kNoEnd;
  if (S_ISFIFO(status.st_mode)) return EndWith(status.st_ino, kOfPipe);
  return S_ISSOCK(status.st_mode) ? EndOfSocket(descriptor, status.st_ino) : kNoEnd;
}

uint64_t EndOf(int descriptor) {
  uint64_t end = EndOfDescriptor(descriptor);
  if (end != kUnknownEnd) return end;
  end = AskForEnd(descriptor);
  SetEndOfDescriptor(descriptor, end);
  return end;
}

// A process that records nothing has no threads that anybody knows.
uint32_t OwnId() {
  if (own_log != nullptr) return own_log->tid;
  return os_thresholds.is_on.load(std::memory_order_relaxed) ? CurrentTid() : static_cast<uint32_t>(getpid());
}

void LeaveNote(WriteNote* table, uint64_t end) {
  ClaimNote(table, end)->writer.store(trace::PackWriter(OwnId(), Stamp()), std::memory_order_release);
}

uint32_t WriterAt(const WriteNote* table, uint64_t end, uint64_t since_stamp) {
  const WriteNote* const note = FindNote(table, end);
  const uint64_t writer = note == nullptr ? 0 : note->writer.load(std::memory_order_acquire);
  if (writer == 0 || !trace::HasWrittenSince(writer, since_stamp)) return 0;
  return trace::WriterId(writer) == OwnId() ? 0 : trace::WriterId(writer);
}

// Who connected, listened or made the pair, as the kernel noted it then.
uint32_t ProcessBehind(int descriptor) {
  const ErrnoGuard errno_guard;
  ucred who = {};
  socklen_t bytes = sizeof who;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0) return 0;
  return who.pid > 0 && who.pid != getpid() ? static_cast<uint32_t>(who.pid) : 0;
}

}  // namespace

void MapWriteNotes() {
  if (notes.load(std::memory_order_relaxed) != nullptr) return;  // the child of a fork has its parent's
  void* table = MapSharedPage(trace::kWriteNotesFile, kTableBytes);
  if (table == nullptr) table = MapMemory(kTableBytes);
  notes.store(static_cast<WriteNote*>(table), std::memory_order_release);
}

void NoteWrite(int descriptor) {
  WriteNote* const table = notes.load(std::memory_order_acquire);
  const uint64_t end = table == nullptr ? kNoEnd : EndOf(descriptor);
  if (end != kNoEnd) LeaveNote(table, end);
}

uint32_t WriterOf(int descriptor, uint64_t since_stamp) {
  const WriteNote* const table = notes.load(std::memory_order_acquire);
  uint64_t end = table == nullptr ? kNoEnd : EndOf(descriptor);
  if (end == kNoEnd) return 0;
  if (IsOfSocket(end)) {
    const WriteNote* const own = FindNote(table, end);
    end = own == nullptr ? 0 : own->peer.load(std::memory_order_acquire);
    if (end == 0) return ProcessBehind(descriptor);
  }
  return WriterAt(table, end, since_stamp);
}

void NoteSharedWake(uintptr_t address) {
  WriteNote* const table = notes.load(std::memory_order_acquire);
  const uint64_t end = table == nullptr ? kNoEnd : EndOfMemory(address);
  if (end != kNoEnd) LeaveNote(table, end);
}

uint32_t SharedWakerOf(uintptr_t address, uint64_t since_stamp) {
  const WriteNote* const table = notes.load(std::memory_order_acquire);
  const uint64_t end = table == nullptr ? kNoEnd : EndOfMemory(address);
  return end == kNoEnd ? 0 : WriterAt(table, end, since_stamp);
}

void RememberPair(int first, int second) { Pair(EndOf(first), EndOf(second)); }

// The kernel has one file for all of them. Children of a fork have the number with the descriptor.
void RememberEventCounter(int descriptor) {
  const uint64_t number = uint64_t{CurrentTid()} << 32 | event_counters.fetch_add(1, std::memory_order_relaxed);
  SetEndOfDescriptor(descriptor, EndWith(number, kOfEventCounter));
}

}  // namespace gprof::tracer
