#include "fake_torch.h"

#include <memory>

namespace at {
namespace {

RecordFunctionCallback callback = {};
bool has_callback = false;
thread_local uint64_t next_sequence = 0;

}  // namespace

RecordFunction::RecordFunction(std::string name, int64_t sequence, const std::vector<c10::IValue>& inputs)
    : name_(std::move(name)), sequence_(sequence), inputs_(inputs.data()), input_count_(inputs.size()) {
  using Start = std::unique_ptr<ObserverContext> (*)(const RecordFunction&);
  if (has_callback) reinterpret_cast<Start>(callback.start)(*this);
}
RecordFunction::~RecordFunction() {
  if (has_callback) callback.end(*this, nullptr);
}
const char* RecordFunction::name() const { return name_.c_str(); }

uint64_t addGlobalCallback(RecordFunctionCallback added) {
  has_callback = added.needs_inputs && !added.needs_outputs && !added.needs_ids && added.sampling_probability == 1;
  callback = added;
  return 7;
}
void removeCallback(uint64_t handle) { has_callback = has_callback && handle != 7; }
bool HasCallback() { return has_callback; }

namespace sequence_number {
uint64_t peek() { return next_sequence; }
void Advance() { ++next_sequence; }
}  // namespace sequence_number

}  // namespace at
