#include "tracer/store/chunk_output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

#include "tracer/core/notice.h"
#include "tracer/core/tracer.h"
#include "tracer/store/memory/arena.h"
#include "tracer/system/clock.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constinit ChunkOutput output GPROF_IN_ARENA;

const char* Reason(int error) {
  switch (error) {
    case ENOSPC:
      return "no space left on the device (ENOSPC)";
    case EDQUOT:
      return "disk quota exceeded (EDQUOT)";
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

void SayNotWritten(int error) {
  Message message;
  message << "the trace " << Config().output << " cannot be written: ";
  if (const char* reason = Reason(error); reason != nullptr) {
    message << reason;
  } else {
    message << "error " << static_cast<uint64_t>(error);
  }
  message << (error == ENOSPC || error == EDQUOT ? "; events are lost until there is space again"
                                                 : "; the program continues, but is no longer recorded");
  Say(trace::NoticeLevel::kError, message);
}

// Opened anew for each chunk: the target may close any descriptor it does not know.
int OpenOutput(uint64_t* file_bytes) {
  const TracerConfig& config = Config();
  const int fd = open(config.output, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
  struct stat s;
  if (fd < 0 || fstat(fd, &s) != 0) return fd;
  *file_bytes = static_cast<uint64_t>(s.st_size);
  if (config.output_inode == 0) return fd;
  if (s.st_dev == config.output_device && s.st_ino == config.output_inode) return fd;
  close(fd);
  errno = ESTALE;
  return -1;
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
  const int fd = open(Config().output, O_RDONLY | O_CLOEXEC | O_NOCTTY);
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

}  // namespace

ChunkOutput& Output() { return output; }

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
void ChunkOutput::ResetAfterFork() { new (this) ChunkOutput; }

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
  if (fd < 0) return NotWritten(errno, rows, kind);
  flight_ = {kind, flight_.first, rows, sequence_, file_bytes};
  output_detail::StepDone();
  ssize_t written;
  int error;
  do {
    written = write(fd, buffer_, bytes);
    error = written < 0 ? errno : ENOSPC;
  } while (written < 0 && error == EINTR);
  close(fd);
  if (written > 0) ++sequence_;
  if (written != static_cast<ssize_t>(bytes)) NotWritten(error, rows, kind);
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
    CountLoss(kind, trace::LossReason::kWriteFailed, rows);
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

}  // namespace gprof::tracer
