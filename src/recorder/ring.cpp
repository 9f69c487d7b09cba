#include "recorder/ring.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/machine/descriptor.h"
#include "recorder/kept_kinds.h"
#include "trace/file/checksum.h"

namespace gprof {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr std::size_t kWindowBytes = 64u << 10;

bool ReadAt(int descriptor, uint64_t offset, void* bytes, std::size_t size) {
  auto* at = static_cast<unsigned char*>(bytes);
  while (size > 0) {
    const ssize_t count = pread(descriptor, at, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += count;
    offset += static_cast<uint64_t>(count);
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

uint64_t SizeOfFile(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

// Without its holes.
uint64_t BytesOfFile(int descriptor) {
  struct stat status;
  constexpr uint64_t kBlockBytes = 512;
  return fstat(descriptor, &status) == 0 ? static_cast<uint64_t>(status.st_blocks) * kBlockBytes : 0;
}

}  // namespace

std::unique_ptr<Ring> Ring::Open(const std::string& path, const RingLimits& limits) {
  const int descriptor = OpenHigh(path.c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW, 0);
  if (descriptor < 0) return nullptr;
  const int lasting = OpenHigh(LastingPath(path).c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  if (lasting >= 0) return std::unique_ptr<Ring>(new Ring(descriptor, lasting, true, limits));
  const int error = errno;
  close(descriptor);
  errno = error;
  return nullptr;
}

std::unique_ptr<Ring> Ring::OpenToRead(const std::string& path) {
  const int descriptor = OpenHigh(path.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW, 0);
  if (descriptor < 0) return nullptr;
  const int lasting = OpenHigh(LastingPath(path).c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW, 0);
  return std::unique_ptr<Ring>(new Ring(descriptor, lasting, false, {}));
}

Ring::~Ring() {
  close(descriptor_);
  if (lasting_descriptor_ >= 0) close(lasting_descriptor_);
}

void Ring::Follow(const std::function<void(const RingChunk&)>& visit) {
  FollowLasting();
  const uint64_t end = SizeOfFile(descriptor_);
  while (end - next_ >= trace::kChunkHeaderBytes && TakeNext(end, visit)) {
  }
}

// Of a ring that somebody keeps, or has kept.
void Ring::FollowLasting() {
  if (lasting_descriptor_ < 0) return;
  const uint64_t end = SizeOfFile(lasting_descriptor_);
  unsigned char bytes[trace::kChunkHeaderBytes];
  while (end - next_lasting_ >= sizeof bytes && ReadAt(lasting_descriptor_, next_lasting_, bytes, sizeof bytes)) {
    RingChunk chunk{.offset = next_lasting_, .is_moved = true, .header = {}};
    if (trace::ReadHeader(bytes, &chunk.header) != trace::HeaderStatus::kGood) return;
    if (next_lasting_ + chunk.size_bytes() > end) return;
    next_lasting_ += chunk.size_bytes();
    TakeLasting(chunk);
  }
}

void Ring::TakeLasting(RingChunk chunk) {
  // One that was moved meanwhile is seen twice.
  if (!known_.insert({chunk.header.process, chunk.header.sequence}).second) return;
  // The first says whose file it is.
  const bool is_first = chunk.header.process.image == trace::kFirstChunkImage;
  if (is_keeper_ && !chunk.is_moved && !is_first) Move(&chunk);
  lasting_bytes_ += chunk.size_bytes();
  lasting_.push_back(chunk);
}

// First there, then no longer here: whoever dies in between leaves it twice. False: it stays where it is.
bool Ring::Move(RingChunk* chunk) {
  std::vector<unsigned char> bytes(chunk->size_bytes());
  if (!ReadAt(descriptor_, chunk->offset, bytes.data(), bytes.size())) return false;
  if (write(lasting_descriptor_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return false;
  GiveBack(chunk->offset, chunk->offset + chunk->size_bytes());
  chunk->offset = next_lasting_;
  chunk->is_moved = true;
  next_lasting_ += chunk->size_bytes();
  return true;
}

// False: the file goes on with a chunk that is not there as a whole yet.
bool Ring::TakeNext(uint64_t end, const std::function<void(const RingChunk&)>& visit) {
  unsigned char bytes[trace::kChunkHeaderBytes];
  RingChunk chunk{.offset = next_, .is_moved = false, .header = {}};
  if (!ReadAt(descriptor_, next_, bytes, sizeof bytes)) return false;
  if (trace::ReadHeader(bytes, &chunk.header) != trace::HeaderStatus::kGood) {
    // A hole that another process made, or a chunk that a full memory cut short.
    next_ = FindNext(next_ + 1, end);
    return next_ < end;
  }
  if (next_ + chunk.size_bytes() > end) return false;
  next_ += chunk.size_bytes();
  if (IsForgettable(chunk.header.kind)) {
    events_bytes_ += chunk.size_bytes();
    events_.push_back(chunk);
  } else {
    TakeLasting(chunk);
  }
  if (visit && IsForgettable(chunk.header.kind)) visit(chunk);
  return true;
}

// Where the next header may be: a place with its first byte that no hole covers, else as far as was looked at.
uint64_t Ring::FindNext(uint64_t from, uint64_t end) const {
  std::vector<unsigned char> window(kWindowBytes);
  while (from < end) {
    const off_t data = lseek(descriptor_, static_cast<off_t>(from), SEEK_DATA);
    if (data < 0) return errno == ENXIO ? end : from;
    from = static_cast<uint64_t>(data);
    const auto size = static_cast<std::size_t>(std::min<uint64_t>(kWindowBytes, end - from));
    if (size == 0 || !ReadAt(descriptor_, from, window.data(), size)) return end;
    const void* const hit = std::memchr(window.data(), trace::kChunkMagic[0], size);
    if (hit != nullptr) return from + static_cast<uint64_t>(static_cast<const unsigned char*>(hit) - window.data());
    from += size;
  }
  return end;
}

void Ring::Forget(int64_t now_ns) {
  const auto too_old_ns = static_cast<uint64_t>(std::max<int64_t>(now_ns - limits_.keep_ns, 0));
  while (!events_.empty() && can_forget_) {
    const bool is_too_much = events_bytes_ + lasting_bytes_ > limits_.memory_bytes;
    if (!is_too_much && events_.front().header.last_ns >= too_old_ns) return;
    ForgetOldest();
  }
}

void Ring::Overlook(int64_t before_ns) {
  while (!events_.empty() && static_cast<int64_t>(events_.front().header.last_ns) < before_ns) {
    events_bytes_ -= events_.front().size_bytes();
    events_.pop_front();
  }
}

void Ring::ForgetOldest() {
  const RingChunk& chunk = events_.front();
  GiveBack(chunk.offset, chunk.offset + chunk.size_bytes());
  if (!can_forget_) return;
  complete_since_ns_ = std::max(complete_since_ns_, chunk.header.last_ns);
  forgotten_records_ += chunk.header.record_count;
  events_bytes_ -= chunk.size_bytes();
  events_.pop_front();
}

// Only whole pages are given back, so the pages at both ends go when their last byte is in a hole.
void Ring::GiveBack(uint64_t begin, uint64_t end) {
  uint64_t hole_begin = begin, hole_end = end;
  auto after = holes_.lower_bound(begin);
  if (after != holes_.end() && after->first == end) {
    hole_end = after->second;
    after = holes_.erase(after);
  }
  if (after != holes_.begin() && std::prev(after)->second == begin) {
    const auto before = std::prev(after);
    hole_begin = before->first;
    holes_.erase(before);
  }
  holes_[hole_begin] = hole_end;
  const uint64_t from = std::max(hole_begin, begin / kPageBytes * kPageBytes);
  const uint64_t to = std::min(hole_end, (end + kPageBytes - 1) / kPageBytes * kPageBytes);
  can_forget_ = fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from),
                          static_cast<off_t>(to - from)) == 0;
}

std::vector<RingChunk> Ring::Chunks() const {
  std::vector<RingChunk> chunks(lasting_);
  chunks.insert(chunks.end(), events_.begin(), events_.end());
  return chunks;
}

bool Ring::Read(const RingChunk& chunk, std::vector<unsigned char>* body) const {
  body->resize(chunk.header.body_bytes);
  return ReadAt(chunk.is_moved ? lasting_descriptor_ : descriptor_, chunk.offset + trace::kChunkHeaderBytes,
                body->data(), body->size()) &&
         Checksum(body->data(), body->size()) == chunk.header.body_crc;
}

uint64_t Ring::BytesInMemory() const { return BytesOfFile(descriptor_) + BytesOfFile(lasting_descriptor_); }

}  // namespace gprof
