#include "tracer/store/chunk_output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <new>

#include "gprof/trace/outbox.h"
#include "tracer/capture/control.h"
#include "tracer/core/notice.h"
#include "tracer/core/tracer.h"
#include "tracer/store/clock.h"
#include "tracer/store/memory/arena.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constinit ChunkOutput output GPROF_IN_ARENA;
int trace_of_salvage = -1;

const char* Reason(int error) {
  switch (error) {
    case ENOSPC:
      return "no space left on the device (ENOSPC)";
    case EDQUOT:
      return "disk quota exceeded (EDQUOT)";
    case ENOBUFS:
      return "the recorder was stopped or killed, and its memory is full (ENOBUFS)";
    case EFBIG:
      return "file size limit of `ulimit -f` reached (EFBIG)";
    case ENOENT:
      return "the file was removed (ENOENT)";
    case EACCES:
      return "permission denied (EACCES)";
    case EIO:
      return "input/output error (EIO)";
    case EROFS:
      return "the file system is read-only (EROFS)";
    case EMFILE:
      return "the process is out of file descriptors (EMFILE)";
    case ESTALE:
      return "it was replaced by another file";
    default:
      return nullptr;
  }
}

// There may be room again.
bool HasNoRoom(int error) { return error == ENOSPC || error == EDQUOT || error == ENOBUFS; }

void SayNotWritten(int error) {
  Message message;
  message << "the trace " << Config().output << " cannot be written: ";
  if (const char* reason = Reason(error); reason != nullptr) {
    message << reason;
  } else {
    message << "error " << static_cast<uint64_t>(error);
  }
  message << (HasNoRoom(error) ? "; events are lost until there is space again"
                               : "; the program continues, but is no longer recorded");
  Say(trace::NoticeLevel::kError, message);
}

bool IsOurFile(int fd, const struct stat& s) {
  const TracerConfig& config = Config();
  if (config.output_inode != 0 && (s.st_dev != config.output_device || s.st_ino != config.output_inode)) return false;
  unsigned char first[trace::kChunkHeaderBytes];
  return config.output_run == 0 || (pread(fd, first, sizeof first, 0) == static_cast<ssize_t>(sizeof first) &&
                                    trace::IsFileOfRun(first, config.output_run));
}

// Where a recorder forgets what is old, and has stopped doing so: it was killed, or is stopped itself.
bool IsBeyondLimit(const struct stat& s) {
  constexpr uint64_t kBlockBytes = 512;
  return Config().output_limit != 0 && static_cast<uint64_t>(s.st_blocks) * kBlockBytes > Config().output_limit;
}

// Opened anew for each chunk: the target may close any descriptor it does not know.
int OpenOutput(uint64_t* file_bytes) {
  const int fd = trace_of_salvage >= 0 ? fcntl(trace_of_salvage, F_DUPFD_CLOEXEC, 0)
                                       : open(Config().output, O_RDWR | O_APPEND | O_CLOEXEC | O_NOCTTY);
  struct stat s;
  if (fd < 0 || fstat(fd, &s) != 0) return fd;
  *file_bytes = static_cast<uint64_t>(s.st_size);
  const int refusal = !IsOurFile(fd, s) ? ESTALE : IsBeyondLimit(s) ? ENOBUFS : 0;
  if (refusal == 0) return fd;
  close(fd);
  errno = refusal;
  return -1;
}

// 0, or an errno value. Torn: a part of the chunk is in the file.
int WriteOnce(int fd, const unsigned char* chunk, std::size_t bytes, bool* is_torn) {
  ssize_t written;
  do {
    written = write(fd, chunk, bytes);
  } while (written < 0 && errno == EINTR);
  if (written < 0) return errno;
  if (written == static_cast<ssize_t>(bytes)) return 0;
  *is_torn = written > 0;
  rlimit limit;
  const auto end = static_cast<rlim_t>(lseek(fd, 0, SEEK_CUR));
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur <= end ? EFBIG : ENOSPC;
}

// Whether the chunk that starts with this header is whole.
bool IsWholeChunk(int fd, uint64_t at, const trace::ChunkHeader& header) {
  auto* body = static_cast<unsigned char*>(MapMemory(header.body_bytes + 1));
  if (body == nullptr) return false;
  const ssize_t n = pread(fd, body, header.body_bytes, static_cast<off_t>(at + trace::kChunkHeaderBytes));
  const bool is_whole =
      n == static_cast<ssize_t>(header.body_bytes) && trace::Crc32(body, header.body_bytes) == header.body_crc;
  UnmapMemory(body, header.body_bytes + 1);
  return is_whole;
}

// [salvage] Whether that chunk got into the trace, at or after `from`. Others may have written between.
bool IsInFile(const trace::ProcessKey& process, uint64_t sequence, uint64_t from) {
  uint64_t file_bytes = 0;
  const int fd = OpenOutput(&file_bytes);
  if (fd < 0) return false;
  unsigned char window[64 * 1024];
  bool is_there = false;
  while (!is_there) {
    const ssize_t n = pread(fd, window, sizeof window, static_cast<off_t>(from));
    if (n < static_cast<ssize_t>(trace::kChunkHeaderBytes)) break;
    const auto last = static_cast<std::size_t>(n) - trace::kChunkHeaderBytes;
    for (std::size_t i = 0; i <= last && !is_there; ++i) {
      trace::ChunkHeader header;
      if (window[i] != trace::kChunkMagic[0] || trace::ReadHeader(window + i, &header) != trace::HeaderStatus::kGood)
        continue;
      is_there = header.process == process && header.sequence == sequence && IsWholeChunk(fd, from + i, header);
    }
    from += last + 1;
  }
  close(fd);
  return is_there;
}

constexpr uint64_t kCapacities[] = {16u << 20, 8u << 20};
// The launcher looks once a second until it knows that there is something.
constexpr uint64_t kPatienceNs = 2'000'000'000, kPauseNs = 2'000'000;

trace::Outbox* outbox = nullptr;
bool has_waited_in_vain = false;
constinit std::atomic<uint32_t> never{0};

bool MakeOutbox() {
  if (outbox != nullptr) return true;
  if (!IsArenaShared()) return false;
  for (const uint64_t capacity : kCapacities) {
    void* const at = KeepMemory(sizeof(trace::Outbox) + capacity, Region::kRows, trace::kOutboxPageBytes);
    const uint64_t offset = reinterpret_cast<uintptr_t>(at) - Header().base;
    if (at == nullptr || offset >= Header().size_bytes) continue;
    outbox = new (at) trace::Outbox{};
    outbox->capacity = capacity;
    Header().outbox_page.store(static_cast<uint32_t>(offset / trace::kOutboxPageBytes), std::memory_order_release);
    return true;
  }
  return false;
}

bool HasRoom(uint64_t bytes) {
  const uint64_t waiting =
      outbox->added.load(std::memory_order_relaxed) - outbox->taken.load(std::memory_order_acquire);
  return waiting <= outbox->capacity && outbox->capacity - waiting >= bytes;
}

bool WaitForRoom(uint64_t bytes) {
  if (bytes > outbox->capacity) return false;
  const uint64_t deadline = MonotonicNs() + (has_waited_in_vain ? 0 : kPatienceNs);
  while (!HasRoom(bytes)) {
    if (MonotonicNs() >= deadline || !LauncherIsAlive()) {
      has_waited_in_vain = true;
      return false;
    }
    FutexWait(&never, 0, kPauseNs);
  }
  has_waited_in_vain = false;
  return true;
}

}  // namespace

ChunkOutput& Output() { return output; }
void SetTraceOfSalvage(int descriptor) { trace_of_salvage = descriptor; }

bool ChunkOutput::SetUpBuffers() {
  if (buffer_ != nullptr) return true;
  strings_ = static_cast<trace::StringRecord*>(MapMemory(sizeof(trace::StringRecord) * trace::kMaxChunkRecords));
  shapes_ =
      static_cast<trace::KernelShapeRecord*>(MapMemory(sizeof(trace::KernelShapeRecord) * trace::kMaxChunkRecords));
  buffer_ = static_cast<unsigned char*>(MapMemory(kBufferBytes));
  if (strings_ == nullptr || shapes_ == nullptr) buffer_ = nullptr;
  return buffer_ != nullptr;
}

void ChunkOutput::Start(const trace::ProcessKey& process, bool keeps_standing) {
  process_ = process;
  keeps_standing_ = keeps_standing;
  sequence_ = 0;
  pending_count_ = 0;
  flight_ = {};
  SetUpBuffers();
}

// In the child of a fork: the parent's rows are the parent's to write, and its buffers may be newer than the child.
void ChunkOutput::ResetAfterFork() {
  new (this) ChunkOutput;
  LeaveOutboxAfterFork();
}

void ChunkOutput::CountLoss(trace::RecordKind kind, trace::LossReason reason, uint64_t count) {
  if (count == 0) return;
  for (uint32_t i = 0; i < pending_count_; ++i) {
    if (pending_[i].kind == kind && pending_[i].reason == reason) {
      pending_[i].count += count;
      return;
    }
  }
  if (pending_count_ < kMaxPending) pending_[pending_count_++] = {kind, reason, count};
}

void ChunkOutput::AddPendingLosses() {
  auto& batch = batches_.Of<trace::LossRecord>();
  if (batch.rows == nullptr && !Allocate(&batch)) return;
  const uint64_t now = MonotonicNs();
  while (pending_count_ > 0 && batch.count < Batch<trace::LossRecord>::kCapacity) {
    const Pending& p = pending_[--pending_count_];
    batch.rows[batch.count++] = {now, static_cast<uint8_t>(p.reason), static_cast<uint32_t>(p.kind), p.count};
  }
}

void ChunkOutput::RepeatStandingRecords() {
  keeps_standing_ = false;
  const auto repeat = [this](const auto& list) {
    for (uint32_t i = 0; const auto* record = list.At(i); ++i) Add(*record);
  };
  standing_.ForEach(repeat);
  keeps_standing_ = true;
}

void ChunkOutput::Discard() {
  batches_.ForEach([](auto& batch) { batch.count = batch.written = batch.text_bytes = 0; });
  pending_count_ = 0;
}

void ChunkOutput::Flush() {
  if (Config().output[0] == 0) return Discard();
  if (!SetUpBuffers()) return;
  AddPendingLosses();
  batches_.ForEach([this](auto& batch) { batch.count != 0 ? WriteBatch(&batch) : void(); });
}

// A chunk that was cut short by a full disk stays where it is, since others may have appended after it; readers notice.
void ChunkOutput::Append(std::size_t bytes, uint32_t rows, trace::RecordKind kind) {
  uint64_t file_bytes = 0;
  const int fd = OpenOutput(&file_bytes);
  int error = fd < 0 ? errno : 0;
  flight_ = {kind, flight_.first, rows, sequence_, file_bytes};
  output_detail::StepDone();
  bool is_torn = false;
  if (fd >= 0) {
    error = WriteOnce(fd, buffer_, bytes, &is_torn);
    close(fd);
  }
  if (error != 0 && IsLimitOfProcess(error) && HandOver(buffer_, bytes)) error = 0;
  if (error == 0 || is_torn) ++sequence_;
  if (error != 0) NotWritten(error, rows, kind);
}

bool ChunkOutput::LeaveRest() const {
  uint64_t lost = 0;
  for (uint32_t i = 0; i < pending_count_; ++i) lost += pending_[i].count;
  Header().lost_records.store(lost, std::memory_order_relaxed);
  Header().write_error.store(lost != 0 ? static_cast<uint32_t>(last_error_) : 0, std::memory_order_relaxed);
  return lost != 0 || HasHandedOver();
}

void ChunkOutput::NotWritten(int error, uint32_t rows, trace::RecordKind kind) {
  last_error_ = error;
  // A loss record that could not be written stands for what it counted.
  if (kind == trace::RecordKind::kLoss) {
    const auto& batch = batches_.Of<trace::LossRecord>();
    for (uint32_t i = batch.written; i < batch.written + rows && i < batch.count; ++i) {
      CountLoss(static_cast<trace::RecordKind>(batch.rows[i].lost_kind),
                static_cast<trace::LossReason>(batch.rows[i].reason), batch.rows[i].count);
    }
  } else {
    CountLoss(kind, HasNoRoom(error) ? trace::LossReason::kWriteFailed : trace::LossReason::kNoAccess, rows);
  }
  SayNotWritten(error);
}

void ChunkOutput::Resume() {
  buffer_ = nullptr;
  last_error_ = 0;
  if (pending_count_ > kMaxPending) pending_count_ = 0;
  const bool is_flying = flight_.kind != trace::RecordKind{};
  const bool is_counted = is_flying && sequence_ > flight_.sequence;
  if (is_flying && !is_counted) {
    if (IsInFile(process_, flight_.sequence, flight_.file_bytes)) {
      ++sequence_;
    } else {
      flight_ = {};
    }
  }
  batches_.ForEach([this](auto& batch) { ResumeBatch(&batch); });
  step_ = {};
  flight_ = {};
  // The process died while it wrote a full batch; Add() counts on room for one more.
  batches_.ForEach([this](auto& batch) { IsFull(batch) ? WriteBatch(&batch) : void(); });
}

bool IsLimitOfProcess(int error) {
  return error == EACCES || error == EPERM || error == EFBIG || error == EMFILE || error == ENFILE || error == EROFS;
}

bool HandOver(const unsigned char* chunk, std::size_t bytes) {
  if (is_salvage || !MakeOutbox() || !WaitForRoom(bytes)) return false;
  auto* const ring = reinterpret_cast<unsigned char*>(outbox + 1);
  const uint64_t added = outbox->added.load(std::memory_order_relaxed);
  const uint64_t begin = added % outbox->capacity, until_end = outbox->capacity - begin;
  const std::size_t first = bytes < until_end ? bytes : until_end;
  std::memcpy(ring + begin, chunk, first);
  std::memcpy(ring, chunk + first, bytes - first);
  outbox->added.store(added + bytes, std::memory_order_release);
  return true;
}

bool HasHandedOver() { return outbox != nullptr; }

void LeaveOutboxAfterFork() {
  outbox = nullptr;
  has_waited_in_vain = false;
}

}  // namespace gprof::tracer
