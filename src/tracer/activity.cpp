#include "activity.h"

#include <atomic>
#include <new>

#include "convert.h"
#include "pages.h"
#include "sys.h"
#include "tracer.h"

namespace gprof::tracer {
namespace {

using trace::RecordKind;

// NVIDIA advises 1 to 10 MB; per-thread buffers (the default from 13.0) speak for the lower end.
constexpr std::size_t kBlockBytes = 1u << 20;
constexpr std::size_t kBlockHeaderBytes = 64;
constexpr uint32_t kMaxBlocks = 512;

struct BlockHeader {
  uint32_t index;
  std::size_t valid;
};

constinit BlockStack<kMaxBlocks> free_blocks;
constinit BlockStack<kMaxBlocks> full_blocks;
constinit std::atomic<uint32_t> full_count{0};
constinit std::atomic<uint32_t> block_count{0};
unsigned char* blocks[kMaxBlocks];
// Before 12.9 CUPTI dereferences the null that should mean "none left"; what goes here is thrown away.
alignas(8) unsigned char discard[64 * 1024];

unsigned char* TakeBlock() {
  uint32_t index;
  if (free_blocks.Pop(&index)) return blocks[index];
  index = block_count.fetch_add(1, std::memory_order_relaxed);
  if (index >= kMaxBlocks) {
    block_count.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  auto* block = static_cast<unsigned char*>(MapMemory(kBlockBytes));
  if (block == nullptr) return nullptr;
  blocks[index] = block;
  new (block) BlockHeader{index, 0};
  return block;
}

void ConvertBlock(unsigned char* block, ChunkWriter* writer) {
  const std::size_t valid = reinterpret_cast<BlockHeader*>(block)->valid;
  CUpti_Activity* record = nullptr;
  while (true) {
    const CUptiResult result = Cupti().cuptiActivityGetNextRecord(block + kBlockHeaderBytes, valid, &record);
    if (result == CUPTI_SUCCESS) {
      ConvertRecord(record, writer, {});
      continue;
    }
    // A kind that the library itself does not know ends the walk: nobody can say where the next record begins.
    if (result != CUPTI_ERROR_MAX_LIMIT_REACHED) {
      writer->CountLoss(RecordKind{}, trace::LossReason::kUnknownRecord, 1);
    }
    return;
  }
}

}  // namespace

void CUPTIAPI OnBufferRequested(uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  ErrnoGuard errno_guard;
  constexpr uint32_t kNullIsSafe = 27;
  *max_records = 0;
  unsigned char* block = TakeBlock();
  if (block != nullptr) {
    *buffer = block + kBlockHeaderBytes;
    *size = kBlockBytes - kBlockHeaderBytes;
  } else if (Cupti().version >= kNullIsSafe) {
    *buffer = nullptr;
    *size = 0;
  } else {
    *buffer = discard;
    *size = sizeof discard;
  }
}

void CUPTIAPI OnBufferCompleted(CUcontext, uint32_t, uint8_t* buffer, std::size_t, std::size_t valid) {
  if (buffer == nullptr || buffer == discard) return;
  ErrnoGuard errno_guard;
  auto* header = reinterpret_cast<BlockHeader*>(buffer - kBlockHeaderBytes);
  if (valid == 0) return free_blocks.Push(header->index);
  header->valid = valid;
  full_blocks.Push(header->index);
  constexpr uint32_t kWakeBlocks = 8;
  if ((full_count.fetch_add(1, std::memory_order_relaxed) + 1) % kWakeBlocks == 0) WakeWriter();
}

void DrainActivity(ChunkWriter* writer) {
  uint32_t index;
  while (full_blocks.Pop(&index)) {
    full_count.fetch_sub(1, std::memory_order_relaxed);
    ConvertBlock(blocks[index], writer);
    free_blocks.Push(index);
  }
}

}  // namespace gprof::tracer
