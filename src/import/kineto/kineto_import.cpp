// The events of a file: times, tracks, and which part takes what.
#include "import/kineto/kineto_import.h"

#include <utility>

#include "import/shared/decimal.h"

namespace gprof {
namespace {

constexpr int kNsDigits = 3;  // times are microseconds
constexpr int64_t kSecondNs = 1'000'000'000, kHourNs = 3600 * kSecondNs, kDayNs = 24 * kHourNs;
constexpr int64_t kMostNs = int64_t{1} << 59;
// Above it times count from 1970, which is more than a trace takes.
constexpr int64_t kCalendarNs = int64_t{1} << 57;

int64_t FloorTo(int64_t value, int64_t step) { return value - (value % step + step) % step; }

}  // namespace

KinetoImport::KinetoImport(const std::string& path, MemoryBudget* budget)
    : budget_(*budget), builder_(path, {}, budget) {}

// ---- texts, tracks and times ----

uint32_t KinetoImport::TextOf(const JsonPiece& value) {
  return value.IsText() ? builder_.Text(Unescaped(value, &buffer_)) : 0;
}

uint32_t KinetoImport::TrackOf(const ChromeEvent& event) {
  const std::string_view pid = event.pid.text, tid = event.tid.text;
  key_.assign(pid);
  key_ += '\0';
  key_ += tid;
  if (key_ == last_track_key_ && last_track_ != kNone) return last_track_;
  const auto [at, is_new] = track_ids_.try_emplace(key_, static_cast<uint32_t>(tracks_.size()));
  if (is_new) {
    Track track;
    track.pid = builder_.Text(pid);
    track.tid = builder_.Text(tid);
    tracks_.push_back(track);
  }
  last_track_key_.swap(key_);
  return last_track_ = at->second;
}

bool KinetoImport::TakeTime(const JsonPiece& value, int64_t* source_ns) {
  const auto time_ns = value.IsNumber() ? ReadDecimal(value.text, kNsDigits) : std::nullopt;
  if (!time_ns) {
    ++bad_times_;
    return false;
  }
  *source_ns = *time_ns;
  return true;
}

// Times stay those of the source where a trace can have them. Those from 1970 begin anew near the first event, and
// those near 0 move up by an hour, so that none of them is 0 or before it.
bool KinetoImport::ToTrace(int64_t source_ns, uint64_t* time_ns) {
  if (origin_ns_ == kNoOrigin) {
    origin_ns_ = source_ns >= kCalendarNs ? FloorTo(source_ns, kDayNs) - kDayNs : source_ns < kSecondNs ? -kHourNs : 0;
  }
  int64_t shifted = 0;
  if (__builtin_sub_overflow(source_ns, origin_ns_, &shifted) || shifted < 1 || shifted > kMostNs) {
    ++bad_times_;
    return false;
  }
  *time_ns = static_cast<uint64_t>(shifted);
  return true;
}

// ---- events ----

void KinetoImport::OnEvent(const ChromeEvent& event) {
  constexpr uint64_t kBytesOfAnEvent = 400;  // measured: most are kept until the end of the file
  budget_.Take(kBytesOfAnEvent);
  switch (event.phase) {
    case 'X':
      return ReadComplete(event);
    case 'B':
      return ReadBegin(event);
    case 'E':
      return ReadEnd(event);
    case 'b':
    case 'e':
      return ReadAsync(event);
    case 's':
    case 'f':
      return ReadFlow(event);
    case 'M':
      return ReadMetadata(event);
    case 'i':
    case 'I':
      return ReadMark(event);
    case 'C':
      return Skip("counter samples");
    case 't':
      return;  // the middle of an arrow
    case '\0':
      if (event.name.kind == JsonPiece::Kind::kMissing) return;  // XLA ends its list with {}
      [[fallthrough]];
    default:
      return Skip("other events");
  }
}

KinetoImport::Slice KinetoImport::SliceOf(const ChromeEvent& event, int64_t start_ns) {
  Slice slice;
  slice.args = event.args;
  slice.start_ns = start_ns;
  slice.track = TrackOf(event);
  slice.category_text = TextOf(event.category);
  slice.name = TextOf(event.name);
  const auto [at, is_new] = categories_.try_emplace(slice.category_text, KinetoCategory::kOther);
  if (is_new) at->second = CategoryOf(builder_.TextOf(slice.category_text));
  slice.category = at->second;
  return slice;
}

void KinetoImport::ReadComplete(const ChromeEvent& event) {
  int64_t start_ns = 0;
  if (!TakeTime(event.time, &start_ns)) return;
  Slice slice = SliceOf(event, start_ns);
  if (slice.category == KinetoCategory::kProjection) return Skip(builder_.TextOf(slice.category_text));
  // Where PyTorch does not know the thread it writes that of GPU 0.
  if (builder_.TextOf(slice.category_text) == "python_function" && event.pid.text == "0" && event.tid.text == "0") {
    return Skip("python_function without a thread");
  }
  if (event.duration.kind != JsonPiece::Kind::kMissing && !TakeTime(event.duration, &slice.duration_ns)) return;
  Take(slice, true);
}

void KinetoImport::ReadBegin(const ChromeEvent& event) {
  int64_t start_ns = 0;
  if (!TakeTime(event.time, &start_ns)) return;
  OpenSlice open;
  open.slice = SliceOf(event, start_ns);
  open.args = event.args.text;
  open_[open.slice.track].push_back(std::move(open));
}

void KinetoImport::ReadEnd(const ChromeEvent& event) { EndSlice(&open_[TrackOf(event)], event, true); }

void KinetoImport::ReadAsync(const ChromeEvent& event) {
  std::string key(event.category.text);
  for (const std::string_view part : {event.id.text, event.pid.text}) key.append(1, '\0').append(part);
  if (event.phase == 'e') {
    const auto at = open_async_.find(key);
    if (at == open_async_.end()) {
      ++bad_ends_;
      return;
    }
    EndSlice(&at->second, event, false);
    if (at->second.empty()) open_async_.erase(at);
    return;
  }
  int64_t start_ns = 0;
  if (!TakeTime(event.time, &start_ns)) return;
  OpenSlice open;
  open.slice = SliceOf(event, start_ns);
  open.args = event.args.text;
  open_async_[std::move(key)].push_back(std::move(open));
}

void KinetoImport::EndSlice(std::vector<OpenSlice>* open, const ChromeEvent& event, bool is_push_pop) {
  int64_t end_ns = 0;
  if (open->empty()) {
    ++bad_ends_;
    return;
  }
  const OpenSlice ended = std::move(open->back());
  open->pop_back();
  if (!TakeTime(event.time, &end_ns)) return;
  Slice slice = ended.slice;
  slice.args.text = ended.args;
  if (__builtin_sub_overflow(end_ns, slice.start_ns, &slice.duration_ns)) slice.duration_ns = -1;
  Take(slice, is_push_pop);
}

void KinetoImport::Take(const Slice& slice, bool is_push_pop) {
  uint64_t start_ns = 0;
  if (!ToTrace(slice.start_ns, &start_ns)) return;
  const bool is_op = IsGpuWork(slice.category);
  if (slice.duration_ns < 0 || slice.duration_ns > kMostNs) {
    if (!is_op) {
      ++bad_times_;
      return;
    }
  } else {
    first_ns_ = std::min(first_ns_, start_ns);
    last_of_all_ns_ = std::max(last_of_all_ns_, start_ns + static_cast<uint64_t>(slice.duration_ns));
  }
  switch (slice.category) {
    case KinetoCategory::kKernel:
    case KinetoCategory::kMemcpy:
    case KinetoCategory::kMemset:
    case KinetoCategory::kGraph:
      return TakeGpuWork(slice, ReadKinetoArgs(slice.args), start_ns);
    case KinetoCategory::kRuntime:
    case KinetoCategory::kDriver:
      return TakeCall(slice, ReadKinetoArgs(slice.args), start_ns);
    case KinetoCategory::kSync:
      return TakeSync(slice, start_ns);
    case KinetoCategory::kOverhead:
      overheads_.push_back(
          {start_ns, static_cast<uint64_t>(slice.duration_ns), ReadOverheadName(builder_.TextOf(slice.name))});
      return;
    case KinetoCategory::kOther:
      if (is_xla_ && TakeXla(slice, start_ns)) return;
      return TakeRange(slice, start_ns, is_push_pop, false);
    case KinetoCategory::kRange:
      return TakeRange(slice, start_ns, is_push_pop, false);
    case KinetoCategory::kProjection:
      return Skip(builder_.TextOf(slice.category_text));
  }
}

// Those of Kineto are correlations; others become numbers beyond what correlations reach.
uint32_t KinetoImport::FlowIdOf(const ChromeEvent& event) {
  constexpr uint32_t kFirstOther = 0x80000000u;
  const auto bits = ReadBits(event.id.text);
  if (event.category.text == "ac2g" && bits && *bits < kFirstOther) return static_cast<uint32_t>(*bits);
  key_.assign(event.category.text).append(1, '\0').append(event.id.text);
  return flow_ids_.try_emplace(key_, kFirstOther + static_cast<uint32_t>(flow_ids_.size())).first->second;
}

// Only those that may tie GPU work to its call: forward to backward, and what other programs draw, is not needed.
void KinetoImport::ReadFlow(const ChromeEvent& event) {
  if (event.category.text == "fwdbwd") return;
  int64_t source_ns = 0;
  FlowEnd end;
  if (!TakeTime(event.time, &source_ns) || !ToTrace(source_ns, &end.time_ns)) return;
  end.is_start = event.phase == 's';
  end.track = TrackOf(event);
  end.id = FlowIdOf(event);
  flows_.push_back(end);
}

void KinetoImport::ReadMetadata(const ChromeEvent& event) {
  if (event.args.kind != JsonPiece::Kind::kObject) return;
  JsonPiece name;
  JsonScanner(event.args.text).ReadObject([&](std::string_view key, const JsonPiece& value) {
    if (key == "name") name = value;
  });
  if (!name.IsText()) return;
  const uint32_t pid = builder_.Text(event.pid.text);
  if (event.name.text == "process_name") {
    process_names_[pid] = TextOf(name);
    NoteXlaProcess(name.text);
  }
  if (event.name.text == "thread_name") thread_names_[{pid, builder_.Text(event.tid.text)}] = TextOf(name);
}

}  // namespace gprof
