#include "analysis/facts/host/os_call_kinds.h"

#include <iterator>
#include <map>
#include <string_view>

#include "analysis/result/display_names.h"

namespace gprof {
namespace {

// In the order of OsObject.
constexpr std::string_view kWords[] = {"",       "mutex",  "rwlock", "condition", "semaphore", "barrier",
                                       "GIL",    "futex",  "thread", "process",   "file",      "pipe",
                                       "socket", "device", "timer",  "memory",    "several"};
static_assert(std::size(kWords) == static_cast<size_t>(trace::OsObject::kPoll) + 1);

// A lock has a number of its own in each process, files and other things with a path are known by that.
bool HasNumber(trace::OsObject kind) {
  return kind != trace::OsObject::kNone && kind != trace::OsObject::kGil && kind != trace::OsObject::kTimer &&
         kind != trace::OsObject::kMemory && kind != trace::OsObject::kPoll;
}

// "poll on pipe 3", "pthread_cond_wait on condition 1", but "read of FILE" and "getaddrinfo of HOST".
bool IsWaitedOn(const OsCallKind& kind) {
  using enum trace::OsObject;
  const bool has_address = kind.object_kind == kSocket && kind.path != NameId{};
  return !has_address && (kind.object_kind == kCondition || kind.object_kind == kBarrier || kind.object_kind == kPipe ||
                          kind.object_kind == kSocket || kind.object_kind == kPoll || IsLock(kind.object_kind));
}

bool AreMany(const OsCallKind& kind) {
  return kind.object_kind == trace::OsObject::kSemaphore && kind.object == 0 && kind.process != kNone;
}

}  // namespace

OsCallKind KindOf(const OsCall& call) {
  OsCallKind kind;
  kind.function = call.function;
  kind.path = call.path;
  kind.object_kind = call.object_kind;
  kind.other_thread = call.other_thread;
  if (call.path == NameId{} && HasNumber(call.object_kind)) kind.object = call.object;
  if (kind.object != 0) kind.process = call.process;
  return kind;
}

OsCallKind ThingOf(const OsCallKind& call) {
  OsCallKind thing = call;
  thing.function = {};
  thing.other_thread = kNone;
  return thing;
}

OsCallKinds::OsCallKinds(const Trace& trace) {
  constexpr size_t kMany = 16;
  std::map<uint32_t, std::set<uint64_t>> semaphores;
  for (const OsCall& call : trace.os_calls) {
    if (call.object_kind == trace::OsObject::kSemaphore) semaphores[call.process].insert(call.object);
  }
  for (const auto& [process, numbers] : semaphores) {
    if (numbers.size() > kMany) with_many_semaphores_.insert(process);
  }
}

OsCallKind OsCallKinds::KindOf(const OsCall& call) const {
  OsCallKind kind = gprof::KindOf(call);
  if (call.object_kind == trace::OsObject::kSemaphore && with_many_semaphores_.contains(call.process)) kind.object = 0;
  return kind;
}

std::string ObjectWord(trace::OsObject kind) { return std::string(kWords[static_cast<size_t>(kind)]); }

bool IsLock(trace::OsObject kind) {
  using enum trace::OsObject;
  return kind == kMutex || kind == kRwLock || kind == kSemaphore || kind == kGil || kind == kFutex;
}

bool IsInOut(trace::OsObject kind) {
  using enum trace::OsObject;
  return kind == kFile || kind == kPipe || kind == kSocket || kind == kDevice;
}

// A semaphore tells that something is there; who holds it, if anybody, is not known. Who calls futex directly is a
// thread pool more often than a lock: its threads wait for work.
bool IsHandover(trace::OsObject kind) {
  using enum trace::OsObject;
  return kind == kCondition || kind == kSemaphore || kind == kFutex || kind == kBarrier || kind == kThread ||
         kind == kProcess || kind == kPipe || kind == kSocket || kind == kPoll;
}

std::string ObjectName(const Trace& trace, const OsCallKind& kind) {
  if (kind.object_kind == trace::OsObject::kGil) return "GIL";
  if (kind.path != NameId{}) return std::string(trace.Text(kind.path));
  if (kind.object == 0) return AreMany(kind) ? "semaphores" : "";
  return ObjectWord(kind.object_kind) + " " + std::to_string(kind.object);
}

std::string ObjectName(const Trace& trace, const OsCallKind& kind, const std::string& word) {
  return word.empty() ? ObjectName(trace, kind) : word;
}

std::string CallName(const Trace& trace, const OsCallKind& kind) {
  if (kind.function == NameId{}) return "unrecorded calls";
  const std::string object = AreMany(kind) ? "" : ObjectName(trace, kind);
  const std::string function(trace.Text(kind.function));
  if (object.empty()) return function;
  return function + (IsWaitedOn(kind) ? " on " : " of ") + object;
}

std::string HolderName(const Trace& trace, const OsCallKind& kind) {
  return kind.other_thread == kNone ? "" : ThreadName(trace, kind.other_thread);
}

}  // namespace gprof
