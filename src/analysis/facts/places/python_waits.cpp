#include "analysis/facts/places/python_waits.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "analysis/facts/places/stack_lines.h"
#include "base/text.h"

namespace gprof {
namespace {

// Classes of methods that CPython before 3.11 names without them.
struct Method {
  std::string_view module, function, class_name;
};
constexpr Method kMethods[] = {
    {"queue", "get", "Queue"},
    {"queue", "put", "Queue"},
    {"queue", "join", "Queue"},
    {"threading", "join", "Thread"},
    {"threading", "start", "Thread"},
    {"threading", "acquire", "Semaphore"},
    {"threading", "wait", "Condition"},
    {"threading", "wait_for", "Condition"},
    {"concurrent.futures", "result", "Future"},
    {"concurrent.futures", "exception", "Future"},
    {"concurrent.futures", "submit", "Executor"},
    {"concurrent.futures", "shutdown", "Executor"},
    {"multiprocessing.queues", "get", "Queue"},
    {"multiprocessing.queues", "put", "Queue"},
    {"multiprocessing.connection", "recv", "Connection"},
    {"multiprocessing.connection", "recv_bytes", "Connection"},
    {"multiprocessing.connection", "poll", "Connection"},
    {"multiprocessing.process", "join", "BaseProcess"},
    {"multiprocessing.pool", "map", "Pool"},
    {"multiprocessing.pool", "starmap", "Pool"},
    {"multiprocessing.pool", "get", "ApplyResult"},
    {"subprocess", "wait", "Popen"},
    {"subprocess", "communicate", "Popen"},
};

// What comes behind `folder`; empty where it is not there.
std::string_view Behind(std::string_view path, std::string_view folder) {
  const std::size_t at = path.rfind(folder);
  return at == std::string_view::npos ? std::string_view{} : path.substr(at + folder.size());
}

// "threading.py" of /usr/lib/python3.11/threading.py, empty for what is not of Python's library.
std::string_view InLibrary(std::string_view path) {
  const std::string_view behind = Behind(path, "/lib/python3.");
  const std::size_t slash = behind.find('/');
  const bool is_package = path.find("-packages/") != std::string_view::npos;
  return slash == std::string_view::npos || is_package ? std::string_view{} : behind.substr(slash + 1);
}

// Of the modules whose functions are worth a name, that name; empty for others.
std::string ModuleOfWaits(std::string_view file) {
  if (file.starts_with("concurrent/futures/")) return "concurrent.futures";
  for (const std::string_view module : {"threading", "queue", "subprocess", "selectors", "socket", "ssl"}) {
    if (file.starts_with(module) && file.substr(module.size()) == ".py") return std::string(module);
  }
  if (!file.starts_with("multiprocessing/") || !file.ends_with(".py")) return "";
  std::string module(file.substr(0, file.size() - 3));
  std::replace(module.begin(), module.end(), '/', '.');
  return module;
}

std::string_view LastName(std::string_view function) { return function.substr(function.rfind('.') + 1); }

// All that a thread or process of Python does is called from these.
bool BeginsAThread(std::string_view module, std::string_view function) {
  constexpr std::string_view kNames[] = {"_bootstrap", "_bootstrap_inner", "run",       "_main",
                                         "main",       "spawn_main",       "_serve_one"};
  const bool may = module == "threading" || module.starts_with("multiprocessing");
  return may && std::ranges::find(kNames, LastName(function)) != std::end(kNames);
}

// "queue.Queue.get". `inner`: what the function called, where that is of the library, too.
std::string NameOf(const std::string& module, std::string_view function, std::string_view inner) {
  const std::string name(function.substr(0, function.find(".<locals>")));
  if (name == "result_iterator") return module + ".Executor.map";
  const bool is_event = module == "threading" && name == "wait" && inner == name;
  const auto method =
      std::ranges::find_if(kMethods, [&](const Method& m) { return m.module == module && m.function == name; });
  if (is_event) return "threading.Event.wait";
  return module + "." + (method == std::end(kMethods) ? "" : std::string(method->class_name) + ".") + name;
}

}  // namespace

// From the innermost frame to the first one that is not of Python's library: the outermost function that waits.
std::string PythonWaits::WordOf(uint32_t stack) const {
  std::string word;
  for (std::string_view inner; stack != kNone; stack = trace_.stacks[stack].parent) {
    const uint32_t frame = trace_.stacks[stack].frame;
    if (frame == kNone || trace_.frames[frame].module == kNone) continue;
    const Module& code = trace_.modules[trace_.frames[frame].module];
    const std::string_view path = trace_.Text(code.path), function = trace_.Text(code.name);
    if (code.module_kind != trace::ModuleKind::kPythonCode || path == "<shim>") continue;
    const std::string_view of_torch = Behind(path, "-packages/torch/utils/data/");
    if (of_torch.starts_with("dataloader.py")) return "torch.utils.data.DataLoader";
    if (!of_torch.empty()) return "torch.utils.data." + Utf8(function);
    if (path.starts_with("<frozen importlib._bootstrap")) return "the import of a module";
    const std::string_view file = InLibrary(path);
    if (file.empty()) break;
    const std::string module = ModuleOfWaits(file);
    if (file.starts_with("asyncio/") && LastName(function) == "_run_once") return std::string(kEventLoop);
    if (!module.empty() && !BeginsAThread(module, function)) word = NameOf(module, function, inner);
    inner = function;
  }
  return Utf8(word);
}

// Of a stack that no frame of the library says anything about: what the code of the program called.
std::string PythonWaits::WordOfModule(uint32_t stack) const {
  for (; stack != kNone; stack = trace_.stacks[stack].parent) {
    const uint32_t frame = trace_.stacks[stack].frame;
    if (frame == kNone || trace_.frames[frame].module == kNone) return "";
    const Module& module = trace_.modules[trace_.frames[frame].module];
    if (module.module_kind == trace::ModuleKind::kPythonCode) return "a Python lock";
    const std::string_view path = trace_.Text(module.path);
    const std::string_view file = path.substr(path.rfind('/') + 1);
    if (file.starts_with("_queue.")) return "queue.SimpleQueue.get";
    if (file.starts_with("_multiprocessing.")) return "a lock of multiprocessing";
    if (!file.starts_with("libpython")) return "";
  }
  return "";
}

std::string CoroutineOf(const Trace& trace, uint32_t stack) {
  for (uint32_t coroutine = kNone; stack != kNone; stack = trace.stacks[stack].parent) {
    const uint32_t frame = trace.stacks[stack].frame;
    const uint32_t line = LineOfFrame(trace, frame);
    if (line == 0) continue;
    const Module& code = trace.modules[trace.frames[frame].module];
    const std::string_view path = trace.Text(code.path);
    if (IsOfProgram(path)) coroutine = frame;
    if (coroutine == kNone || !InLibrary(path).starts_with("asyncio/")) continue;
    const Module& of_it = trace.modules[trace.frames[coroutine].module];
    return NameOf(trace, {of_it.path, of_it.name, LineOfFrame(trace, coroutine)});
  }
  return "";
}

const std::string& PythonWaits::WordFor(const OsCall& call) {
  static const std::string none;
  if (call.stack == kNone || call.object_kind == trace::OsObject::kGil) return none;
  const auto [at, is_new] = words_.try_emplace(call.stack);
  if (!is_new) return at->second;
  at->second = WordOf(call.stack);
  // The locks of Python are semaphores; the frames of its interpreter are left out of stacks.
  if (at->second.empty() && call.object_kind == trace::OsObject::kSemaphore) at->second = WordOfModule(call.stack);
  return at->second;
}

}  // namespace gprof
