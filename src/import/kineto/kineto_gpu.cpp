// What the GPUs did, and which calls made them do it.
#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <tuple>

#include "import/kineto/kineto_import.h"
#include "trace/model/saturating_time.h"

namespace gprof {
namespace {

constexpr int64_t kMost32 = std::numeric_limits<uint32_t>::max();

uint32_t To32(int64_t value, uint32_t otherwise) {
  return value < 0 || value >= kMost32 ? otherwise : static_cast<uint32_t>(value);
}

bool IsOnHost(trace::CopyKind kind) {
  return kind == trace::CopyKind::kHostToDevice || kind == trace::CopyKind::kDeviceToHost;
}

}  // namespace

// The number at the end of "stream 7", "GPU 0" or "7"; 0 where there is none.
uint32_t KinetoImport::NumberIn(uint32_t text) const {
  std::string_view digits = builder_.TextOf(text);
  digits.remove_prefix(std::min(digits.find_last_not_of("0123456789") + 1, digits.size()));
  uint32_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

void KinetoImport::TakeGpuWork(const Slice& slice, const KinetoArgs& args, uint64_t start_ns) {
  GpuWork work;
  work.category = slice.category;
  work.track = slice.track;
  work.name = slice.name;
  work.start_ns = start_ns;
  // The builder leaves out work of such a length, and counts it.
  const bool is_backwards = slice.duration_ns < 0;
  work.duration_ns = is_backwards ? std::numeric_limits<uint64_t>::max() : static_cast<uint64_t>(slice.duration_ns);
  const Track& track = tracks_[slice.track];
  work.device = To32(args.device, 0);
  if (args.device < 0) work.device = NumberIn(track.pid);
  work.stream = args.stream < 0 ? NumberIn(track.tid) : To32(args.stream, 0);
  work.context = To32(args.context, work.device + 1);  // as CUPTI numbers them
  work.correlation = To32(args.correlation, 0);
  if (args.correlation >= kMost32) ++truncated_correlations_;
  work.graph = static_cast<uint32_t>(args.graph);
  work.graph_node = args.graph_node;
  work.bytes = args.bytes < 0 ? 0 : static_cast<uint64_t>(args.bytes);
  work.is_async = static_cast<int8_t>(args.is_async);
  if (args.process >= 0) work.process = ProcessOf(builder_.Text(std::to_string(args.process)));
  if (slice.category == KinetoCategory::kKernel) TakeKernel(args, &work);
  if (slice.category == KinetoCategory::kMemcpy) TakeCopy(slice, args, &work);
  if (slice.category == KinetoCategory::kMemset) {
    work.ends.destination = ReadMemsetName(builder_.TextOf(slice.name));
    if (work.ends.destination == trace::MemoryKind::kUnknown) work.ends.destination = args.destination_memory;
  }
  if (slice.category == KinetoCategory::kGraph) ++graph_count_;
  work_.push_back(work);
}

void KinetoImport::TakeKernel(const KinetoArgs& args, GpuWork* work) {
  ++kernel_count_;
  if (args.grid[0] == 0) return;
  ++shape_count_;
  trace::KernelShapeRecord shape;
  std::tie(shape.grid_x, shape.grid_y, shape.grid_z) = std::tuple_cat(args.grid);
  std::tie(shape.block_x, shape.block_y, shape.block_z) = std::tuple_cat(args.block);
  std::tie(shape.cluster_x, shape.cluster_y, shape.cluster_z) = std::tuple_cat(args.cluster);
  shape.registers_per_thread = To32(args.registers, 0);
  shape.dynamic_shared_bytes = To32(args.shared_bytes, 0);  // static and dynamic together, as the source has them
  const auto is_same = [&](const trace::KernelShapeRecord& s) {
    return std::tie(s.grid_x, s.grid_y, s.grid_z, s.block_x, s.block_y, s.block_z, s.registers_per_thread,
                    s.dynamic_shared_bytes, s.cluster_x, s.cluster_y,
                    s.cluster_z) == std::tie(shape.grid_x, shape.grid_y, shape.grid_z, shape.block_x, shape.block_y,
                                             shape.block_z, shape.registers_per_thread, shape.dynamic_shared_bytes,
                                             shape.cluster_x, shape.cluster_y, shape.cluster_z);
  };
  if (shapes_.empty() || !is_same(shapes_.back())) shapes_.push_back(shape);
  work->shape = static_cast<uint32_t>(shapes_.size() - 1);
}

void KinetoImport::TakeCopy(const Slice& slice, const KinetoArgs& args, GpuWork* work) {
  using trace::MemoryKind;
  if (args.bytes < 0) ++copies_without_size_;
  work->ends = ReadCopyName(builder_.TextOf(slice.name), args.copy_kind);
  if (work->ends.source == MemoryKind::kUnknown) work->ends.source = args.source_memory;
  if (work->ends.destination == MemoryKind::kUnknown) work->ends.destination = args.destination_memory;
  work->from_device = To32(args.from_device, kNone);
  work->to_device = To32(args.to_device, kNone);
  if (args.peer_device >= 0) {
    work->from_device = work->device;
    work->to_device = To32(args.peer_device, kNone);
  }
  if (!IsOnHost(work->ends.kind)) return;
  ++host_copy_count_;
  const bool is_to_device = work->ends.kind == trace::CopyKind::kHostToDevice;
  if ((is_to_device ? work->ends.source : work->ends.destination) != MemoryKind::kUnknown)
    ++host_copies_of_known_memory_;
}

void KinetoImport::TakeSync(const Slice& slice, uint64_t start_ns) {
  const KinetoArgs args = ReadKinetoArgs(slice.args);
  const trace::SyncKind kind = ReadSyncKind(args.sync_kind.empty() ? builder_.TextOf(slice.name) : args.sync_kind);
  trace::SyncRecord r;
  r.start_ns = start_ns;
  r.duration_ns = static_cast<uint64_t>(slice.duration_ns);
  r.sync_kind = static_cast<uint8_t>(kind);
  r.correlation = To32(args.correlation, 0);
  r.context = To32(args.context, 0);
  r.stream = To32(args.stream, 0);
  r.event = args.event < 0 ? 0 : static_cast<uint64_t>(args.event);
  if (kind == trace::SyncKind::kStreamWaitEvent) ++event_wait_count_;
  syncs_.push_back({r, To32(args.waited_stream, 0), To32(args.record_correlation, 0)});
}

// ---- at the end ----

// Where calls and GPU work do not say which belongs to which, the arrows between them do.
void KinetoImport::FollowFlows() {
  const auto is_loose = [](const GpuWork& work) { return work.correlation == 0; };
  const bool has_loose_work = std::any_of(work_.begin(), work_.end(), is_loose);
  if (has_loose_work || !loose_calls_.empty()) {
    std::vector<FlowEnd> starts;
    std::copy_if(flows_.begin(), flows_.end(), std::back_inserter(starts), [](const FlowEnd& e) { return e.is_start; });
    LinkLooseCalls(&starts);
    std::map<std::pair<uint32_t, uint64_t>, uint32_t> ends;
    for (const FlowEnd& end : flows_) {
      if (!end.is_start) ends.emplace(std::pair{end.track, end.time_ns}, end.id);
    }
    for (GpuWork& work : work_) {
      if (work.correlation != 0) continue;
      const auto at = ends.find({work.track, work.start_ns});
      if (at != ends.end()) work.correlation = at->second;
    }
  }
  for (const LooseCall& call : loose_calls_) {
    EnterThread(call.track);
    AddCall(call.record, call.name);
  }
  loose_calls_ = {};
}

// An arrow begins within its call.
void KinetoImport::LinkLooseCalls(std::vector<FlowEnd>* starts) {
  const auto place = [](const FlowEnd& end) { return std::tie(end.track, end.time_ns); };
  std::sort(starts->begin(), starts->end(), [&](const FlowEnd& a, const FlowEnd& b) { return place(a) < place(b); });
  for (LooseCall& call : loose_calls_) {
    const FlowEnd first = {call.record.start_ns, call.track, 0, true};
    const auto at = std::lower_bound(starts->begin(), starts->end(), first,
                                     [&](const FlowEnd& a, const FlowEnd& b) { return place(a) < place(b); });
    if (at == starts->end() || at->track != call.track) continue;
    if (at->time_ns <= call.record.start_ns + call.record.duration_ns) call.record.correlation = at->id;
  }
}

uint32_t KinetoImport::ProcessOfWork(const GpuWork& work) {
  if (work.process != kNone) return work.process;
  if (pids_.size() == 1 || work.correlation == 0) return 0;
  for (uint32_t process = 0; process < pids_.size(); ++process) {
    if (calls_.Find(process, work.correlation) != kNone) return process;
  }
  return 0;
}

void KinetoImport::AddGpuWork() {
  for (const GpuWork& work : work_) {
    const uint32_t process = ProcessOfWork(work);
    builder_.Enter(process);
    if (work.duration_ns <= kMaxTimeNs) {
      last_ns_[process] = std::max(last_ns_[process], work.start_ns + work.duration_ns);
    }
    NoteDevice(work.device);
    AddWork(work);
  }
  work_ = {};
}

void KinetoImport::NoteDevice(uint32_t device) {
  uint32_t& is_known = devices_(builder_.process(), device);
  if (is_known != kNone) return;
  is_known = 0;
  seen_devices_.emplace_back(builder_.process(), device);
}

bool KinetoImport::IsAsync(const GpuWork& work) const {
  if (work.is_async >= 0) return work.is_async != 0;
  const uint32_t at = calls_.Find(builder_.process(), work.correlation);
  return at == kNone || known_calls_[at].is_async;  // without a call of its own it is of a graph
}

template <class R>
R KinetoImport::RecordOf(const GpuWork& work) const {
  R r;
  r.start_ns = work.start_ns;
  r.duration_ns = work.duration_ns;
  r.device = work.device;
  r.context = work.context;
  r.stream = work.stream;
  r.correlation = work.correlation;
  r.graph = work.graph;
  if constexpr (requires { r.graph_node; }) r.graph_node = work.graph_node;
  if constexpr (requires { r.size_bytes; }) r.size_bytes = work.bytes;
  if constexpr (requires { r.is_async; }) r.is_async = IsAsync(work) ? 1 : 0;
  return r;
}

// torch.profiler does not say which stream is the default one. CUPTI numbers that of a context 7, and PyTorch takes no
// other for it.
void KinetoImport::NoteDefaultStream(const GpuWork& work) {
  constexpr uint32_t kDefaultStream = 7;
  const bool is_left_out = work.duration_ns == std::numeric_limits<uint64_t>::max();
  if (work.stream != kDefaultStream || is_left_out || is_xla_ || !generator_.empty()) return;
  if (!default_streams_.insert({builder_.process(), work.context}).second) return;
  builder_.Add(trace::ContextRecord{.context = work.context, .device = work.device, .null_stream = kDefaultStream});
}

void KinetoImport::AddWork(const GpuWork& work) {
  NoteDefaultStream(work);
  if (work.category == KinetoCategory::kMemcpy) return AddCopy(work);
  if (work.category == KinetoCategory::kGraph) return builder_.Add(RecordOf<trace::GraphLaunchRecord>(work));
  if (work.category == KinetoCategory::kMemset) {
    auto r = RecordOf<trace::MemsetRecord>(work);
    r.memory = static_cast<uint8_t>(work.ends.destination);
    return builder_.Add(r);
  }
  auto r = RecordOf<trace::KernelRecord>(work);
  r.name = builder_.Name(work.name);
  if (work.shape != kNone) r.shape = builder_.Shape(shapes_[work.shape]);
  builder_.Add(r);
}

void KinetoImport::AddCopy(const GpuWork& work) {
  const bool is_peer =
      work.ends.kind == trace::CopyKind::kPeerToPeer && work.from_device != kNone && work.to_device != kNone;
  if (is_peer) {
    auto r = RecordOf<trace::PeerCopyRecord>(work);
    r.source_device = work.from_device;
    r.destination_device = work.to_device;
    r.source_memory = static_cast<uint8_t>(work.ends.source);
    r.destination_memory = static_cast<uint8_t>(work.ends.destination);
    NoteDevice(r.source_device);
    NoteDevice(r.destination_device);
    return builder_.Add(r);
  }
  auto r = RecordOf<trace::MemcpyRecord>(work);
  r.copy_kind = static_cast<uint8_t>(work.ends.kind);
  r.source_memory = static_cast<uint8_t>(work.ends.source);
  r.destination_memory = static_cast<uint8_t>(work.ends.destination);
  builder_.Add(r);
}

}  // namespace gprof
