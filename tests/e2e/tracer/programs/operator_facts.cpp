// Runs operators of a double of libtorch and says which. Arguments: what the double is like ("good", or "other" where
// its objects are laid out differently), then "fork" for a child that runs them, too, or "memory" for some that
// allocate.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "fake_torch.h"

extern "C" void FakeAllocate(int64_t bytes, uint64_t address);

namespace {

constexpr uint32_t kTensor = 1, kInt = 5, kBool = 9, kList = 12;

c10::TensorImpl Tensor(std::vector<int64_t> sizes, uint16_t type) {
  c10::TensorImpl tensor;
  tensor.dims = sizes.size();
  tensor.type = type;
  if (sizes.size() > 5) {
    tensor.more_sizes = new int64_t[sizes.size()];
    std::copy(sizes.begin(), sizes.end(), tensor.more_sizes);
  } else {
    std::copy(sizes.begin(), sizes.end(), tensor.sizes);
  }
  return tensor;
}
template <class T>
c10::IValue Value(T* object, uint32_t tag) {
  return {reinterpret_cast<uint64_t>(object), tag};
}
c10::IValue Int(int64_t value) { return {static_cast<uint64_t>(value), kInt}; }
c10::IValue Bool(bool value) { return {0xABCD00u | (value ? 1u : 0u), kBool}; }

using Record = int (*)(int step, const void* small, const void* deep);

int Start(Record record, bool is_good) {
  c10::TensorImpl small = Tensor({3, 5}, 6), deep = Tensor({2, 1, 3, 1, 1, 7}, 4);
  if (record(1, &small, &deep) != 1) return 0;
  c10::ListImpl dims, both;
  dims.values = {Int(1), Int(0)};
  both.values = {Value(&small, kTensor), Value(&small, kTensor)};
  const auto next = static_cast<int64_t>(at::sequence_number::peek()) + (is_good ? 0 : 1);
  { at::RecordFunction sum("aten::sum", next, {Value(&small, kTensor), Value(&dims, kList), Bool(true), {}}); }
  { at::RecordFunction cat("aten::cat", next, {Value(&both, kList), Int(0)}); }
  return record(2, nullptr, nullptr);
}

void RunForward() {
  c10::TensorImpl x = Tensor({4, 3, 8, 8}, 5), w = Tensor({6, 3, 3, 3}, 5), deep = Tensor({1, 2, 3, 4, 5, 6, 7}, 15);
  c10::ListImpl two, tensors;
  two.values = {Int(2), Int(-1)};
  tensors.values = {Value(&x, kTensor), Value(&deep, kTensor)};
  const c10::IValue none = Value(&c10::UndefinedTensorImpl::_singleton, kTensor);
  const std::vector<c10::IValue> inputs = {Value(&x, kTensor), Value(&w, kTensor), none,
                                           Value(&two, kList), Bool(false),        Int(1)};
  at::RecordFunction outer("aten::conv2d", 0, {Value(&x, kTensor), Int(3)});
  { at::RecordFunction inner("aten::convolution", 0, inputs); }
  { at::RecordFunction list("aten::stack", 1, {Value(&tensors, kList), Value(&two, kList)}); }
}

void RunBackward() {
  const std::vector<c10::IValue> none;
  at::RecordFunction engine("autograd::engine::evaluate_function: ConvolutionBackward0", 0, none);
  { at::RecordFunction node("ConvolutionBackward0", 0, none); }
  // Begun by one and ended after it: what a program opens itself.
  auto* const early = new at::RecordFunction("early", -1, none);
  auto* const late = new at::RecordFunction("late", -1, none);
  delete early;
  delete late;
}

void RunAllocations() {
  const std::vector<c10::IValue> none;
  at::RecordFunction outer("aten::outer", -1, none);
  constexpr uint64_t kSmall = 0x7f0000000000, kLarge = 0x7f0000200000;
  FakeAllocate(512, kSmall);
  {
    at::RecordFunction inner("aten::inner", -1, none);
    FakeAllocate(2 << 20, kLarge);
    FakeAllocate(-512, kSmall);
  }
  std::thread([] { FakeAllocate(-(1 << 20), kLarge); }).join();
}

}  // namespace

int main(int argc, char** argv) {
  const char* const tracer = std::getenv("NVTX_INJECTION64_PATH");
  void* const library = tracer == nullptr ? nullptr : dlopen(tracer, RTLD_NOW);
  auto* const record = library == nullptr ? nullptr : reinterpret_cast<Record>(dlsym(library, "GprofRecordOperators"));
  const bool is_good = argc > 1 && std::strcmp(argv[1], "good") == 0;
  if (record != nullptr) std::printf("started %d\n", Start(record, is_good));
  if (record != nullptr) std::printf("called %d\n", at::HasCallback() ? 1 : 0);
  std::fflush(stdout);
  if (argc > 2 && std::strcmp(argv[2], "memory") == 0) {
    RunAllocations();
    return 0;
  }
  const pid_t child = argc > 2 ? fork() : -1;
  for (int i = 0; i < 3; ++i) RunForward();
  std::thread(RunBackward).join();
  if (child > 0) waitpid(child, nullptr, 0);
}
