#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "notice.h"
#include "tracer.h"

namespace gprof::tracer {
namespace {

constinit ChunkWriter writer;

const char* Reason(int error) {
  switch (error) {
    case ENOSPC: return "no space left on the device (ENOSPC)";
    case EDQUOT: return "the disk quota is used up (EDQUOT)";
    case EFBIG: return "the file would grow beyond the limit of `ulimit -f` (EFBIG)";
    case ENOENT: return "the file is gone (ENOENT)";
    case EACCES: return "permission denied (EACCES)";
    case EIO: return "input/output error (EIO)";
    case EROFS: return "the file system is read-only (EROFS)";
    case EMFILE: return "the process has no file descriptor left (EMFILE)";
    case ESTALE: return "another file has taken its place";
    default: return nullptr;
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
  message << "; the program runs on, what it does is not recorded";
  Say(trace::NoticeLevel::kError, message);
}

// Opened anew for each chunk: the target may close any descriptor it does not know.
int OpenOutput() {
  const TracerConfig& config = Config();
  const int fd = open(config.output, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
  if (fd < 0 || config.output_inode == 0) return fd;
  struct stat s;
  if (fstat(fd, &s) == 0 && s.st_dev == config.output_device && s.st_ino == config.output_inode) return fd;
  close(fd);
  errno = ESTALE;
  return -1;
}

}  // namespace

ChunkWriter& Writer() { return writer; }

bool ChunkWriter::SetUpBuffers() {
  if (buffer_ != nullptr) return true;
  strings_ = static_cast<trace::StringRecord*>(MapMemory(sizeof(trace::StringRecord) * trace::kMaxChunkRecords));
  shapes_ = static_cast<trace::KernelShapeRecord*>(MapMemory(sizeof(trace::KernelShapeRecord) * trace::kMaxChunkRecords));
  buffer_ = static_cast<unsigned char*>(MapMemory(kBufferBytes));
  if (strings_ == nullptr || shapes_ == nullptr) buffer_ = nullptr;
  return buffer_ != nullptr;
}

void ChunkWriter::Start(const trace::ProcessKey& process) {
  process_ = process;
  sequence_ = 0;
  pending_count_ = 0;
  std::apply([](auto&... batch) { ((batch.count = 0), ...); }, batches_);
  SetUpBuffers();
}

void ChunkWriter::CountLoss(trace::RecordKind kind, trace::LossReason reason, uint64_t count) {
  if (count == 0) return;
  for (uint32_t i = 0; i < pending_count_; ++i) {
    if (pending_[i].kind == kind && pending_[i].reason == reason) {
      pending_[i].count += count;
      return;
    }
  }
  if (pending_count_ < kMaxPending) pending_[pending_count_++] = {kind, reason, count};
}

void ChunkWriter::AddPendingLosses() {
  auto& batch = std::get<Batch<trace::LossRecord>>(batches_);
  if (batch.rows == nullptr && !Allocate(&batch)) return;
  const uint64_t now = MonotonicNs();
  while (pending_count_ > 0 && batch.count < Batch<trace::LossRecord>::kCapacity) {
    const Pending& p = pending_[--pending_count_];
    batch.rows[batch.count++] = {now, static_cast<uint8_t>(p.reason), static_cast<uint32_t>(p.kind), p.count};
  }
}

void ChunkWriter::Flush() {
  if (!SetUpBuffers()) return;
  AddPendingLosses();
  std::apply([this](auto&... batch) { ((batch.count != 0 ? WriteBatch(&batch) : void()), ...); }, batches_);
}

// A chunk that was cut short by a full disk stays where it is, since others may have appended after it; readers notice.
void ChunkWriter::Append(std::size_t bytes, uint32_t lost_if_not, trace::RecordKind kind) {
  const int fd = OpenOutput();
  ssize_t written = -1;
  int error = errno;
  if (fd >= 0) {
    do {
      written = write(fd, buffer_, bytes);
      error = written < 0 ? errno : ENOSPC;
    } while (written < 0 && error == EINTR);
    close(fd);
  }
  if (written > 0) ++sequence_;
  if (written == static_cast<ssize_t>(bytes)) return;
  // A loss record that could not be written stands for what it counted.
  if (kind == trace::RecordKind::kLoss) {
    const auto& batch = std::get<Batch<trace::LossRecord>>(batches_);
    for (uint32_t i = 0; i < lost_if_not && i < batch.count; ++i) {
      CountLoss(static_cast<trace::RecordKind>(batch.rows[i].lost_kind),
                static_cast<trace::LossReason>(batch.rows[i].reason), batch.rows[i].count);
    }
  } else {
    CountLoss(kind, trace::LossReason::kWriteFailed, lost_if_not);
  }
  SayNotWritten(error);
}

}  // namespace gprof::tracer
