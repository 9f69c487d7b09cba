// The CUDA driver behind the program's calls: what cures call of it themselves. Its types are words of the machine, so
// that neither its headers nor its library are needed to build this.
#pragma once

#include <cstdint>

namespace gprof::cures {

// Results (CUresult) that are told apart.
enum : int {
  kSuccess = 0,
  kOutOfMemory = 2,
  kNotFound = 500,
  kNotReady = 600,
  kNotPermitted = 800,
  kFirstOfCapture = 900,
  kLastOfCapture = 907
};

// Streams that have no handle of their own.
inline constexpr uint64_t kNullStream = 0, kLegacyStream = 1, kThreadStream = 2;

using Context = void*;

// dlsym of the C library, past ours, and what is found with it.
void* RealLookupFunction();
void* RealLookup(void* library, const char* name);
// Null where the program has not loaded it.
void* DriverLibrary();

struct Driver {
  int (*cuCtxGetCurrent)(Context*);
  int (*cuCtxPushCurrent)(Context);
  int (*cuCtxPopCurrent)(Context*);
  int (*cuCtxSynchronize)();
  int (*cuCtxGetDevice)(int*);
  int (*cuDeviceGetAttribute)(int*, int, int);
  int (*cuStreamQuery)(uint64_t);
  int (*cuStreamSynchronize)(uint64_t);
  int (*cuMemFree)(uint64_t);
  int (*cuMemGetInfo)(uint64_t*, uint64_t*);
  int (*cuMemHostRegister)(void*, uint64_t, unsigned);
  int (*cuMemHostUnregister)(void*);
  int (*cuThreadExchangeStreamCaptureMode)(int*);
};
// Null where it lacks one of these: then no cure does anything.
const Driver* TheDriver();

Context CurrentContext();

// Makes a context current while it lives, and has the driver's calls spoil no capture of a stream.
class InContext {
 public:
  explicit InContext(Context context);
  ~InContext();
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;
  bool IsGood() const { return is_pushed_; }

 private:
  int mode_;
  bool is_pushed_;
};

}  // namespace gprof::cures
