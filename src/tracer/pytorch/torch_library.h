// The libtorch of the process: the functions of it that are called. They are C++, found by their mangled names; an
// other signature has another name.
#pragma once

#include <cstdint>

namespace gprof::tracer {

// at::RecordFunction is never looked into by a struct of ours: see torch_layout.h.
using TorchFunction = const char*;

// What a callback returns: std::unique_ptr<at::ObserverContext>, which is passed through memory because it has a
// destructor. Ours is always null.
struct NoContext {
  void* object = nullptr;
  NoContext() = default;
  NoContext(const NoContext&) = delete;
  NoContext& operator=(const NoContext&) = delete;
  ~NoContext() {}  // NOLINT(modernize-use-equals-default): a trivial one would change how it is passed
};

// at::RecordFunctionCallback. A later one may be longer: what follows is zero.
struct TorchCallback {
  NoContext (*start)(TorchFunction function) = nullptr;
  void (*end)(TorchFunction function, void* context) = nullptr;
  double sampling_probability = 1;
  bool scopes[10] = {};
  bool needs_inputs = false, needs_outputs = false, needs_ids = false;
  char unused[27] = {};
};
static_assert(sizeof(TorchCallback) == 64);

struct TorchLibrary {
  uint64_t (*add_callback)(TorchCallback callback) = nullptr;
  void (*remove_callback)(uint64_t handle) = nullptr;
  const char* (*name)(TorchFunction function) = nullptr;
  int64_t (*next_sequence)() = nullptr;
  const char* undefined_tensor = nullptr;  // what stands for a tensor that is not there
};

// False: there is none, or one without these functions.
bool FindTorch(TorchLibrary* library);

}  // namespace gprof::tracer
