#include "launch/salvage/outbox_taker.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/machine/descriptor.h"
#include "gprof/trace/file.h"
#include "gprof/trace/outbox.h"
#include "launch/salvage/signal_action.h"

namespace gprof {
namespace {

constexpr uint64_t kMostBytes = 64u << 20;

// The file may be cut short, and what is in it may change, at any time: everything is read, and nothing mapped.
class OutboxFile {
 public:
  OutboxFile(int descriptor, uint32_t page)
      : descriptor_(descriptor), at_(static_cast<off_t>(uint64_t{page} * trace::kOutboxPageBytes)) {}

  std::string ReadWaiting() {
    uint64_t head[3] = {};  // as in Outbox
    if (!Read(at_, head, sizeof head)) return {};
    const uint64_t waiting = head[0] - head[1], capacity = head[2];
    if (capacity > kMostBytes || waiting > capacity || waiting == 0) return {};
    taken_ = head[1];
    std::string chunks(waiting, '\0');
    const uint64_t begin = taken_ % capacity, first = std::min(waiting, capacity - begin);
    const off_t ring = at_ + static_cast<off_t>(sizeof(trace::Outbox));
    const bool is_read = Read(ring + static_cast<off_t>(begin), chunks.data(), first) &&
                         Read(ring, chunks.data() + first, waiting - first);
    return is_read ? chunks : std::string();
  }
  void Take(std::size_t bytes) {
    taken_ += bytes;
    [[maybe_unused]] const ssize_t written =
        pwrite(descriptor_, &taken_, sizeof taken_, at_ + static_cast<off_t>(offsetof(trace::Outbox, taken)));
  }

 private:
  bool Read(off_t at, void* bytes, std::size_t size) const {
    return pread(descriptor_, bytes, size, at) == static_cast<ssize_t>(size);
  }

  int descriptor_;
  off_t at_;
  uint64_t taken_ = 0;
};

// The chunk that `chunks` begins with; empty where it does not begin with one of the process.
std::string_view FirstOf(std::string_view chunks, const Arena& arena, trace::ChunkHeader* header) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(chunks.data());
  if (chunks.size() < trace::kChunkHeaderBytes || trace::ReadHeader(bytes, header) != trace::HeaderStatus::kGood)
    return {};
  const std::size_t size = trace::kChunkHeaderBytes + header->body_bytes;
  const bool is_own = header->process.pid == arena.pid && header->process.start_ticks == arena.start_ticks;
  return size <= chunks.size() && is_own && (header->flags & trace::kChunkCollector) == 0 ? chunks.substr(0, size)
                                                                                          : std::string_view();
}

TakenChunks TakeAll(OutboxFile* outbox, std::string_view chunks, const Arena& arena, const RunTraces& traces) {
  TakenChunks taken;
  trace::ChunkHeader header;
  while (!chunks.empty()) {
    const std::string_view chunk = FirstOf(chunks, arena, &header);
    if (chunk.empty()) {
      taken.error = EPROTO;
      return taken;
    }
    // A trace that is not of this run any more was cancelled.
    const TraceFile* const trace = traces.Find(header.run);
    if (taken.error == 0 && trace != nullptr) taken.error = AppendChunks(*trace, chunk).error;
    if (taken.error == 0) {
      outbox->Take(chunk.size());
    } else {
      taken.left_records += header.record_count;
    }
    chunks.remove_prefix(chunk.size());
  }
  return taken;
}

}  // namespace

TakenChunks TakeOutbox(const Arena& arena, const RunTraces& traces) {
  if (arena.outbox_page == 0) return {};
  const int descriptor = OpenHigh(arena.path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
  if (descriptor < 0) return {.error = errno};
  // A trace that grows beyond `ulimit -f` would cost us our life.
  const SignalAction too_large(SIGXFSZ, SIG_IGN);
  OutboxFile outbox(descriptor, arena.outbox_page);
  const std::string chunks = outbox.ReadWaiting();
  const TakenChunks taken = TakeAll(&outbox, chunks, arena, traces);
  close(descriptor);
  return taken;
}

}  // namespace gprof
