#include "cures/driver.h"

#include <dlfcn.h>

#include <atomic>

#include "glibc/forward.h"

#ifdef GPROF_OLD_GLIBC
FORWARD(dladdr);
FORWARD(dlopen);
FORWARD(dlvsym);
#endif

namespace gprof::cures {
namespace {

constexpr int kRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED

template <class Function>
bool Find(void* library, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(RealLookup(library, name));
  return *function != nullptr;
}

bool FindAll(void* in, Driver* d) {
  return Find(in, "cuCtxGetCurrent", &d->cuCtxGetCurrent) && Find(in, "cuCtxPushCurrent_v2", &d->cuCtxPushCurrent) &&
         Find(in, "cuCtxPopCurrent_v2", &d->cuCtxPopCurrent) && Find(in, "cuCtxSynchronize", &d->cuCtxSynchronize) &&
         Find(in, "cuCtxGetDevice", &d->cuCtxGetDevice) && Find(in, "cuDeviceGetAttribute", &d->cuDeviceGetAttribute) &&
         Find(in, "cuStreamQuery", &d->cuStreamQuery) && Find(in, "cuStreamSynchronize", &d->cuStreamSynchronize) &&
         Find(in, "cuMemFree_v2", &d->cuMemFree) && Find(in, "cuMemGetInfo_v2", &d->cuMemGetInfo) &&
         Find(in, "cuMemHostRegister_v2", &d->cuMemHostRegister) &&
         Find(in, "cuMemHostUnregister", &d->cuMemHostUnregister) &&
         Find(in, "cuThreadExchangeStreamCaptureMode", &d->cuThreadExchangeStreamCaptureMode);
}

}  // namespace

void* RealLookupFunction() {
  static constinit std::atomic<void*> real{nullptr};
  void* lookup = real.load(std::memory_order_relaxed);
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"}) {
    if (lookup == nullptr) lookup = dlvsym(RTLD_NEXT, "dlsym", version);
  }
  real.store(lookup, std::memory_order_relaxed);
  return lookup;
}

void* RealLookup(void* library, const char* name) {
  return reinterpret_cast<void* (*)(void*, const char*)>(RealLookupFunction())(library, name);
}

void* DriverLibrary() {
  static constinit std::atomic<void*> library{nullptr};
  if (library.load(std::memory_order_relaxed) == nullptr) {
    library.store(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), std::memory_order_relaxed);
  }
  return library.load(std::memory_order_relaxed);
}

const Driver* TheDriver() {
  static Driver driver;
  static constinit std::atomic<const Driver*> found{nullptr};
  if (found.load(std::memory_order_acquire) == nullptr) {
    Driver now;
    void* const library = DriverLibrary();
    if (library == nullptr || !FindAll(library, &now)) return nullptr;
    driver = now;  // the same whoever stores it
    found.store(&driver, std::memory_order_release);
  }
  return found.load(std::memory_order_acquire);
}

Context CurrentContext() {
  Context context = nullptr;
  const Driver* const driver = TheDriver();
  if (driver == nullptr || driver->cuCtxGetCurrent(&context) != kSuccess) return nullptr;
  return context;
}

InContext::InContext(Context context) : mode_(kRelaxed) {
  TheDriver()->cuThreadExchangeStreamCaptureMode(&mode_);
  is_pushed_ = TheDriver()->cuCtxPushCurrent(context) == kSuccess;
}

InContext::~InContext() {
  Context popped = nullptr;
  if (is_pushed_) TheDriver()->cuCtxPopCurrent(&popped);
  TheDriver()->cuThreadExchangeStreamCaptureMode(&mode_);
}

}  // namespace gprof::cures
