#include "import/snapshot/snapshot_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "base/text.h"
#include "base/units.h"
#include "gprof/error.h"

namespace gprof {
namespace {

constexpr std::size_t kMostDevices = 1024;
constexpr uint64_t kHourNs = 3'600'000'000'000;  // times begin there, so that none is 0
constexpr std::string_view kAllocate = "alloc";
constexpr std::string_view kOutOfMemory = "oom";
constexpr std::string_view kFunction = "CUDACachingAllocator::malloc";

// What an entry adds to the memory that the allocator has from CUDA. Sums wrap around, as damaged files have any size.
uint64_t ReservedBy(std::string_view action, int64_t size_bytes) {
  const auto size = static_cast<uint64_t>(size_bytes);
  if (action == "segment_alloc" || action == "segment_map") return size;
  if (action == "segment_free" || action == "segment_unmap") return 0 - size;
  return 0;
}

}  // namespace

SnapshotImport::SnapshotImport(const Pickle& pickle, const std::string& path, MemoryBudget* budget)
    : pickle_(pickle), builder_(path, "PyTorch memory snapshot", budget), stacks_(pickle, &builder_) {}

Trace SnapshotImport::Run(uint64_t file_bytes) {
  const Pickle::Value traces = pickle_.Get(pickle_.root(), "device_traces");
  if (traces == Pickle::kMissing && pickle_.Get(pickle_.root(), "segments") == Pickle::kMissing)
    throw Error(ExitCode::kUnreadable, "a pickle, but not a PyTorch memory snapshot");
  builder_.Enter(builder_.AddProcess(0, 0));
  ReadSegments();
  FindTimes();
  const std::span<const Pickle::Value> devices = pickle_.Items(traces);
  for (uint32_t i = 0; i < std::min(std::max(devices.size(), segments_.size()), kMostDevices); ++i) {
    ReadDevice(i, i < devices.size() ? pickle_.Items(devices[i]) : std::span<const Pickle::Value>());
  }
  TellSegments();
  TellWhatIsNotThere();
  trace::EndRecord end;
  end.time_ns = kHourNs + static_cast<uint64_t>(last_us_ - first_us_) * 1000;
  end.reason = static_cast<uint8_t>(trace::EndReason::kStopped);
  builder_.Add(end);
  return builder_.Finish(file_bytes);
}

void SnapshotImport::ReadSegments() {
  for (const Pickle::Value segment : pickle_.GetItems(pickle_.root(), "segments")) {
    const int64_t device = pickle_.GetInt(segment, "device");
    if (device < 0 || device >= static_cast<int64_t>(kMostDevices)) continue;
    if (segments_.size() <= static_cast<std::size_t>(device)) segments_.resize(static_cast<std::size_t>(device) + 1);
    Segments& of_device = segments_[static_cast<std::size_t>(device)];
    ++of_device.count;
    of_device.reserved_bytes += static_cast<uint64_t>(pickle_.GetInt(segment, "total_size"));
    ReadBlocks(segment, &of_device);
  }
}

void SnapshotImport::ReadBlocks(Pickle::Value segment, Segments* segments) {
  auto address = static_cast<uint64_t>(pickle_.GetInt(segment, "address"));
  for (const Pickle::Value value : pickle_.GetItems(segment, "blocks")) {
    Block block;
    const auto size_bytes = static_cast<uint64_t>(pickle_.GetInt(value, "size"));
    const auto told = static_cast<uint64_t>(pickle_.GetInt(value, "address"));  // since PyTorch 2.1
    block.address = told != 0 ? told : address;
    address += size_bytes;
    const std::string_view state = pickle_.GetText(value, "state");
    if (state == "inactive") segments->largest_free_bytes = std::max(segments->largest_free_bytes, size_bytes);
    if (state != "inactive") segments->used_bytes += size_bytes;
    if (state != "active_allocated") continue;  // what was freed may still wait for another stream
    block.size_bytes = static_cast<uint64_t>(pickle_.GetInt(value, "requested_size"));
    if (block.size_bytes == 0) block.size_bytes = size_bytes;
    block.stream = pickle_.GetInt(segment, "stream");
    block.stack = stacks_.StackOf(pickle_.Get(value, "frames"));
    segments->blocks.push_back(block);
  }
}

void SnapshotImport::FindTimes() {
  bool has_requests = false, is_first = true;
  for (const Pickle::Value device : pickle_.GetItems(pickle_.root(), "device_traces")) {
    for (const Pickle::Value entry : pickle_.Items(device)) {
      const int64_t us = pickle_.GetInt(entry, "time_us");
      first_us_ = is_first ? us : std::min(first_us_, us);
      last_us_ = is_first ? us : std::max(last_us_, us);
      is_first = false;
      ++entries_;
      has_requests = has_requests || pickle_.GetText(entry, "action") == free_action_;
    }
  }
  constexpr int64_t kMostUs = int64_t{1} << 52;
  if (first_us_ < 0 || last_us_ > kMostUs) throw Error(ExitCode::kUnreadable, "a pickle, but its times are damaged");
  if (!has_requests) free_action_ = "free_completed";
  if (first_us_ == 0) return;
  trace::ClockRecord clock;
  clock.monotonic_ns = kHourNs;
  clock.realtime_ns = static_cast<uint64_t>(first_us_) * 1000;
  builder_.Add(clock);
}

uint64_t SnapshotImport::TimeOf(Pickle::Value entry) const {
  return kHourNs + static_cast<uint64_t>(pickle_.GetInt(entry, "time_us") - first_us_) * 1000;
}

SnapshotImport::Block SnapshotImport::BlockOf(Pickle::Value entry) {
  return {static_cast<uint64_t>(pickle_.GetInt(entry, "addr")), static_cast<uint64_t>(pickle_.GetInt(entry, "size")),
          pickle_.GetInt(entry, "stream"), stacks_.StackOf(pickle_.Get(entry, "frames"))};
}

void SnapshotImport::ReadDevice(uint32_t device, std::span<const Pickle::Value> entries) {
  const bool has_segments = device < segments_.size() && segments_[device].count > 0;
  if (entries.empty() && !has_segments) return;
  sizes_.clear();
  allocated_bytes_ = 0;
  trace::DeviceRecord r;
  r.device = device;
  builder_.Add(r);
  const Tracks tracks = AddTracks(device);
  AddEarlierBlocks(device, entries);
  reserved_bytes_ = ReservedBefore(device, entries);
  Sample(tracks.allocated, kHourNs, allocated_bytes_);
  Sample(tracks.reserved, kHourNs, reserved_bytes_);
  for (const Pickle::Value entry : entries) {
    const std::string_view action = pickle_.GetText(entry, "action");
    const uint64_t time_ns = TimeOf(entry);
    const uint64_t before_bytes = allocated_bytes_;
    if (action == kAllocate) Allocate(device, time_ns, BlockOf(entry));
    if (action == kOutOfMemory) TellOutOfMemory(device, entry);
    if (action == free_action_) Free(device, time_ns, static_cast<uint64_t>(pickle_.GetInt(entry, "addr")));
    if (allocated_bytes_ != before_bytes) Sample(tracks.allocated, time_ns, allocated_bytes_);
    const uint64_t change_bytes = ReservedBy(action, pickle_.GetInt(entry, "size"));
    if (change_bytes != 0) Sample(tracks.reserved, time_ns, reserved_bytes_ += change_bytes);
  }
}

// Blocks from before the history: those that are freed in it first, and those in use at the end that are not in it.
void SnapshotImport::AddEarlierBlocks(uint32_t device, std::span<const Pickle::Value> entries) {
  std::unordered_set<uint64_t> seen;
  for (const Pickle::Value entry : entries) {
    const std::string_view action = pickle_.GetText(entry, "action");
    if (action != kAllocate && action != free_action_) continue;
    Block block = BlockOf(entry);
    if (!seen.insert(block.address).second || action == kAllocate) continue;
    block.stack = 0;  // that of the free
    Allocate(device, kHourNs, block);
  }
  if (device >= segments_.size()) return;
  for (const Block& block : segments_[device].blocks) {
    if (seen.insert(block.address).second) Allocate(device, kHourNs, block);
  }
}

uint64_t SnapshotImport::ReservedBefore(uint32_t device, std::span<const Pickle::Value> entries) const {
  uint64_t bytes = device < segments_.size() ? segments_[device].reserved_bytes : 0;
  for (const Pickle::Value entry : entries) {
    bytes -= ReservedBy(pickle_.GetText(entry, "action"), pickle_.GetInt(entry, "size"));
  }
  return bytes;
}

void SnapshotImport::Allocate(uint32_t device, uint64_t time_ns, const Block& block) {
  trace::ApiRecord call;
  call.start_ns = time_ns;
  call.correlation = ++correlation_;
  call.function = builder_.Name(kFunction);
  call.domain = static_cast<uint8_t>(trace::ApiDomain::kRuntime);
  call.stack = block.stack;
  builder_.Add(call);
  trace::MemoryRecord r;
  r.time_ns = time_ns;
  r.operation = static_cast<uint8_t>(trace::MemoryOp::kAllocate);
  r.memory = static_cast<uint8_t>(trace::MemoryKind::kDevice);
  r.address = block.address, r.size_bytes = block.size_bytes;
  r.device = device;
  r.correlation = call.correlation;
  builder_.Add(r);
  AddTensorBlock(device, time_ns, block, static_cast<int64_t>(block.size_bytes));
  allocated_bytes_ += block.size_bytes;
  sizes_[block.address] = block.size_bytes;
}

void SnapshotImport::Free(uint32_t device, uint64_t time_ns, uint64_t address) {
  const auto block = sizes_.find(address);
  if (block == sizes_.end()) return;
  trace::MemoryRecord r;
  r.time_ns = time_ns;
  r.operation = static_cast<uint8_t>(trace::MemoryOp::kFree);
  r.memory = static_cast<uint8_t>(trace::MemoryKind::kDevice);
  r.address = address, r.size_bytes = block->second;
  r.device = device;
  builder_.Add(r);
  AddTensorBlock(device, time_ns, {address, 0, 0, 0}, static_cast<int64_t>(0 - block->second));
  allocated_bytes_ -= block->second;
  sizes_.erase(block);
}

void SnapshotImport::AddTensorBlock(uint32_t device, uint64_t time_ns, const Block& block, int64_t size_bytes) {
  trace::TensorBlockRecord r;
  r.time_ns = time_ns;
  r.device = static_cast<int32_t>(device);
  r.address = block.address;
  r.size_bytes = size_bytes;
  r.stack = block.stack;
  builder_.Add(r);
}

SnapshotImport::Tracks SnapshotImport::AddTracks(uint32_t device) {
  return {AddTrack("PyTorch memory allocated", device), AddTrack("PyTorch memory reserved", device)};
}

// As `profile --pytorch-memory` has them.
uint32_t SnapshotImport::AddTrack(std::string_view name, uint32_t device) {
  trace::MetricSourceRecord r;
  r.time_ns = kHourNs;
  r.id = ++tracks_;
  r.name = builder_.Name(name);
  r.unit = builder_.Name("bytes");
  r.origin = builder_.Name("PyTorch");
  r.metric_kind = static_cast<uint8_t>(trace::MetricKind::kGauge);
  r.scope = static_cast<uint8_t>(trace::MetricScope::kDevice);
  r.device = device;
  builder_.Add(r);
  return r.id;
}

void SnapshotImport::Sample(uint32_t track, uint64_t time_ns, uint64_t size_bytes) {
  trace::MetricBlockRecord r;
  r.start_ns = time_ns;
  r.source = track;
  r.value = static_cast<int64_t>(size_bytes);
  builder_.Add(r);
}

void SnapshotImport::TellOutOfMemory(uint32_t device, Pickle::Value entry) {
  const auto bytes = [&](const char* key) { return FormatBytes(pickle_.GetInt(entry, key)); };
  builder_.AddNotice(
      trace::NoticeLevel::kWarning,
      fmt::format("cuda:{} ran out of memory: {} requested with {} reserved by PyTorch, {} of it in use, "
                  "and {} free on the device",
                  device, bytes("size"), FormatBytes(reserved_bytes_), FormatBytes(allocated_bytes_),
                  bytes("device_free")));
}

void SnapshotImport::TellSegments() {
  for (std::size_t device = 0; device < segments_.size(); ++device) {
    const Segments& of = segments_[device];
    if (of.count == 0) continue;
    const uint64_t free_bytes = of.reserved_bytes - std::min(of.reserved_bytes, of.used_bytes);
    builder_.AddNotice(
        trace::NoticeLevel::kInfo,
        fmt::format("cuda:{} at the snapshot: {} reserved in {}, {} of it in use; largest free block {} of {} free",
                    device, FormatBytes(of.reserved_bytes), CountOf(of.count, "segment"), FormatBytes(of.used_bytes),
                    FormatBytes(of.largest_free_bytes), FormatBytes(free_bytes)));
  }
}

void SnapshotImport::TellWhatIsNotThere() {
  if (entries_ == 0) {
    builder_.AddNotice(trace::NoticeLevel::kInfo,
                       "The snapshot has no history, only what was in use at the end "
                       "(torch.cuda.memory._record_memory_history())");
  }
  builder_.AddNotice(trace::NoticeLevel::kInfo, "Sizes are those the program requested; the allocator rounds them up");
  FactSet lacks = FactSet::None();
  for (uint32_t i = 0; i < kFactCount; ++i) {
    const auto fact = static_cast<Fact>(i);
    if (fact != Fact::kMemory && fact != Fact::kWholeRun && fact != Fact::kOneTrace) lacks |= fact;
  }
  builder_.SetLacks(lacks);
}

}  // namespace gprof
