#include "collect/run/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/machine/descriptor.h"
#include "collect/run/own_process.h"
#include "collect/run/system_clocks.h"
#include "trace/write/chunk_writer.h"
#include "trace/write/dictionary.h"

namespace gprof {
namespace {

constexpr uint64_t kLayout = 3;
constexpr uint32_t kHeadBytes = 12288, kNamesBytes = 4u << 20, kRowsBytes = 4u << 20;
constexpr uint32_t kFileBytes = kHeadBytes + kNamesBytes + kRowsBytes;
constexpr uint32_t kStateOffset = 4096;
// Room is taken from shared memory in such steps: most runs are short.
constexpr uint64_t kStep = 64u << 10;

struct RowHead {
  uint16_t kind = 0, reserved = 0;
  uint32_t size = 0;  // of the record; rows begin at multiples of 8
};
constexpr uint32_t kAlignment = 8;
static_assert(sizeof(RowHead) == kAlignment);

constexpr uint32_t RowBytes(uint32_t record_bytes) {
  return static_cast<uint32_t>(sizeof(RowHead)) + (record_bytes + kAlignment - 1) / kAlignment * kAlignment;
}

uint32_t Begin(uint64_t span) { return static_cast<uint32_t>(span >> 32); }
uint32_t End(uint64_t span) { return static_cast<uint32_t>(span); }
uint64_t Span(uint32_t begin, uint32_t end) { return uint64_t{begin} << 32 | end; }

// A file of shared memory that grows beyond what there is costs its writer its life, at a store (SIGBUS).
bool Reserve(int descriptor, uint64_t offset, uint64_t size) {
  return posix_fallocate(descriptor, static_cast<off_t>(offset), static_cast<off_t>(size)) == 0;
}

unsigned char* Map(int descriptor) {
  void* const at = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  return at == MAP_FAILED ? nullptr : static_cast<unsigned char*>(at);
}

trace::MetricLossRecord LossOf(trace::MetricLossReason reason, int64_t start_ns, int64_t end_ns, uint32_t source,
                               uint64_t count) {
  return {static_cast<uint64_t>(start_ns), static_cast<uint64_t>(end_ns - start_ns), source,
          static_cast<uint8_t>(reason), count};
}

template <class R>
constexpr bool IsPlain() {
  bool has_text = false;
  R r{};
  R::Fields(r, [&has_text](const trace::FieldInfo&, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, trace::Text>) has_text = true;
  });
  return !has_text;
}

}  // namespace

// Read by another process when this one was killed at any instruction.
struct Journal::State {
  char collector[64];
  std::atomic<uint32_t> names_end;
  std::atomic<uint32_t>
      flight_end;                 // rows before it are being written, into chunks numbered from `flight`; 0: none are
  std::atomic<uint64_t> waiting;  // begin and end of the rows that are not in the trace
  std::atomic<uint64_t> flight;
  std::atomic<uint64_t> sequence;  // of the next chunk
  std::atomic<uint64_t> lost_records;
  uint64_t output_device, output_inode, output_run;
  uint32_t may_be_alone;
  char output[4096];
};

Journal::Journal(std::string path, int descriptor, unsigned char* base)
    : path_(std::move(path)),
      descriptor_(descriptor),
      base_(base),
      header_(reinterpret_cast<trace::ArenaHeader*>(base)),
      state_(reinterpret_cast<State*>(base + kStateOffset)) {
  static_assert(kStateOffset + sizeof(State) <= kHeadBytes);
}

Journal::~Journal() {
  munmap(base_, kFileBytes);
  close(descriptor_);
}

std::unique_ptr<Journal> Journal::Create(const std::string& folder, std::string_view collector, std::string* why) {
  const trace::ProcessKey key = OwnProcessKey();
  const std::string path =
      folder + "/" + std::to_string(key.pid) + "-" + std::to_string(key.image) + trace::kArenaSuffix;
  const int descriptor = OpenHigh(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  const bool is_ready = descriptor >= 0 && ftruncate(descriptor, kFileBytes) == 0 &&
                        Reserve(descriptor, 0, kHeadBytes) && flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  unsigned char* const base = is_ready ? Map(descriptor) : nullptr;
  if (base == nullptr) {
    *why = "cannot use '" + path + "': " + std::strerror(errno);
    if (descriptor >= 0) {
      unlink(path.c_str());
      close(descriptor);
    }
    return nullptr;
  }
  std::unique_ptr<Journal> journal(new Journal(path, descriptor, base));
  collector.copy(journal->state_->collector, sizeof journal->state_->collector - 1);
  trace::ArenaHeader& header = *journal->header_;
  header.layout = kLayout;
  header.size_bytes = kFileBytes;
  header.host = key.host;
  header.start_ticks = key.start_ticks;
  header.pid = key.pid;
  header.image = key.image;
  header.start_ns = static_cast<uint64_t>(MonotonicNs());
  header.owner.store(static_cast<uint32_t>(trace::ArenaOwner::kCollector), std::memory_order_relaxed);
  header.is_locked.store(1, std::memory_order_relaxed);
  header.state.store(static_cast<uint32_t>(trace::ArenaState::kIdle), std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  header.magic = trace::kArenaMagic;
  return journal;
}

std::unique_ptr<Journal> Journal::Adopt(const std::string& path, int* error) {
  const int descriptor = OpenHigh(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
  struct stat status;
  *error = descriptor < 0 || fstat(descriptor, &status) != 0 ? errno : 0;
  if (*error == 0 && status.st_size != kFileBytes) *error = EPROTO;
  // Rows that its process never came to use are holes, and nobody reads them; the end record needs room.
  if (*error == 0 && !Reserve(descriptor, 0, kFileBytes)) *error = ENOSPC;
  unsigned char* const base = *error == 0 ? Map(descriptor) : nullptr;
  if (*error == 0 && base == nullptr) *error = errno;
  if (*error != 0) {
    if (descriptor >= 0) close(descriptor);
    return nullptr;
  }
  std::unique_ptr<Journal> journal(new Journal(path, descriptor, base));
  const trace::ArenaHeader& header = *journal->header_;
  if (header.magic != trace::kArenaMagic || header.layout != kLayout) {
    *error = EPROTO;
    return nullptr;
  }
  journal->backed_ = kRowsBytes;
  journal->backed_names_ = kNamesBytes;
  journal->ForEachName([&](std::string_view text) { journal->names_.emplace(text, journal->names_.size() + 1); });
  return journal;
}

unsigned char* Journal::Rows() const { return base_ + kHeadBytes + kNamesBytes; }

trace::ProcessKey Journal::Key() const { return {header_->host, header_->start_ticks, header_->pid, header_->image}; }

std::string Journal::collector() const {
  return {state_->collector, strnlen(state_->collector, sizeof state_->collector)};
}

uint64_t Journal::chunks_written() const { return state_->sequence.load(std::memory_order_relaxed); }
uint64_t Journal::lost_records() const { return state_->lost_records.load(std::memory_order_relaxed); }

// Of a part of the file that begins at `offset`.
bool Journal::MakeRoom(uint64_t offset, uint64_t end, uint64_t most, uint64_t* backed) const {
  if (end > most) return false;
  if (end <= *backed) return true;
  const uint64_t more = std::min((end + kStep - 1) / kStep * kStep, most) - *backed;
  if (!Reserve(descriptor_, offset + *backed, more)) return false;
  *backed += more;
  return true;
}

void Journal::AddRow(uint16_t kind, const void* bytes, uint32_t size) {
  const uint64_t span = state_->waiting.load(std::memory_order_relaxed);
  const uint64_t end = uint64_t{End(span)} + RowBytes(size);
  if (!MakeRoom(kHeadBytes + kNamesBytes, end, kRowsBytes, &backed_)) {
    state_->lost_records.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const RowHead head{kind, 0, size};
  unsigned char* const at = Rows() + End(span);
  std::memcpy(at, &head, sizeof head);
  std::memcpy(at + sizeof head, bytes, size);
  state_->waiting.store(Span(Begin(span), static_cast<uint32_t>(end)), std::memory_order_release);
}

trace::StringId Journal::Name(std::string_view text) {
  if (text.empty()) return {};
  const auto known = names_.find(std::string(text));
  if (known != names_.end()) return {known->second};
  const uint32_t begin = state_->names_end.load(std::memory_order_relaxed);
  const auto size = static_cast<uint32_t>(std::min<std::size_t>(text.size(), kNamesBytes));
  if (!MakeRoom(kHeadBytes, begin + sizeof size + size, kNamesBytes, &backed_names_)) return {};
  unsigned char* const at = base_ + kHeadBytes + begin;
  std::memcpy(at, &size, sizeof size);
  std::memcpy(at + sizeof size, text.data(), size);
  state_->names_end.store(begin + static_cast<uint32_t>(sizeof size) + size, std::memory_order_release);
  const auto id = static_cast<uint32_t>(names_.size() + 1);
  names_.emplace(text, id);
  return {id};
}

void Journal::AddLoss(trace::MetricLossReason reason, int64_t start_ns, int64_t end_ns, uint32_t source,
                      uint64_t count) {
  Add(LossOf(reason, start_ns, end_ns, source, count));
}

bool Journal::IsEmpty() const {
  const uint64_t span = state_->waiting.load(std::memory_order_relaxed);
  return Begin(span) == End(span);
}

bool Journal::IsFilling() const { return End(state_->waiting.load(std::memory_order_relaxed)) > kRowsBytes / 2; }

void Journal::Discard() {
  state_->waiting.store(0, std::memory_order_release);
  state_->lost_records.store(0, std::memory_order_relaxed);
}

void Journal::SetOutput(const TraceFile& output) {
  // Chunks are numbered by trace: a reader takes a number that is not there for a lost chunk.
  state_->sequence.store(0, std::memory_order_relaxed);
  state_->output_device = output.device;
  state_->output_inode = output.inode;
  state_->output_run = output.run;
  std::memset(state_->output, 0, sizeof state_->output);
  output.path.copy(state_->output, sizeof state_->output - 1);
}

TraceFile Journal::output() const {
  return {std::string(state_->output, strnlen(state_->output, sizeof state_->output)), state_->output_device,
          state_->output_inode, state_->output_run};
}

void Journal::SetMayBeAlone(bool may_be) { state_->may_be_alone = may_be ? 1 : 0; }
bool Journal::may_be_alone() const { return state_->may_be_alone != 0; }

void Journal::ForEachName(const std::function<void(std::string_view)>& visit) const {
  const uint32_t end = std::min(state_->names_end.load(std::memory_order_acquire), kNamesBytes);
  for (uint32_t at = 0; at + sizeof(uint32_t) <= end;) {
    uint32_t size;
    std::memcpy(&size, base_ + kHeadBytes + at, sizeof size);
    at += static_cast<uint32_t>(sizeof size);
    if (size > end - at) return;
    visit({reinterpret_cast<const char*>(base_ + kHeadBytes + at), size});
    at += size;
  }
}

bool Journal::AddRowsTo(ChunkWriter* writer, uint32_t begin, uint32_t end) const {
  while (begin + sizeof(RowHead) <= end) {
    RowHead head;
    std::memcpy(&head, Rows() + begin, sizeof head);
    if (head.size > kRowsBytes || RowBytes(head.size) > end - begin) return false;
    const unsigned char* const bytes = Rows() + begin + sizeof head;
    bool is_known = false;
    trace::ForEachKind([&](auto* null_record) {
      using R = std::decay_t<decltype(*null_record)>;
      if constexpr (IsPlain<R>()) {
        if (static_cast<uint16_t>(R::kKind) != head.kind || sizeof(R) != head.size) return;
        R record;
        std::memcpy(&record, bytes, sizeof record);
        writer->Add(record);
        is_known = true;
      }
    });
    if (!is_known) return false;  // of another build
    begin += RowBytes(head.size);
  }
  return true;
}

int Journal::Write() {
  int error = 0;
  // What was on its way when its process died goes into the same chunks once more, with the same numbers: of two chunks
  // with one number a reader takes the first.
  const uint32_t flight_end = state_->flight_end.load(std::memory_order_acquire);
  if (flight_end != 0) error = WriteRows(flight_end, state_->flight.load(std::memory_order_relaxed));
  if (!IsEmpty() || lost_records() != 0) {
    const uint32_t end = End(state_->waiting.load(std::memory_order_acquire));
    const int later = WriteRows(end, state_->sequence.load(std::memory_order_relaxed));
    if (error == 0) error = later;
  }
  return error;
}

int Journal::WriteRows(uint32_t end, uint64_t sequence) {
  const uint32_t begin = Begin(state_->waiting.load(std::memory_order_relaxed));
  end = std::min(end, kRowsBytes);
  state_->flight.store(sequence, std::memory_order_relaxed);
  state_->flight_end.store(end, std::memory_order_release);

  const uint64_t lost = lost_records();
  std::string chunks;
  const bool is_sound = Encode(begin, end, sequence, lost, &chunks);
  const Appended appended = AppendChunks(output(), chunks);
  // The record of what was lost before may be lost itself. It stands for what it counts.
  const bool is_told = appended.error == 0;
  const uint64_t lost_now = appended.lost_records - (lost != 0 && !is_told ? 1 : 0);
  state_->lost_records.store((is_told ? 0 : lost) + lost_now, std::memory_order_relaxed);
  // A number that is not in the file may be given again; else it is a hole, which readers count.
  const uint64_t used = appended.is_untouched ? 0 : appended.chunks;
  state_->sequence.store(sequence + used, std::memory_order_relaxed);
  const uint64_t span = state_->waiting.load(std::memory_order_relaxed);
  state_->waiting.store(end >= End(span) ? 0 : Span(end, End(span)), std::memory_order_release);
  state_->flight_end.store(0, std::memory_order_release);
  return is_sound ? appended.error : EPROTO;
}

// False: the rows are damaged. What was before them is in the chunks.
bool Journal::Encode(uint32_t begin, uint32_t end, uint64_t sequence, uint64_t lost, std::string* chunks) const {
  Dictionary dictionary;
  // Texts get their numbers in this order, here as in Name().
  ForEachName([&dictionary](std::string_view text) { dictionary.String(text); });
  ChunkWriter writer(&dictionary,
                     {.process = Key(), .sequence = sequence, .run = state_->output_run, .is_collector = true});
  const bool is_sound = begin <= end && AddRowsTo(&writer, begin, end);
  if (lost != 0) {
    const int64_t now_ns = MonotonicNs();
    // What a collector lost are samples: the work of the program is as complete as without them.
    writer.Add(LossOf(trace::MetricLossReason::kOverflow, now_ns, now_ns, 0, lost));
  }
  writer.Take(chunks);
  return is_sound;
}

void Journal::Finish() {
  header_->state.store(static_cast<uint32_t>(trace::ArenaState::kFinished), std::memory_order_release);
  unlink(path_.c_str());
}

}  // namespace gprof
