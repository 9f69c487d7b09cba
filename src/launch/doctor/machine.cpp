#include "launch/doctor/machine.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/machine/descriptor.h"
#include "collect/host/perf_ring.h"
#include "gprof/error.h"
#include "launch/run/attendant.h"
#include "launch/run/find_program.h"
#include "launch/salvage/run_folder_files.h"

namespace gprof {
namespace {

// Starting a driver with eight GPUs takes seconds.
constexpr int64_t kProbeLimitNs = 30'000'000'000;
constexpr std::size_t kMostFileBytes = 1 << 20;

// Runs `work` in a process of its own, as libraries of the driver may crash, hang or print, and returns the bytes it
// wrote to its descriptor. Empty, with how it ended: it died, or was ended after a while.
template <class Work>
std::string InProcessOfItsOwn(const Work& work, std::string* error) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  const pid_t pid = fork();
  if (pid == 0) {
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int out = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);
    for (int i = 0; i < 3 && nowhere >= 0; ++i) dup2(nowhere, i);
    work(out);
    _exit(0);
  }
  close(ends[1]);
  std::string bytes;
  const int64_t deadline_ns = MonotonicNs() + kProbeLimitNs;
  for (;;) {
    pollfd descriptor = {ends[0], POLLIN, 0};
    const int64_t left_ms = (deadline_ns - MonotonicNs()) / 1'000'000;
    if (left_ms <= 0 || poll(&descriptor, 1, static_cast<int>(left_ms)) <= 0) break;
    char buffer[4096];
    const ssize_t count = read(ends[0], buffer, sizeof buffer);
    if (count <= 0) break;
    bytes.append(buffer, static_cast<std::size_t>(count));
  }
  close(ends[0]);
  const bool is_late = MonotonicNs() >= deadline_ns;
  if (is_late) kill(pid, SIGKILL);
  int status = 0;
  if (pid > 0) waitpid(pid, &status, 0);
  if (is_late) {
    *error = "no response within " + std::to_string(kProbeLimitNs / 1'000'000'000) + " s";
  } else if (WIFSIGNALED(status)) {
    *error = std::string("it crashed (SIG") + sigabbrev_np(WTERMSIG(status)) + ")";
  }
  return bytes;
}

struct ProbeHeader {
  bool is_loaded;
  uint32_t version;
  int status;
};

void WriteProbe(int out, const ProbeHeader& header, const std::string& text) {
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += text;
  (void)!write(out, bytes.data(), bytes.size());
}

void ProbeHere(const std::string& library, const std::string& function, int out) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = dlerror();
    WriteProbe(out, {false, 0, 0}, why != nullptr ? why : "");
    return;
  }
  if (function.empty()) {
    WriteProbe(out, {true, 0, 0}, library);
    return;
  }
  void* const symbol = dlsym(handle, function.c_str());
  if (symbol == nullptr) {
    WriteProbe(out, {false, 0, 0}, "missing function " + function);
    return;
  }
  Dl_info info;
  const bool is_known = dladdr(symbol, &info) != 0 && info.dli_fname != nullptr;
  ProbeHeader header = {true, 0, 0};
  header.status = reinterpret_cast<int (*)(uint32_t*)>(symbol)(&header.version);
  WriteProbe(out, header, is_known ? info.dli_fname : library);
}

Probed Probe(const std::string& library, const std::string& function) {
  Probed probed;
  const std::string bytes = InProcessOfItsOwn([&](int out) { ProbeHere(library, function, out); }, &probed.error);
  if (bytes.size() < sizeof(ProbeHeader)) return probed;
  ProbeHeader header;
  memcpy(&header, bytes.data(), sizeof header);
  probed.is_loaded = header.is_loaded;
  probed.version = header.version;
  probed.status = header.status;
  (header.is_loaded ? probed.path : probed.error) = bytes.substr(sizeof header);
  return probed;
}

std::optional<int> InitDriver() {
  std::string error;
  const std::string bytes = InProcessOfItsOwn(
      [](int out) {
        void* const handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        void* const symbol = handle != nullptr ? dlsym(handle, "cuInit") : nullptr;
        if (symbol == nullptr) return;
        const int result = reinterpret_cast<int (*)(unsigned)>(symbol)(0);
        (void)!write(out, &result, sizeof result);
      },
      &error);
  int result = 0;
  if (bytes.size() != sizeof result) return std::nullopt;
  memcpy(&result, bytes.data(), sizeof result);
  return result;
}

std::optional<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text(kMostFileBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::vector<std::string> ListFolder(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    names.push_back(at->path().filename().string());
  }
  return names;
}

int TryOpen(const std::string& path) {
  const int descriptor = OpenHigh(path.c_str(), O_RDWR | O_NONBLOCK, 0);
  if (descriptor < 0) return errno;
  close(descriptor);
  return 0;
}

std::optional<std::string> Variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::optional<uint64_t> Limit(int resource) {
  rlimit limit;
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::nullopt;
  }
  return limit.rlim_cur;
}

std::optional<uint64_t> FreeBytes(const std::string& folder) {
  struct statvfs status;
  if (statvfs(folder.c_str(), &status) != 0) return std::nullopt;
  // A memory file system without a limit says 0 of 0.
  if (status.f_blocks == 0) return UINT64_MAX;
  return status.f_bavail * status.f_frsize;
}

std::string FindTracerOrSay(std::string* why) {
  try {
    return FindTracer();
  } catch (const Error& error) {
    *why = error.what();
    return {};
  }
}

std::string MakeRunFolder(std::string* why) {
  const std::unique_ptr<RunFolder> folder = RunFolder::Make("", why);
  return folder ? std::filesystem::path(folder->path()).parent_path().string() : std::string();
}

PerfAnswer AskForPerfEvents() {
  PerfWish wish;
  PerfAnswer answer;
  answer.error = TryPerfEvents(&wish);
  answer.of_kernel = wish.of_kernel;
  return answer;
}

}  // namespace

MachineView ThisMachine() {
  return {.read = ReadText,
          .list = ListFolder,
          .try_open = TryOpen,
          .variable = Variable,
          .limit = Limit,
          .free_bytes = FreeBytes,
          .probe = Probe,
          .init_driver = InitDriver,
          .find_tracer = FindTracerOrSay,
          .make_run_folder = MakeRunFolder,
          .try_perf_events = AskForPerfEvents};
}

}  // namespace gprof
