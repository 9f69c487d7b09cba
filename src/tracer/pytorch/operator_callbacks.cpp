#include <atomic>
#include <cstring>

#include "tracer/capture/capture.h"
#include "tracer/core/entry_points.h"
#include "tracer/core/notice.h"
#include "tracer/core/tracer.h"
#include "tracer/pytorch/operator_text.h"
#include "tracer/pytorch/torch_layout.h"
#include "tracer/pytorch/torch_library.h"
#include "tracer/store/thread_log.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

enum class State : uint32_t { kOff, kTrying, kOn, kRefused };
constinit std::atomic<State> state{State::kOff};
TorchLibrary torch;
TorchLayout torch_layout;

// Of the trial: what is known, and how far it has come.
KnownTensors trial_tensors;
uint32_t trying_tid = 0;
bool has_seen_sum = false, has_seen_list = false;

// The functions that a thread is in and that are recorded, the outermost first. Begins and ends are not always nested:
// what the program opens itself (torch.autograd.profiler.record_function) it closes where and when it likes.
struct OpenFunctions {
  static constexpr uint32_t kMost = 509;
  uint32_t tid;  // the memory is that of a log, which one thread has after the other
  uint32_t count;
  TorchFunction functions[kMost];
};

// Those of a log that has none, or those of the thread that had it before.
[[gnu::noinline]] OpenFunctions* NewOpenFunctions(ThreadLog* log) {
  ErrnoGuard errno_guard;
  if (log->open_functions == nullptr) log->open_functions = MapMemory(sizeof(OpenFunctions));
  auto* const open = static_cast<OpenFunctions*>(log->open_functions);
  if (open != nullptr) open->tid = log->tid, open->count = 0;
  return open;
}

OpenFunctions* OpenFunctionsOf(ThreadLog* log) {
  auto* const open = static_cast<OpenFunctions*>(log->open_functions);
  return __builtin_expect(open != nullptr && open->tid == log->tid, 1) ? open : NewOpenFunctions(log);
}

// Convolutions are told by numbers, too: how many operations they are depends on these.
bool NeedsValues(const char* name, uint32_t bytes) {
  constexpr char kConvolution[] = "aten::convolution";
  constexpr uint32_t kBytes = sizeof kConvolution - 1;
  return bytes >= kBytes && std::memcmp(name, kConvolution, kBytes) == 0;
}

// False: there is no room for it, which the log has counted. How much its inputs take is known once they are written.
bool WriteBegin(ThreadLog* log, TorchFunction function) {
  const char* const name = torch.name(function);
  const auto name_bytes = static_cast<uint32_t>(strnlen(name, kMostOperatorNameBytes));
  unsigned char* const at = log->Reserve(sizeof(OperatorRow) + ((name_bytes + 7) & ~7u) + kMostInputBytes);
  if (at == nullptr) return false;
  unsigned char* const inputs = at + sizeof(OperatorRow) + name_bytes;
  std::memcpy(at + sizeof(OperatorRow), name, name_bytes);
  const uint32_t input_bytes =
      PutInputs(torch_layout, torch.undefined_tensor, ReadTorch<const TorchValue*>(function, torch_layout.inputs),
                ReadTorch<uint64_t>(function, torch_layout.inputs + 8), NeedsValues(name, name_bytes), inputs);
  const auto bytes = static_cast<uint32_t>((sizeof(OperatorRow) + name_bytes + input_bytes + 7) & ~std::size_t{7});
  *reinterpret_cast<OperatorRow*>(at) = {{RowType::kOperator, 0, static_cast<uint16_t>(bytes / 8)},
                                         static_cast<uint16_t>(name_bytes),
                                         static_cast<uint16_t>(input_bytes),
                                         Stamp(),
                                         ReadTorch<int64_t>(function, torch_layout.sequence)};
  log->Commit(bytes);
  return true;
}

void Begin(TorchFunction function) {
  ThreadLog* const log = OwnLog();
  if (log == nullptr) return;
  OpenFunctions* const open = OpenFunctionsOf(log);
  if (open == nullptr || open->count == OpenFunctions::kMost) return;
  if (WriteBegin(log, function)) open->functions[open->count++] = function;
}

// Of a thread that began none of these, or not in this process, nothing is known.
void End(TorchFunction function) {
  const uint64_t now = Stamp();
  ThreadLog* const log = own_log;
  if (log == nullptr || log->open_functions == nullptr) return;
  OpenFunctions* const open = OpenFunctionsOf(log);
  uint32_t outer = open->count;
  while (outer > 0 && open->functions[outer - 1] != function) --outer;
  if (outer == 0) return;
  for (; open->count >= outer; --open->count) {
    if (IsCapturing()) Append(log, OperatorEndRow{RowHeaderOf<OperatorEndRow>(RowType::kOperatorEnd), 0, now});
  }
}

// The first calls are those that the hook makes, as far as they are of its thread and have these names.
void Try(TorchFunction function) {
  if (CurrentTid() != trying_tid) return;
  ErrnoGuard errno_guard;
  const char* const name = torch.name(function);
  if (!has_seen_sum && std::strcmp(name, "aten::sum") == 0) {
    has_seen_sum = FindFunctionLayout(function, trial_tensors, torch.next_sequence(), &torch_layout);
  } else if (has_seen_sum && !has_seen_list && std::strcmp(name, "aten::cat") == 0) {
    has_seen_list = ReadsFunction(function, trial_tensors, torch.next_sequence(), torch_layout);
  }
}

NoContext OnBegin(TorchFunction function) {
  const State now = state.load(std::memory_order_acquire);
  if (__builtin_expect(now == State::kOn, 1)) {
    if (IsCapturing()) Begin(function);
  } else if (now == State::kTrying) {
    Try(function);
  }
  return {};
}

void OnEnd(TorchFunction function, void*) { End(function); }

uint64_t AddCallback() {
  // Operators, the functions of backward, TorchScript, custom classes, and what the program names itself.
  constexpr std::size_t kScopes[] = {0, 1, 2, 4, 7};
  TorchCallback callback;
  callback.start = OnBegin;
  callback.end = OnEnd;
  for (const std::size_t scope : kScopes) callback.scopes[scope] = true;
  callback.needs_inputs = true;
  return torch.add_callback(callback);
}

bool Refuse() {
  state.store(State::kRefused, std::memory_order_release);
  Message message;
  message << "PyTorch operators are recorded by emit_nvtx(), which is slower: this build of torch has an unsupported "
          << "memory layout";
  Say(trace::NoticeLevel::kInfo, message);
  return false;
}

uint64_t callback_handle = 0;

}  // namespace

// What the hook in Python calls, by these numbers. `small` and `deep` are addresses (KnownTensors).
enum class Step : int { kTry = 1, kFinish = 2 };

bool TakeStep(Step step, const KnownTensors& tensors) {
  if (step == Step::kTry) {
    if (state.load(std::memory_order_acquire) != State::kOff) return false;
    trial_tensors = tensors;
    trying_tid = CurrentTid();
    if (!FindTorch(&torch) || !FindTensorLayout(trial_tensors, &torch_layout)) return Refuse();
    state.store(State::kTrying, std::memory_order_release);
    callback_handle = AddCallback();
    return true;
  }
  if (state.load(std::memory_order_acquire) != State::kTrying) return false;
  if (!has_seen_list) {
    torch.remove_callback(callback_handle);
    return Refuse();
  }
  state.store(State::kOn, std::memory_order_release);
  return true;
}

}  // namespace gprof::tracer

// 1: go on, or it is on; 0: operators have to be recorded in another way; -1: nothing is recorded in this process.
GPROF_EXPORT int GprofRecordOperators(int step, const void* small, const void* deep) {
  using namespace gprof::tracer;
  ErrnoGuard errno_guard;
  if (!StartTracer()) return -1;
  const KnownTensors tensors{static_cast<const char*>(small), static_cast<const char*>(deep)};
  return TakeStep(static_cast<Step>(step), tensors) ? 1 : 0;
}
