#include "collect/host/samples/sample_rings.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/machine/descriptor.h"
#include "collect/run/arenas.h"
#include "gprof/trace/sample_ring.h"

namespace gprof {
namespace {

// Larger than any slot that the tracer makes.
constexpr uint32_t kMostSlotBytes = 128u << 10;

template <class T>
bool ReadAt(int descriptor, int64_t offset, T* value) {
  return pread(descriptor, static_cast<void*>(value), sizeof *value, offset) == static_cast<ssize_t>(sizeof *value);
}

void SetRegisters(const trace::SampleSlot& slot, PerfSample* sample) {
  sample->registers = {};
  if (slot.registers != kRegisters) return;  // of another machine
  for (uint32_t i = 0; i < kRegisters; ++i) sample->registers.Set(i, slot.values[i]);
  sample->registers.pc = slot.values[kRegisters - 1];
}

}  // namespace

bool WantsSignalSamples(const SamplingOptions& options) {
  PerfWish wish;
  return options.by_signal && options.samples != CpuScope::kNobody && TryPerfEvents(&wish) != 0;
}

SampleRings::~SampleRings() {
  for (const auto& [path, ring] : rings_) close(ring.descriptor);
}

void SampleRings::LookForRings() {
  for (const TracedProcess& process : TracedProcessesIn(folder_)) {
    if (process.sample_page == 0 || rings_.contains(process.path)) continue;
    Ring ring;
    ring.pid = process.pid;
    ring.offset = int64_t{process.sample_page} * trace::kRingPageBytes;
    ring.descriptor = OpenHigh(process.path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (ring.descriptor < 0) continue;
    alignas(trace::SampleRing) unsigned char bytes[sizeof(trace::SampleRing)];
    const auto* const head = reinterpret_cast<const trace::SampleRing*>(bytes);
    const bool is_sound = ReadAt(ring.descriptor, ring.offset, &bytes) && head->slots != 0 &&
                          head->slot_bytes >= sizeof(trace::SampleSlot) && head->slot_bytes <= kMostSlotBytes;
    if (!is_sound) {
      close(ring.descriptor);
      continue;
    }
    ring.slots = head->slots;
    ring.slot_bytes = head->slot_bytes;
    rings_.emplace(process.path, ring);
  }
}

std::vector<pid_t> SampleRings::Processes() const {
  std::vector<pid_t> processes;
  for (const auto& [path, ring] : rings_) processes.push_back(ring.pid);
  return processes;
}

void SampleRings::Drain(const std::function<void(const PerfSample& sample)>& take, uint64_t* lost) {
  LookForRings();
  for (auto entry = rings_.begin(); entry != rings_.end();) {
    // Looked at first: what a process wrote before its file went away is read all the same.
    const bool is_over = access(entry->first.c_str(), F_OK) != 0;
    DrainRing(&entry->second, take, lost);
    if (is_over) close(entry->second.descriptor);
    entry = is_over ? rings_.erase(entry) : std::next(entry);
  }
}

void SampleRings::DrainRing(Ring* ring, const std::function<void(const PerfSample& sample)>& take, uint64_t* lost) {
  uint64_t counts[2];  // SampleRing::next and lost
  static_assert(offsetof(trace::SampleRing, next) == 0 && offsetof(trace::SampleRing, lost) == sizeof(uint64_t));
  if (!ReadAt(ring->descriptor, ring->offset, &counts)) return;
  *lost += counts[1] - std::exchange(ring->lost, counts[1]);
  const uint64_t oldest = counts[0] > ring->slots ? counts[0] - ring->slots : 0;
  if (ring->next < oldest) *lost += oldest - std::exchange(ring->next, oldest);
  PerfSample sample;
  sample.pid = ring->pid;
  while (ring->next < counts[0]) {
    const bool is_whole = ReadSlot(*ring, ring->next, &sample);
    // Its thread may be in the midst of it. One that is not there the next time either is not to come.
    if (!is_whole && !std::exchange(ring->has_waited, true)) return;
    // A slot that another thread had is counted by the tracer.
    if (is_whole) {
      take(sample);
    } else if (IsBeingWritten(*ring, ring->next)) {
      ++*lost;
    }
    ring->has_waited = false;
    ++ring->next;
  }
}

int64_t SampleRings::SlotAt(const Ring& ring, uint64_t number) {
  return ring.offset + static_cast<int64_t>(sizeof(trace::SampleRing)) +
         static_cast<int64_t>(number % ring.slots) * ring.slot_bytes;
}

bool SampleRings::IsBeingWritten(const Ring& ring, uint64_t number) {
  uint64_t turn = 0;
  return ReadAt(ring.descriptor, SlotAt(ring, number), &turn) && turn == trace::TurnOf(number, false);
}

bool SampleRings::ReadSlot(const Ring& ring, uint64_t number, PerfSample* sample) {
  const int64_t at = SlotAt(ring, number);
  const uint64_t turn = trace::TurnOf(number, true);
  uint64_t before = 0, after = 0;
  slot_.resize(ring.slot_bytes);
  if (!ReadAt(ring.descriptor, at, &before) || before != turn) return false;
  if (pread(ring.descriptor, slot_.data(), slot_.size(), at) != static_cast<ssize_t>(slot_.size())) return false;
  if (!ReadAt(ring.descriptor, at, &after) || after != turn) return false;
  const auto* const slot = reinterpret_cast<const trace::SampleSlot*>(slot_.data());
  const Bytes behind = Bytes(slot_).subspan(sizeof *slot);
  sample->tid = static_cast<pid_t>(slot->tid);
  sample->time_ns = static_cast<int64_t>(slot->time_ns);
  sample->weight_ns = static_cast<int64_t>(slot->weight_ns);
  sample->cpu = slot->cpu - 1;
  SetRegisters(*slot, sample);
  sample->stack = {sample->registers.values[kStackPointer],
                   behind.first(std::min<std::size_t>(slot->stack_bytes, behind.size()))};
  return true;
}

}  // namespace gprof
