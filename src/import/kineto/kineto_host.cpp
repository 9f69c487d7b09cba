// What the host did: calls, ranges, marks, synchronisation, and what the recording cost.
#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <string_view>

#include "base/text.h"
#include "import/kineto/kineto_import.h"
#include "import/kineto/kineto_operators.h"
#include "import/shared/decimal.h"
#include "trace/model/api_class.h"

namespace gprof {
namespace {

constexpr uint32_t kFirstMadeUp = 0xF0000000u;  // numbers of threads and processes that have none

constexpr std::string_view kPayloadPrefix = "payload.";  // of arguments in our own exports

// 0 for what is no number of 32 bits. Some numbers of threads are pieces of addresses, with a sign.
uint32_t SmallNumber(std::string_view text) {
  const auto number = ReadDecimal(text).value_or(0);
  constexpr int64_t kLeast = std::numeric_limits<int32_t>::min(), kMost = std::numeric_limits<uint32_t>::max();
  return number < kLeast || number > kMost ? 0 : static_cast<uint32_t>(number);
}

// "#76b900"
uint32_t ColorOf(std::string_view text) {
  uint32_t color = 0;
  if (!text.starts_with('#')) return 0;
  const auto [stop, status] = std::from_chars(text.data() + 1, text.data() + text.size(), color, 16);
  return status == std::errc() && stop == text.data() + text.size() ? 0xFF000000u | color : 0;
}

}  // namespace

uint32_t KinetoImport::ProcessOf(uint32_t pid) {
  const auto [at, is_new] = processes_.try_emplace(pid, 0);
  if (is_new) {
    const std::string_view text = builder_.TextOf(pid);
    const uint32_t number = SmallNumber(text);
    // Processes without a number, and different ways to write one, are kept apart.
    at->second = builder_.AddProcess(number == 0 ? pid + 1 : 0, number);
    pids_.push_back(pid);
    last_ns_.push_back(0);
  }
  return at->second;
}

// Returns the number of the thread.
uint32_t KinetoImport::EnterThread(uint32_t index) {
  Track& track = tracks_[index];
  if (track.process == kNone) {
    const std::string_view text = builder_.TextOf(track.tid);
    track.process = ProcessOf(track.pid);
    track.thread = SmallNumber(text);
    if (track.thread == 0 && text != "0") track.thread = kFirstMadeUp + index;
  }
  builder_.Enter(track.process);
  last_ns_[track.process] = last_of_all_ns_;
  return track.thread;
}

// ---- calls ----

void KinetoImport::TakeCall(const Slice& slice, const KinetoArgs& args, uint64_t start_ns) {
  trace::ApiRecord r;
  r.start_ns = start_ns;
  r.duration_ns = static_cast<uint64_t>(slice.duration_ns);
  r.tid = EnterThread(slice.track);
  r.result = static_cast<int32_t>(args.result);
  result_count_ += args.has_result ? 1 : 0;
  const bool is_driver = slice.category == KinetoCategory::kDriver;
  r.domain = static_cast<uint8_t>(is_driver ? trace::ApiDomain::kDriver : trace::ApiDomain::kRuntime);
  if (args.correlation < 0) {
    loose_calls_.push_back({r, slice.track, slice.name});
    return;
  }
  r.correlation = static_cast<uint32_t>(args.correlation);
  AddCall(r, slice.name);
}

void KinetoImport::AddCall(trace::ApiRecord r, uint32_t name) {
  const std::string_view function = builder_.TextOf(name);
  r.function = builder_.Name(name);
  builder_.Add(r);
  ++call_count_;
  if (name >= call_classes_.size()) call_classes_.resize(name + 1);
  if (call_classes_[name] == 0) {
    call_classes_[name] = static_cast<uint8_t>(static_cast<uint8_t>(ClassifyApi(function)) + 1);
  }
  const auto api_class = static_cast<ApiClass>(call_classes_[name] - 1);
  if (api_class == ApiClass::kSync) ++sync_call_count_;
  const bool is_copy = api_class == ApiClass::kCopy || api_class == ApiClass::kMemset;
  if (IsLaunch(api_class) || is_copy) ++launch_count_;
  if (api_class == ApiClass::kQuery || r.correlation == 0) return;
  uint32_t& at = calls_(builder_.process(), r.correlation);
  if (at != kNone) return;
  at = static_cast<uint32_t>(known_calls_.size());
  known_calls_.push_back({r.start_ns, r.start_ns + r.duration_ns, r.tid, Contains(function, "Async")});
}

// ---- ranges and marks ----

// Kineto has no domains, so the category says where a range comes from. What gprof-cli exported has them.
void KinetoImport::DomainOf(uint32_t text, ClosedRange* range) {
  range->domain = text;
  if (text == 0) return;
  uint32_t& is_known = domains_(builder_.process(), text);
  if (is_known != kNone) return;
  is_known = 0;
  builder_.Add(trace::NvtxDomainRecord{text, builder_.Name(text)});
}

void KinetoImport::ReadNvtxArgs(const JsonPiece& args, ClosedRange* range) {
  uint32_t domain = 0;
  JsonScanner(args.text).ReadObject([&](std::string_view key, const JsonPiece& value) {
    if (key == "domain") domain = TextOf(value);
    if (key == "color") range->color = ColorOf(value.text);
    if (key != "payload" || value.kind != JsonPiece::Kind::kNumber) return;
    if (value.text.find_first_of(".eEnN") != std::string_view::npos) {
      double number = 0;
      std::from_chars(value.text.data(), value.text.data() + value.text.size(), number);
      range->payload_type = trace::PayloadType::kDouble;
      range->payload = std::bit_cast<uint64_t>(number);
    } else if (const auto bits = ReadBits(value.text)) {
      const bool is_signed = value.text.starts_with('-');
      range->payload_type = is_signed ? trace::PayloadType::kSigned64 : trace::PayloadType::kUnsigned64;
      range->payload = *bits;
    }
  });
  DomainOf(domain, range);
}

// Numbers of autograd are payloads: as parts of names they would make every name another one. What emit_nvtx() named
// had them there, and no domain that would tell what its payload is.
void KinetoImport::TakeOperatorArgs(const Slice& slice, ClosedRange* range) {
  const std::string_view name = builder_.TextOf(slice.name);
  const OperatorArgs args = ReadOperatorArgs(name, slice.args);
  std::string text;
  if (args.sequence && range->domain != 0) {
    range->payload_type = trace::PayloadType::kUnsigned64, range->payload = *args.sequence;
  } else if (args.sequence) {
    text = ", seq = " + std::to_string(*args.sequence);
  }
  text += args.text;
  if (!text.empty()) range->text = builder_.Text(std::string(name) + text);
}

void KinetoImport::TakeRange(const Slice& slice, uint64_t start_ns, bool is_push_pop, bool is_open) {
  ClosedRange range;
  range.tid = EnterThread(slice.track);
  range.process = builder_.process();
  range.start_ns = static_cast<int64_t>(start_ns);
  range.end_ns = is_open ? ClosedRange::kOpen : range.start_ns + slice.duration_ns;
  range.text = slice.name;
  range.is_push_pop = is_push_pop;
  ++range_count_;
  if (generator_.empty()) {
    DomainOf(slice.category_text, &range);
    TakeOperatorArgs(slice, &range);
    TakeCollective(slice, range);
  } else {
    ReadNvtxArgs(slice.args, &range);
    if (builder_.TextOf(slice.category_text) == "cpu_op") TakeOperatorArgs(slice, &range);
    if (auto payload = payloads_.ReadMembers(slice.args.text, kPayloadPrefix, range.domain)) {
      range.attached = ranges_.Attach(*std::move(payload));
    }
  }
  ranges_.Add(range);
}

// PyTorch's own allocators hand out what they got from CUDA or the system before. They say each time what they hold.
void KinetoImport::ReadAllocation(const ChromeEvent& event) {
  int64_t source_ns = 0;
  trace::TensorBlockRecord r;
  const AllocatorArgs args = ReadAllocatorArgs(event.args);
  if (!args.size_bytes || event.name.text != "[memory]") return Skip("PyTorch allocator events");
  if (!TakeTime(event.time, &source_ns) || !ToTrace(source_ns, &r.time_ns)) return;
  last_of_all_ns_ = std::max(last_of_all_ns_, r.time_ns);
  r.tid = EnterThread(TrackOf(event));
  r.device = args.device;
  r.address = args.address;
  r.size_bytes = *args.size_bytes;
  builder_.Add(r);
  if (args.device < 0) return;
  if (args.allocated_bytes) AddAllocatorSample("PyTorch memory allocated", r, *args.allocated_bytes);
  if (args.reserved_bytes) AddAllocatorSample("PyTorch memory reserved", r, *args.reserved_bytes);
}

// As `profile --pytorch-memory` has them.
void KinetoImport::AddAllocatorSample(std::string_view name, const trace::TensorBlockRecord& block, int64_t bytes) {
  uint32_t& track = allocator_tracks_[{builder_.process(), block.device, name}];
  if (track == 0) {
    trace::MetricSourceRecord r;
    r.time_ns = block.time_ns;
    r.id = track = static_cast<uint32_t>(allocator_tracks_.size());
    r.name = builder_.Name(name);
    r.unit = builder_.Name("bytes");
    r.origin = builder_.Name("PyTorch");
    r.metric_kind = static_cast<uint8_t>(trace::MetricKind::kGauge);
    r.scope = static_cast<uint8_t>(trace::MetricScope::kDevice);
    r.device = static_cast<uint32_t>(block.device);
    builder_.Add(r);
  }
  trace::MetricBlockRecord sample;
  sample.start_ns = block.time_ns;
  sample.source = track;
  sample.value = bytes;
  builder_.Add(sample);
}

// Those of a whole process or of everything are of the profiler.
void KinetoImport::ReadMark(const ChromeEvent& event) {
  if (event.category.text == "cpu_instant_event") return ReadAllocation(event);
  if (event.scope.text == "g" || event.scope.text == "p") return;
  int64_t source_ns = 0;
  trace::NvtxRecord r;
  if (!TakeTime(event.time, &source_ns) || !ToTrace(source_ns, &r.time_ns)) return;
  last_of_all_ns_ = std::max(last_of_all_ns_, r.time_ns);
  r.tid = EnterThread(TrackOf(event));
  r.event = static_cast<uint8_t>(trace::NvtxEvent::kMark);
  r.message = builder_.Name(TextOf(event.name));
  ClosedRange range;
  if (generator_.empty()) {
    DomainOf(TextOf(event.category), &range);
  } else {
    ReadNvtxArgs(event.args, &range);
  }
  r.domain = range.domain;
  r.color = range.color;
  r.payload = range.payload;
  r.payload_type = static_cast<uint8_t>(range.payload_type);
  builder_.Add(r);
  if (generator_.empty()) return;
  const auto payload = payloads_.ReadMembers(event.args.text, kPayloadPrefix, r.domain);
  if (payload) builder_.Add(PayloadRecordOf(r, *payload));
}

// ---- at the end ----

void KinetoImport::AddSyncs() {
  for (SyncWork& work : syncs_) {
    uint32_t process = kNone, at = kNone;
    for (uint32_t i = 0; i < pids_.size() && at == kNone; ++i) {
      at = calls_.Find(i, work.record.correlation);
      if (at != kNone) process = i;
    }
    if (at == kNone) {
      ++syncs_without_call_;
      continue;
    }
    builder_.Enter(process);
    work.record.tid = known_calls_[at].tid;
    builder_.Add(work.record);
    AddEventRecord(work, process);
  }
}

// What was waited for says when it was recorded, and where.
void KinetoImport::AddEventRecord(const SyncWork& work, uint32_t process) {
  if (work.record_correlation == 0) return;
  const uint32_t at = calls_.Find(process, work.record_correlation);
  if (at == kNone) return;
  uint32_t& is_known = event_records_(process, work.record_correlation);
  if (is_known != kNone) return;
  is_known = 0;
  trace::EventRecordRecord r;
  r.time_ns = known_calls_[at].end_ns;
  r.tid = known_calls_[at].tid;
  r.correlation = work.record_correlation;
  r.context = work.record.context;
  r.stream = work.waited_stream;
  r.event = work.record.event;
  builder_.Add(r);
}

// They have no process, and most of them no thread.
void KinetoImport::AddOverheads() {
  if (overheads_.empty()) return;
  builder_.Enter(0);
  for (const trace::OverheadRecord& r : overheads_) builder_.Add(r);
}

}  // namespace gprof
