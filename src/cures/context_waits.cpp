// stream-waits: a wait for all of a context waits for one stream, where the driver says that no other has work. Streams
// of threads are the one kind that cannot be asked about: a program that uses them keeps its waits.
#include "cures/context_waits.h"

#include <cstddef>

#include "cures/calls.h"
#include "cures/captures.h"
#include "cures/driver.h"
#include "cures/spin_lock.h"

namespace gprof::cures {
namespace {

// To ask about more takes longer than is gained.
constexpr std::size_t kMostAsked = 8;

struct Stream {
  Context context = nullptr;
  uint64_t handle = 0;
};
constexpr std::size_t kMostStreams = 256;
Stream streams[kMostStreams];
std::size_t stream_count = 0;
SpinLock lock;

void AddStream(Context context, uint64_t handle) {
  const Holding holding(lock);
  if (stream_count == kMostStreams || context == nullptr) return GiveUp(kStreamWaits);
  streams[stream_count++] = {context, handle};
}

void RemoveStream(uint64_t handle) {
  const Holding holding(lock);
  for (std::size_t i = 0; i < stream_count; ++i) {
    if (streams[i].handle == handle) streams[i] = streams[--stream_count];
  }
}

struct Asked {
  uint64_t handles[kMostAsked] = {kLegacyStream};
  std::size_t count = 1;
};

// False: there are too many.
bool StreamsOf(Context context, Asked* asked) {
  const Holding holding(lock);
  for (std::size_t i = 0; i < stream_count; ++i) {
    if (streams[i].context != context) continue;
    if (asked->count == kMostAsked) return false;
    asked->handles[asked->count++] = streams[i].handle;
  }
  return true;
}

// The only stream with work, the default one where none has any. False: there are several, or the driver has an error
// to tell.
bool FindBusyStream(uint64_t* busy) {
  Asked asked;
  const Context context = CurrentContext();
  if (context == nullptr || !StreamsOf(context, &asked)) return false;
  std::size_t found = 0;
  *busy = kLegacyStream;
  for (std::size_t i = 0; i < asked.count; ++i) {
    const int answer = TheDriver()->cuStreamQuery(asked.handles[i]);
    if (answer == kNotReady) *busy = asked.handles[i], ++found;
    if (found > 1 || (answer != kNotReady && answer != kSuccess)) return false;
  }
  return true;
}

}  // namespace

void NoteStreamUse(uint64_t stream) {
  if (stream == kThreadStream) GiveUp(kStreamWaits);
}

int WaitForContext(Call& call, const Words& words) {
  uint64_t busy = 0;
  const bool is_one = IsWanted(kStreamWaits) && !IsCapturing() && FindBusyStream(&busy);
  const int result = is_one ? TheDriver()->cuStreamSynchronize(busy) : call.Forward(words);
  NoteWait();
  return result;
}

int Wait(Call& call, const Words& words) {
  const int result = call.Forward(words);
  if (result == kSuccess) NoteWait();
  return result;
}

int Launch(Call& call, const Words& words) {
  const uint64_t stream = call.Stream(words.at[8]);
  NoteStreamUse(stream);
  BeforeKernels(stream);
  return call.Forward(words);
}

// Grid, block and shared memory are seven numbers of 32 bits before the stream.
int LaunchEx(Call& call, const Words& words) {
  struct Configuration {
    uint32_t numbers[7];
    uint64_t stream;
  };
  const uint64_t stream = call.Stream(words.Pointer<const Configuration>(0)->stream);
  NoteStreamUse(stream);
  BeforeKernels(stream);
  return call.Forward(words);
}

int LaunchGraph(Call& call, const Words& words) {
  const uint64_t stream = call.Stream(words.at[1]);
  NoteStreamUse(stream);
  BeforeKernels(stream);
  return call.Forward(words);
}

int FillAsync(Call& call, const Words& words) {
  NoteStreamUse(call.Stream(words.at[3]));
  return call.Forward(words);
}
int Fill2DAsync(Call& call, const Words& words) {
  NoteStreamUse(call.Stream(words.at[5]));
  return call.Forward(words);
}

int CreateStream(Call& call, const Words& words) {
  const int result = call.Forward(words);
  if (result == kSuccess) AddStream(CurrentContext(), *words.Pointer<uint64_t>(0));
  return result;
}

int CreateStreamElsewhere(Call& call, const Words& words) {
  GiveUp(kStreamWaits);
  return call.Forward(words);
}

// Before the call: another thread may get the same handle right after it.
int DestroyStream(Call& call, const Words& words) {
  RemoveStream(words.at[0]);
  return call.Forward(words);
}

}  // namespace gprof::cures
