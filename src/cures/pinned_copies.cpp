// pin-copies: host memory that is copied again and again is pinned. The program was written for pageable memory, so a
// copy that returned when the memory was free again still does; and whoever asks about the memory sees it pageable.
#include "cures/calls.h"
#include "cures/captures.h"
#include "cures/context_waits.h"
#include "cures/driver.h"
#include "cures/host_buffers.h"

namespace gprof::cures {
namespace {

constexpr int kTo = 0, kFrom = 1, kBytes = 2, kStream = 3;

// A part after the other where only a part is pinned.
int Copy(Call& call, const Words& words, const BufferInUse& to, const BufferInUse& from) {
  Words part = words;
  int result = kSuccess;
  uint64_t done = 0;
  do {
    const uint64_t left = words.at[kBytes] - done;
    part.at[kTo] = words.at[kTo] + done;
    part.at[kFrom] = words.at[kFrom] + done;
    part.at[kBytes] = to.BytesAlike(done, from.BytesAlike(done, left));
    result = call.Forward(part);
    done += part.at[kBytes];
  } while (result == kSuccess && done < words.at[kBytes]);
  return result;
}

// The memory of the GPU is no block of the allocator, so either side may be asked about.
int CopyBetween(Call& call, const Words& words, bool is_async) {
  const BufferInUse to(words.Pointer<void>(kTo), words.at[kBytes]);
  const BufferInUse from(words.Pointer<void>(kFrom), words.at[kBytes]);
  const int result = Copy(call, words, to, from);
  // An asynchronous copy of pageable memory is through with the memory when it returns.
  const bool waits = is_async && result == kSuccess && (to.IsPinned() || from.IsPinned());
  return waits ? TheDriver()->cuStreamSynchronize(call.Stream(words.at[kStream])) : result;
}

}  // namespace

int CopyAny(Call& call, const Words& words) {
  const int result = IsWanted(kPinCopies) ? CopyBetween(call, words, false) : call.Forward(words);
  NoteWait();
  return result;
}

int CopyAnyAsync(Call& call, const Words& words) {
  NoteStreamUse(call.Stream(words.at[kStream]));
  if (!IsWanted(kPinCopies)) return call.Forward(words);
  if (!IsCapturing()) return CopyBetween(call, words, true);
  LeaveBufferAlone(words.Pointer<void>(kTo));
  LeaveBufferAlone(words.Pointer<void>(kFrom));
  return call.Forward(words);
}

// Copies whose arguments are in memory, and which return at once when theirs is pinned.
int CopyInWaysOfItsOwn(Call& call, const Words& words) {
  GiveUp(kPinCopies);
  GiveUp(kStreamWaits);
  UnpinAll();
  return call.Forward(words);
}

int UseHostFirst(Call& call, const Words& words) {
  LeaveBufferAlone(words.Pointer<void>(0));
  return call.Forward(words);
}
int UseHostSecond(Call& call, const Words& words) {
  LeaveBufferAlone(words.Pointer<void>(1));
  return call.Forward(words);
}
int UseHostThird(Call& call, const Words& words) {
  LeaveBufferAlone(words.Pointer<void>(2));
  return call.Forward(words);
}
int UseHostFourth(Call& call, const Words& words) {
  LeaveBufferAlone(words.Pointer<void>(3));
  return call.Forward(words);
}

}  // namespace gprof::cures
