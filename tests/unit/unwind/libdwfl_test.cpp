// Ours beside libdwfl, the unwinder of elfutils, in code of several compilers: this program, Python's interpreter and
// libclang. Each is left out where it is not installed. elfutils needs no headers here: the few declarations are below.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#ifdef __x86_64__

#include "snapshots.h"

namespace gprof {
namespace {

struct Dwfl;
struct DwflThread;
struct DwflFrame;
struct DwflCallbacks {
  void *find_elf, *find_debuginfo, *section_address, *debuginfo_path;
};
struct DwflThreadCallbacks {
  pid_t (*next_thread)(Dwfl*, void*, void**);
  bool (*get_thread)(Dwfl*, pid_t, void*, void**);
  bool (*memory_read)(Dwfl*, uint64_t address, uint64_t* result, void*);
  bool (*set_initial_registers)(DwflThread*, void*);
  void (*detach)(Dwfl*, void*);
  void (*thread_detach)(DwflThread*, void*);
};

class Libdwfl {
 public:
  // False: it is not installed.
  bool Open() {
    library_ = dlopen("libdw.so.1", RTLD_NOW);
    if (library_ == nullptr) return false;
    static const DwflCallbacks callbacks = {dlsym(library_, "dwfl_linux_proc_find_elf"),
                                            reinterpret_cast<void*>(&NoDebugInfo), nullptr, nullptr};
    static const DwflThreadCallbacks of_threads = {NextThread, GetThread, ReadMemory, SetRegisters, nullptr, nullptr};
    dwfl_ = Call<Dwfl*(const DwflCallbacks*)>("dwfl_begin")(&callbacks);
    Call<int(Dwfl*, pid_t)>("dwfl_linux_proc_report")(dwfl_, getpid());
    Call<int(Dwfl*, void*, void*)>("dwfl_report_end")(dwfl_, nullptr, nullptr);
    self_ = this;
    return Call<bool(Dwfl*, void*, pid_t, const DwflThreadCallbacks*, void*)>("dwfl_attach_state")(
        dwfl_, nullptr, getpid(), &of_threads, nullptr);
  }

  std::vector<uint64_t> Unwind(const Snapshot& snapshot) {
    snapshot_ = &snapshot;
    frames_.clear();
    static const auto unwind = Call<int(Dwfl*, pid_t, int (*)(DwflFrame*, void*), void*)>("dwfl_getthread_frames");
    unwind(dwfl_, getpid(), TakeFrame, nullptr);
    return frames_;
  }

 private:
  template <class Function>
  static Function* Call(const char* name) {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }
  static int NoDebugInfo() { return -1; }
  static pid_t NextThread(Dwfl*, void*, void**) { return 0; }
  static bool GetThread(Dwfl*, pid_t, void*, void**) { return true; }
  static bool ReadMemory(Dwfl*, uint64_t address, uint64_t* result, void*) {
    const Snapshot& snapshot = *self_->snapshot_;
    const uint64_t into = address - snapshot.sp();
    if (address < snapshot.sp() || into + sizeof *result > snapshot.bytes) return false;
    std::memcpy(result, snapshot.stack + into, sizeof *result);
    return true;
  }
  static bool SetRegisters(DwflThread* thread, void*) {
    static const auto set = Call<bool(DwflThread*, int, unsigned, const uint64_t*)>("dwfl_thread_state_registers");
    const Registers registers = RegistersOf(self_->snapshot_->context);
    return set(thread, 0, kRegisters, registers.values.data());
  }
  static int TakeFrame(DwflFrame* frame, void*) {
    static const auto pc_of = Call<bool(DwflFrame*, uint64_t*, bool*)>("dwfl_frame_pc");
    uint64_t pc = 0;
    bool is_activation = false;
    if (!pc_of(frame, &pc, &is_activation)) return 1;
    self_->frames_.push_back(is_activation ? pc : pc - 1);
    return self_->frames_.size() < Unwinder::kMostFrames ? 0 : 1;
  }

  static inline void* library_ = nullptr;
  static inline Libdwfl* self_ = nullptr;
  const Snapshot* snapshot_ = nullptr;
  Dwfl* dwfl_ = nullptr;
  std::vector<uint64_t> frames_;
};

using Program = std::function<void()>;

int FallingOrder(const void* a, const void* b) { return *static_cast<const int*>(b) - *static_cast<const int*>(a); }

void OwnWork() {
  static unsigned seed = 1;
  std::vector<int> values(700);
  for (int& value : values) value = static_cast<int>((seed = seed * 1103515245u + 12345u) >> 8);
  qsort(values.data(), values.size(), sizeof values[0], FallingOrder);
  std::string text;
  for (const int value : values) text += std::to_string(value);
  std::sort(text.begin(), text.end());
}

std::string PathOfLibpython() {
  std::string path(4096, 0);
  FILE* const python = popen(
      "python3 -c 'import sysconfig as s; print(s.get_config_var(\"LIBDIR\") + \"/\" + "
      "s.get_config_var(\"INSTSONAME\"))' "
      "2>/dev/null",
      "r");
  if (python == nullptr || std::fgets(path.data(), static_cast<int>(path.size()), python) == nullptr) path.clear();
  if (python != nullptr) pclose(python);
  return path.substr(0, path.find('\n'));
}

Program PythonWork() {
  void* const library = dlopen(PathOfLibpython().c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr || dlsym(library, "Py_InitializeEx") == nullptr) return nullptr;
  reinterpret_cast<void (*)(int)>(dlsym(library, "Py_InitializeEx"))(0);
  const auto run = reinterpret_cast<int (*)(const char*)>(dlsym(library, "PyRun_SimpleString"));
  run("import json, re\n"
      "def deep(n): return sorted(json.loads(json.dumps(list(range(60))))) if n == 0 else deep(n - 1)\n");
  return [run] { run("deep(6); re.sub('(a|b)+c', 'x', 'abababc' * 4); sorted(range(60), key=lambda i: -i)\n"); };
}

Program ClangWork() {
  struct File {
    const char *name, *text;
    unsigned long size;
  };
  setenv("LIBCLANG_NOTHREADS", "1", 1);
  void* library = nullptr;
  for (const char* name : {"libclang.so.1", "libclang-14.so.1", "libclang-14.so.13", "libclang-16.so.1"}) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW);
  }
  if (library == nullptr) return nullptr;
  using Parse = void* (*)(void*, const char*, const char* const*, int, const File*, unsigned, unsigned);
  const auto parse = reinterpret_cast<Parse>(dlsym(library, "clang_parseTranslationUnit"));
  const auto dispose = reinterpret_cast<void (*)(void*)>(dlsym(library, "clang_disposeTranslationUnit"));
  void* const index = reinterpret_cast<void* (*)(int, int)>(dlsym(library, "clang_createIndex"))(0, 0);
  return [=] {
    static const std::string kText =
        "template <int n> struct F { static const int v = F<n - 1>::v + F<n - 2>::v; };\n"
        "template <> struct F<0> { static const int v = 0; }; template <> struct F<1> { static const int v = 1; };\n"
        "int f(int a) { for (int i = 0; i < a; ++i) a += [&](int x) { return x * F<6>::v; }(i); return a; }\n";
    const File file = {"memory.cpp", kText.c_str(), kText.size()};
    dispose(parse(index, file.name, nullptr, 0, &file, 1, 0));
  };
}

TEST(Unwinder, AgreesWithLibdwflInCodeOfSeveralCompilers) {
  constexpr int kSnapshots = 10'500;
  std::vector<Program> programs = {OwnWork, PythonWork(), ClangWork()};
  std::erase(programs, nullptr);
  for (const Program& program : programs) program();  // loads what it needs
  Libdwfl libdwfl;
  if (!libdwfl.Open()) GTEST_SKIP() << "libdw is not installed";
  CodeFiles files;
  const std::optional<AddressSpace> space = AddressSpace::Of(getpid(), &files);
  ASSERT_TRUE(space);
  Unwinder unwinder;
  int same = 0, shorter = 0, different = 0;
  std::size_t frames_in_all = 0;
  {
    const TimerSignals signals;
    // As many of each program, though some are several moments long.
    std::vector<int> left(programs.size(), kSnapshots / static_cast<int>(programs.size()));
    for (std::size_t round = 0; *std::max_element(left.begin(), left.end()) > 0 && round < 500'000; ++round) {
      const std::size_t at = round % programs.size();
      const int taken = left[at] > 0 ? TakeSnapshots(std::min(left[at], kMostSnapshots), programs[at]) : 0;
      left[at] -= taken;
      for (int i = 0; i < taken; ++i) {
        const std::vector<uint64_t> theirs = libdwfl.Unwind(snapshots[i]);
        std::vector<UnwoundFrame> ours;
        unwinder.Unwind(*space, 1, RegistersOf(snapshots[i].context), snapshots[i].Copy(), &ours);
        std::size_t equal = 0;
        while (equal < theirs.size() && equal < ours.size() && ours[equal].address == theirs[equal]) ++equal;
        frames_in_all += equal;
        // libdwfl goes on by guess where tables end, and may not know the outermost frame.
        const bool is_end_of_ours = equal == ours.size(), is_end_of_theirs = equal == theirs.size();
        ++(is_end_of_theirs ? same : is_end_of_ours ? shorter : different);
        if (is_end_of_theirs || is_end_of_ours) continue;
        Dl_info info = {};
        dladdr(reinterpret_cast<void*>(equal == 0 ? ours[0].address : ours[equal - 1].address), &info);
        std::printf("differs at %zu of %zu: %zx instead of %zx, called from %s of %s\n", equal, theirs.size(),
                    ours[equal].address, theirs[equal], info.dli_sname == nullptr ? "?" : info.dli_sname,
                    info.dli_fname == nullptr ? "?" : info.dli_fname);
      }
    }
  }
  std::printf("%zu programs, %d the same, %d shorter, %d different, %.1f frames each\n", programs.size(), same, shorter,
              different, static_cast<double>(frames_in_all) / kSnapshots);
  EXPECT_GE(same + shorter, 10'000);
  EXPECT_EQ(different, 0);
  EXPECT_LE(shorter, same / 50);
}

}  // namespace
}  // namespace gprof

#endif
