// A libtorch as far as recording its operators goes: the functions that are called by name, and objects that are laid
// out like those of torch 2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace c10 {

struct TensorImpl {
  uint64_t head[7] = {};  // what libtorch keeps of it for itself
  uint64_t dims = 0;
  union {
    int64_t sizes[5];
    int64_t* more_sizes;
  };
  int64_t strides[5] = {};
  int64_t storage_offset = 0, numbers = 0;
  uint16_t type = 0;
  uint64_t keys = 0;
};

struct UndefinedTensorImpl {
  static TensorImpl _singleton;
};

struct IValue {
  uint64_t payload = 0;
  uint32_t tag = 0;
};

enum class DeviceType : int8_t { CPU, CUDA };
struct Device {
  DeviceType type;
  int8_t index;
};
void reportMemoryUsageToProfiler(void* pointer, int64_t bytes, size_t allocated, size_t reserved, Device device);

struct ListImpl {
  uint64_t head[2] = {};
  std::vector<IValue> values;
  uint64_t type[3] = {};
};

}  // namespace c10

namespace at {

class RecordFunction {
 public:
  RecordFunction(std::string name, int64_t sequence, const std::vector<c10::IValue>& inputs);
  virtual ~RecordFunction();
  const char* name() const;

 private:
  uint64_t callbacks_[12] = {};
  std::string name_;
  int64_t sequence_;
  const c10::IValue* inputs_;
  uint64_t input_count_;
  uint64_t rest_[12] = {};
};

struct ObserverContext {
  virtual ~ObserverContext() = default;
};

struct RecordFunctionCallback {
  void* start;
  void (*end)(const RecordFunction&, ObserverContext*);
  double sampling_probability;
  std::array<bool, 10> scopes;
  bool needs_inputs, needs_outputs, needs_ids;
};
uint64_t addGlobalCallback(RecordFunctionCallback callback);
void removeCallback(uint64_t handle);
bool HasCallback();

namespace sequence_number {
uint64_t peek();
void Advance();
}  // namespace sequence_number

}  // namespace at
