// pool-allocations: a block of a size that is freed again and again is kept, and is what the next allocation of that
// size gets. cuMemFree waits for the GPU, and so does this. Kept blocks never take more memory than the program had at
// most.
#include "cures/device_pool.h"

#include <cstddef>
#include <cstdint>

#include "cures/calls.h"
#include "cures/captures.h"
#include "cures/driver.h"
#include "cures/managed.h"
#include "cures/spin_lock.h"

namespace gprof::cures {
namespace {

// A size is kept from this free of it on.
constexpr uint32_t kFreesBefore = 3;

struct Block {
  uint64_t address = 0, bytes = 0;
  Context context = nullptr;
  bool is_kept = false;    // otherwise the program has it
  bool is_shared = false;  // somebody else knows its address, too
};
constexpr std::size_t kMostBlocks = 4096;
Block blocks[kMostBlocks];
std::size_t block_count = 0;
uint64_t kept_bytes = 0, used_bytes = 0, most_used_bytes = 0;

struct FreedSize {
  uint64_t bytes = 0;
  uint32_t frees = 0;
};
constexpr std::size_t kSizes = 1024;
FreedSize sizes[kSizes];  // one that another one displaces begins anew
SpinLock lock;

Block* Find(uint64_t address) {
  for (std::size_t i = 0; i < block_count; ++i) {
    if (!blocks[i].is_kept && address - blocks[i].address < blocks[i].bytes) return &blocks[i];
  }
  return nullptr;
}

void Remove(Block* block) {
  (block->is_kept ? kept_bytes : used_bytes) -= block->bytes;
  *block = blocks[--block_count];
}

bool TakeKept(Context context, uint64_t bytes, uint64_t* address) {
  const Holding holding(lock);
  for (std::size_t i = 0; i < block_count; ++i) {
    Block& block = blocks[i];
    if (!block.is_kept || block.bytes != bytes || block.context != context) continue;
    block.is_kept = false;
    kept_bytes -= bytes;
    used_bytes += bytes;
    *address = block.address;
    return true;
  }
  return false;
}

void Add(Context context, uint64_t address, uint64_t bytes) {
  const Holding holding(lock);
  if (block_count == kMostBlocks) return;
  blocks[block_count++] = Block{.address = address, .bytes = bytes, .context = context};
  used_bytes += bytes;
  if (most_used_bytes < used_bytes) most_used_bytes = used_bytes;
}

bool IsFreedAgain(uint64_t bytes) {
  FreedSize& size = sizes[(bytes >> 9 ^ bytes >> 18 ^ bytes) % kSizes];
  if (size.bytes != bytes) size = {bytes, 0};
  return ++size.frees >= kFreesBefore;
}

// A kept block out of the list, its address 0 where there is none.
Block TakeAnyKept() {
  const Holding holding(lock);
  for (std::size_t i = 0; i < block_count; ++i) {
    if (!blocks[i].is_kept) continue;
    const Block block = blocks[i];
    Remove(&blocks[i]);
    return block;
  }
  return {};
}

bool WouldTakeTooMuch(uint64_t bytes) {
  const Holding holding(lock);
  return kept_bytes > 0 && used_bytes + kept_bytes + bytes > most_used_bytes;
}

void FreeOneKept() {
  const Block block = TakeAnyKept();
  if (block.address == 0) return;
  const InContext in_context(block.context);
  TheDriver()->cuMemFree(block.address);
}

// What a free waits for. False: the driver has an error to tell.
bool WaitForGpu(Context context) {
  const InContext in_context(context);
  return in_context.IsGood() && TheDriver()->cuCtxSynchronize() == kSuccess;
}

// Whether the block is to be kept; if not, it is none of ours any more.
bool IsToBeKept(uint64_t address, Context* context) {
  const Holding holding(lock);
  Block* const block = Find(address);
  if (block == nullptr || block->address != address) return false;
  *context = block->context;
  if (IsFreedAgain(block->bytes) && !block->is_shared && !IsCapturing()) return true;
  Remove(block);
  return false;
}

void Keep(uint64_t address) {
  const Holding holding(lock);
  Block* const block = Find(address);
  if (block == nullptr) return;
  block->is_kept = true;
  used_bytes -= block->bytes;
  kept_bytes += block->bytes;
}

void Drop(uint64_t address) {
  const Holding holding(lock);
  if (Block* const block = Find(address)) Remove(block);
}

int ShareAnd(Call& call, const Words& words, uint64_t address) {
  {
    const Holding holding(lock);
    if (Block* const block = Find(address)) block->is_shared = true;
  }
  return call.Forward(words);
}

int FreeBlock(Call& call, const Words& words) {
  const uint64_t address = words.at[0];
  Context context = nullptr;
  if (!IsWanted(kPoolAllocations) || !IsToBeKept(address, &context)) return call.Forward(words);
  if (WaitForGpu(context)) return Keep(address), kSuccess;
  Drop(address);
  return call.Forward(words);
}

}  // namespace

void FreePooled() {
  for (;;) {
    {
      const Holding holding(lock);
      if (kept_bytes == 0) return;
    }
    FreeOneKept();
  }
}

void ForgetBlocks() {
  const Holding holding(lock);
  block_count = 0;
  kept_bytes = used_bytes = 0;
}

int Allocate(Call& call, const Words& words) {
  auto* const address = words.Pointer<uint64_t>(0);
  const uint64_t bytes = words.at[1];
  const Context context = CurrentContext();
  if (context == nullptr || address == nullptr || IsCapturing()) return call.Forward(words);
  if (TakeKept(context, bytes, address)) return kSuccess;
  while (WouldTakeTooMuch(bytes)) FreeOneKept();
  const int result = AllocateElsewhere(call, words);
  if (result == kSuccess) Add(context, *address, bytes);
  return result;
}

// Memory that we keep is not to be missing anywhere.
int AllocateElsewhere(Call& call, const Words& words) {
  const int result = call.Forward(words);
  if (result != kOutOfMemory) return result;
  FreePooled();
  return call.Forward(words);
}

int AllocateManaged(Call& call, const Words& words) {
  const int result = AllocateElsewhere(call, words);
  if (result == kSuccess) NoteManaged(*words.Pointer<uint64_t>(0), words.at[1], static_cast<uint32_t>(words.at[2]));
  return result;
}

int Free(Call& call, const Words& words) {
  ForgetManaged(words.at[0]);
  return FreeBlock(call, words);
}

// A program that makes use of what is free would make less of it.
int AskForMemory(Call& call, const Words& words) {
  FreePooled();
  return call.Forward(words);
}

int ShareSecond(Call& call, const Words& words) { return ShareAnd(call, words, words.at[1]); }
int ShareThird(Call& call, const Words& words) { return ShareAnd(call, words, words.at[2]); }

}  // namespace gprof::cures
