// A kernel of ours, which the driver compiles for whatever GPU there is. What is called of the driver here must not be
// taken for the program's own calls.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "tracer/system/system_calls.h"

namespace gprof::tracer {

class OwnKernel {
 public:
  struct Size {
    uint32_t blocks, threads;
  };

  // `code` is PTX that has the entry `name`. `what_fails`: "kernels are not delayed".
  constexpr OwnKernel(const char* code, const char* name, const char* what_fails)
      : code_(code), name_(name), what_fails_(what_fails) {}

  // False: the stream is being captured, or the driver cannot compile or launch it, which is said once. `context` is
  // current. [any thread]
  bool Launch(CUcontext context, CUstream stream, Size size, void** arguments);
  void ForgetAfterFork();

 private:
  static constexpr uint32_t kMostContexts = 64;
  struct Loaded {
    CUcontext context = nullptr;
    CUfunction function = nullptr;  // null: it cannot be had
  };

  CUfunction In(CUcontext context);
  CUfunction Load();
  void SayOnce(const char* step, CUresult result);

  const char *code_, *name_, *what_fails_;
  Loaded loaded_[kMostContexts] = {};
  uint32_t count_ = 0;
  bool has_said_why_ = false;
  Lock lock_;
};

// What makes work would spoil a capture that another thread is in the midst of, unless the caller says that it need
// not.
class RelaxedCapture {
 public:
  RelaxedCapture();
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace gprof::tracer
