#include "tracer/cupti/activity/activity_buffers.h"

#include <atomic>
#include <new>

#include "tracer/core/tracer.h"
#include "tracer/cupti/activity/activity_records.h"
#include "tracer/store/memory/arena.h"
#include "tracer/store/memory/page_pool.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

using trace::RecordKind;

// NVIDIA advises 1 to 10 MB; per-thread buffers (the default from 13.0) speak for the lower end.
constexpr std::size_t kBlockBytes = 1u << 20;
constexpr std::size_t kBlockHeaderBytes = 64;
constexpr uint32_t kMaxBlocks = 512;

enum class BlockState : uint32_t { kFree, kWithCupti, kFull };

struct BlockHeader {
  uint32_t index;
  std::atomic<BlockState> state;
  uint32_t used_bytes;  // by CUPTI
  uint32_t done_bytes;  // that have become records [writer thread]
};

BlockStack<kMaxBlocks> free_blocks GPROF_IN_ARENA = {};
BlockStack<kMaxBlocks> full_blocks GPROF_IN_ARENA = {};
std::atomic<uint32_t> full_count GPROF_IN_ARENA{0};
std::atomic<uint32_t> block_count GPROF_IN_ARENA{0};
std::atomic<unsigned char*> blocks[kMaxBlocks] GPROF_IN_ARENA = {};
// Before 12.9 CUPTI dereferences the null that should mean "none left"; what goes here is thrown away. Several, as
// several threads may be at it.
constexpr uint32_t kDiscards = 1024;
alignas(8) unsigned char discards[kDiscards][8 * 1024];
constinit std::atomic<uint32_t> next_discard{0};

bool IsDiscard(const uint8_t* buffer) { return buffer >= discards[0] && buffer < discards[0] + sizeof discards; }

// A buffer that was thrown away: its records count as lost.
constinit std::atomic<uint64_t> discarded{0};
void CountDiscarded(const uint8_t* buffer, std::size_t used) {
  uint64_t count = 0;
  for (std::size_t at = 0; at + sizeof(uint32_t) < used; ++count) {
    const std::size_t bytes = RecordBytes(reinterpret_cast<const CUpti_Activity*>(buffer + at)->kind);
    if (bytes == 0) break;
    at += bytes;
  }
  discarded.fetch_add(count, std::memory_order_relaxed);
}

BlockHeader* HeaderOf(unsigned char* block) { return reinterpret_cast<BlockHeader*>(block); }

unsigned char* TakeBlock() {
  uint32_t index;
  if (free_blocks.Pop(&index)) return blocks[index].load(std::memory_order_acquire);
  index = block_count.fetch_add(1, std::memory_order_relaxed);
  if (index >= kMaxBlocks) {
    block_count.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  auto* block = static_cast<unsigned char*>(KeepMemory(kBlockBytes, Region::kRows, 4096));
  if (block == nullptr) return nullptr;
  new (block) BlockHeader{index, {BlockState::kFree}, 0, 0};
  blocks[index].store(block, std::memory_order_release);
  return block;
}

// What a record says by a pointer dies with the process.
void KeepNames(const unsigned char* buffer, std::size_t used) {
  for (std::size_t at = 0; at + sizeof(CUpti_Activity) <= used;) {
    const auto* record = reinterpret_cast<const CUpti_Activity*>(buffer + at);
    const std::size_t bytes = RecordBytes(record->kind);
    if (bytes == 0 || bytes > used - at) return;
    KeepNameOf(record);
    at += bytes;
  }
}

// Record by record, by the lengths that the library in use was asked for: salvage has no library.
void ConvertBlock(unsigned char* block, ChunkOutput* output) {
  BlockHeader* header = HeaderOf(block);
  const uint32_t used = header->used_bytes <= kBlockBytes - kBlockHeaderBytes ? header->used_bytes : 0;
  while (header->done_bytes < used) {
    const auto* record = reinterpret_cast<const CUpti_Activity*>(block + kBlockHeaderBytes + header->done_bytes);
    const std::size_t bytes = RecordBytes(record->kind);
    // Nobody can say where the next record begins.
    if (bytes == 0 || bytes > used - header->done_bytes) {
      output->CountLoss(RecordKind{}, trace::LossReason::kUnknownRecord, 1);
      break;
    }
    const Cursor cursor{&header->done_bytes, header->done_bytes + static_cast<uint32_t>(bytes)};
    ConvertRecord(record, output, cursor);
    header->done_bytes = cursor.next;
  }
  header->state.store(BlockState::kFree, std::memory_order_release);
}

}  // namespace

void CUPTIAPI OnBufferRequested(uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  ErrnoGuard errno_guard;
  constexpr uint32_t kNullIsSafe = 27;
  *max_records = 0;
  unsigned char* block = TakeBlock();
  if (block != nullptr) {
    HeaderOf(block)->state.store(BlockState::kWithCupti, std::memory_order_release);
    *buffer = block + kBlockHeaderBytes;
    *size = kBlockBytes - kBlockHeaderBytes;
  } else if (Cupti().version >= kNullIsSafe) {
    *buffer = nullptr;
    *size = 0;
  } else {
    *buffer = discards[next_discard.fetch_add(1, std::memory_order_relaxed) % kDiscards];
    *size = sizeof discards[0];
  }
}

void CUPTIAPI OnBufferCompleted(CUcontext, uint32_t, uint8_t* buffer, std::size_t, std::size_t valid) {
  if (buffer == nullptr) return;
  if (IsDiscard(buffer)) return CountDiscarded(buffer, valid);
  ErrnoGuard errno_guard;
  BlockHeader* header = HeaderOf(buffer - kBlockHeaderBytes);
  header->used_bytes = static_cast<uint32_t>(valid);
  header->done_bytes = 0;
  KeepNames(buffer, valid);
  header->state.store(valid == 0 ? BlockState::kFree : BlockState::kFull, std::memory_order_release);
  if (valid == 0) return free_blocks.Push(header->index);
  full_blocks.Push(header->index);
  constexpr uint32_t kWakeBlocks = 8;
  if ((full_count.fetch_add(1, std::memory_order_relaxed) + 1) % kWakeBlocks == 0) WakeWriter();
}

bool IsOurBuffer(const uint8_t* buffer) {
  if (buffer == nullptr || IsDiscard(buffer)) return true;
  for (const auto& block : blocks) {
    const unsigned char* const at = block.load(std::memory_order_relaxed);
    if (at != nullptr && buffer == at + kBlockHeaderBytes) return true;
  }
  return false;
}

bool DrainActivity(ChunkOutput* output) {
  uint32_t index;
  bool has_work = false;
  while (full_blocks.Pop(&index)) {
    full_count.fetch_sub(1, std::memory_order_relaxed);
    ConvertBlock(blocks[index].load(std::memory_order_acquire), output);
    free_blocks.Push(index);
    has_work = true;
  }
  return has_work;
}

uint64_t TakeDiscarded() { return discarded.exchange(0, std::memory_order_relaxed); }

// The states say which blocks are full; the stack may have been caught in the middle of a push.
void SalvageActivity(ChunkOutput* output) {
  for (uint32_t i = 0; i < kMaxBlocks; ++i) {
    unsigned char* block = blocks[i].load(std::memory_order_relaxed);
    if (IsKept(block, kBlockBytes) && HeaderOf(block)->state.load(std::memory_order_relaxed) == BlockState::kFull) {
      ConvertBlock(block, output);
    }
  }
}

void ResetActivityAfterFork() {
  free_blocks.Clear();
  full_blocks.Clear();
  full_count.store(0, std::memory_order_relaxed);
  block_count.store(0, std::memory_order_relaxed);
  for (auto& block : blocks) block.store(nullptr, std::memory_order_relaxed);
}

}  // namespace gprof::tracer
