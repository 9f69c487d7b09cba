#include "tracer/counters/pc_sampling/pc_table.h"

#include <atomic>

#include "tracer/store/chunk_output.h"
#include "tracer/store/memory/arena.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

struct Entry {
  SampledInstruction at;
  trace::StringId reason;
  SourceLine source;
  std::atomic<uint32_t> is_there;
  std::atomic<uint32_t> samples;
  uint32_t told;
};
constexpr uint32_t kEntries = 1u << 17;
constinit Entry* entries GPROF_IN_ARENA = nullptr;

uint32_t PlaceOf(const SampledInstruction& at, trace::StringId reason) {
  const uint64_t key[] = {at.cubin, at.offset, (uint64_t{at.kernel.value} << 32) | reason.value};
  return static_cast<uint32_t>(HashBytes(reinterpret_cast<const char*>(key), sizeof key) % kEntries);
}

bool IsOf(const Entry& entry, const SampledInstruction& at, trace::StringId reason) {
  return entry.at.cubin == at.cubin && entry.at.offset == at.offset && entry.at.kernel == at.kernel &&
         entry.reason == reason;
}

void Tell(Entry* entry) {
  const uint32_t samples = entry->samples.load(std::memory_order_acquire);
  if (entry->is_there.load(std::memory_order_acquire) == 0 || samples == entry->told) return;
  trace::PcSampleRecord record;
  record.cubin = entry->at.cubin;
  record.offset = entry->at.offset;
  record.kernel = entry->at.kernel;
  record.reason = entry->reason;
  record.file = entry->source.file;
  record.line = entry->source.line;
  record.samples = samples - entry->told;
  Output().Add(record, {&entry->told, samples});
}

}  // namespace

bool MakeRoomForPcSamples() {
  if (entries == nullptr) entries = static_cast<Entry*>(KeepMemory(kEntries * sizeof(Entry), Region::kRows));
  return entries != nullptr;
}

bool AddPcSamples(const SampledInstruction& at, trace::StringId reason, uint32_t samples,
                  SourceLine (*line_of)(const SampledInstruction&)) {
  constexpr uint32_t kTries = 256;
  for (uint32_t i = 0, place = PlaceOf(at, reason); i < kTries; ++i, place = (place + 1) % kEntries) {
    Entry& entry = entries[place];
    if (entry.is_there.load(std::memory_order_relaxed) == 0) {
      entry.at = at;
      entry.reason = reason;
      entry.source = line_of(at);
      entry.is_there.store(1, std::memory_order_release);
    } else if (!IsOf(entry, at, reason)) {
      continue;
    }
    entry.samples.fetch_add(samples, std::memory_order_release);
    return true;
  }
  return false;
}

void TellPcSamples() {
  if (entries == nullptr || !IsKept(entries, kEntries * sizeof(Entry))) return;
  for (uint32_t i = 0; i < kEntries; ++i) Tell(&entries[i]);
}

void ForgetPcSamplesAfterFork() { entries = nullptr; }

}  // namespace gprof::tracer
