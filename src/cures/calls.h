// The calls of the CUDA driver that come to us on their way: those of calls.inc. Programs find the driver's functions
// in three ways, and each leads here: linked with libcuda (our names come first, as we are preloaded), by dlsym, and by
// cuGetProcAddress, as each CUDA runtime does, a static one, too.
#pragma once

#include <atomic>
#include <cstdint>

#include "cures/wanted_cures.h"

namespace gprof::cures {

// What a call is made with. All arguments of the functions here are integers and pointers; there are more words than
// arguments, and those behind them mean nothing.
struct Words {
  static constexpr int kMost = 12;
  uint64_t at[kMost];
  template <class T>
  T* Pointer(int i) const {
    return reinterpret_cast<T*>(at[i]);
  }
};

// A function may have a variant for programs whose default stream is one of each thread: that of stream 0.
enum class DefaultStream : uint8_t { kLegacy, kOfThread };

struct Call;
using Handler = int (*)(Call& call, const Words& words);

struct Call {
  const char* symbol;  // in libcuda: "cuMemcpyHtoD_v2_ptds"
  const char* name;    // for cuGetProcAddress: "cuMemcpyHtoD"
  int since;           // which CUDA version gave it this symbol
  DefaultStream default_stream;
  uint8_t cures;    // that need it
  Handler handler;  // what we do
  void* function;   // of ours, with that symbol
  std::atomic<void*> real;

  // As the program made it.
  int Forward(const Words& words);
  // The stream that a word stands for.
  uint64_t Stream(uint64_t word) const {
    return word == kNull && default_stream == DefaultStream::kOfThread ? kOfThread : word;
  }

 private:
  static constexpr uint64_t kNull = 0, kOfThread = 2;
};

// Null for those that no cure needs now.
Call* FindSymbol(const char* symbol);
Call* FindName(const char* name, int version, uint64_t flags);

// What is done with the calls: cures.cpp says which cure has a part in it.
int LookUp(Call& call, const Words& words);
int Allocate(Call& call, const Words& words);
int AllocateElsewhere(Call& call, const Words& words);
int AllocateManaged(Call& call, const Words& words);
int Free(Call& call, const Words& words);
int AskForMemory(Call& call, const Words& words);
int ShareSecond(Call& call, const Words& words);
int ShareThird(Call& call, const Words& words);
int CopyAny(Call& call, const Words& words);
int CopyAnyAsync(Call& call, const Words& words);
int CopyInWaysOfItsOwn(Call& call, const Words& words);
int UseHostFirst(Call& call, const Words& words);
int UseHostSecond(Call& call, const Words& words);
int UseHostThird(Call& call, const Words& words);
int UseHostFourth(Call& call, const Words& words);
int WaitForContext(Call& call, const Words& words);
int Wait(Call& call, const Words& words);
int Launch(Call& call, const Words& words);
int LaunchEx(Call& call, const Words& words);
int LaunchGraph(Call& call, const Words& words);
int FillAsync(Call& call, const Words& words);
int Fill2DAsync(Call& call, const Words& words);
int CreateStream(Call& call, const Words& words);
int CreateStreamElsewhere(Call& call, const Words& words);
int DestroyStream(Call& call, const Words& words);
int BeginCapture(Call& call, const Words& words);
int EndCapture(Call& call, const Words& words);
int EndContext(Call& call, const Words& words);
int PlaceManaged(Call& call, const Words& words);

}  // namespace gprof::cures
