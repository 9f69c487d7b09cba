// A program that waits for pipes, sockets, eventfds, semaphores and futexes, and knows who ended each wait: a thread, a
// forked child, or a program of its own. Each wait is a line of JSON: what was called, and the id of who wrote or
// posted.
//   channels             waits
//   channels write FD    writes into the descriptor, once its parent waits
//   channels post NAME   posts the semaphore of that name
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <nvtx3/nvToolsExt.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "bench/import_slot.h"

namespace {

const char* self;
int failures = 0;

void Check(bool is_good, const char* what) {
  if (is_good) return;
  std::fprintf(stderr, "FAILED: %s\n", what);
  ++failures;
}

void Pause(long ns) {
  const timespec time = {0, ns};
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, nullptr);
}

bool IsAsleep(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  std::FILE* const file = std::fopen(path.c_str(), "r");
  char text[512] = {};
  if (file == nullptr || std::fgets(text, sizeof text, file) == nullptr) return false;
  std::fclose(file);
  const char* const end = std::strrchr(text, ')');
  return end != nullptr && end[2] == 'S';
}

// What somebody waits for: a descriptor, a semaphore, which may have a name, or a futex.
struct Target {
  int descriptor = -1;
  sem_t* semaphore = nullptr;
  std::string name{};
  std::atomic<uint32_t>* word = nullptr;
  void End() const {
    const uint64_t value = 1;
    if (semaphore != nullptr) return Check(sem_post(semaphore) == 0, "sem_post");
    if (word == nullptr) return Check(write(descriptor, &value, sizeof value) == sizeof value, "write");
    word->store(1);
    Check(syscall(SYS_futex, word, FUTEX_WAKE, 1, nullptr, nullptr, 0) == 1, "futex");
  }
};

// Some milliseconds after the main thread has begun to wait.
void WriteLate(pid_t waiter, const Target& to) {
  do Pause(3'000'000);
  while (!IsAsleep(waiter));
  Pause(3'000'000);
  to.End();
}

enum class Writer { kThread, kChild, kProgram };

pid_t StartProcess(Writer writer, const Target& to) {
  const pid_t waiter = getpid(), child = fork();
  if (child != 0) return child;
  if (writer == Writer::kProgram) {
    const std::string what = to.name.empty() ? std::to_string(to.descriptor) : to.name;
    execl(self, self, to.name.empty() ? "write" : "post", what.c_str(), nullptr);
    _exit(9);
  }
  WriteLate(waiter, to);
  _exit(failures);
}

void Tell(const char* function, long writer) {
  std::printf("{\"fact\": \"channel\", \"function\": \"%s\", \"writer\": %ld}\n", function, writer);
  std::fflush(stdout);
}

// What `wait` waits for is written by somebody else meanwhile.
template <class F>
void Wait(const char* function, Writer writer, const Target& to, F wait) {
  if (writer == Writer::kThread) {
    std::atomic<long> tid{0};
    std::thread thread([&] {
      tid = syscall(SYS_gettid);
      WriteLate(getpid(), to);
    });
    while (tid == 0) Pause(100'000);
    Check(wait(), function);
    Tell(function, tid);
    thread.join();
    return;
  }
  const pid_t child = StartProcess(writer, to);
  Check(wait(), function);
  Tell(function, child);
  int status = 1;
  Check(waitpid(child, &status, 0) == child && status == 0, "the writer has written");
}

bool Read(int from) {
  uint64_t value = 0;
  return read(from, &value, sizeof value) == sizeof value;
}

void WaitForReady(Writer writer, int from, int to) {
  Wait("poll", writer, {to}, [&] {
    pollfd all[] = {{STDERR_FILENO, 0, 0}, {from, POLLIN, 0}};
    return poll(all, 2, -1) == 1;
  });
  Check(Read(from), "there is something");
  Wait("select", writer, {to}, [&] {
    fd_set all;
    FD_ZERO(&all);
    FD_SET(from, &all);
    return select(from + 1, &all, nullptr, nullptr, nullptr) == 1;
  });
  Check(Read(from), "there is something");
  const int set = epoll_create1(0);
  epoll_event event = {EPOLLIN, {.u64 = 0x1234'5678'9abc}};
  Check(epoll_ctl(set, EPOLL_CTL_ADD, from, &event) == 0, "epoll_ctl");
  Wait("epoll_wait", writer, {to}, [&] { return epoll_wait(set, &event, 1, -1) == 1; });
  Check(Read(from), "there is something");
  close(set);
}

void WaitForAll(Writer writer) {
  int ends[2];
  Check(pipe(ends) == 0, "pipe");
  Wait("read", writer, {ends[1]}, [&] { return Read(ends[0]); });
  WaitForReady(writer, ends[0], ends[1]);
  close(ends[0]);
  close(ends[1]);
  Check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
  for (int i = 0; i < 2; ++i) Wait("read", writer, {ends[1 - i]}, [&] { return Read(ends[i]); });
  WaitForReady(writer, ends[1], ends[0]);
  close(ends[0]);
  close(ends[1]);
  if (writer == Writer::kProgram) return;
  const int counter = eventfd(0, 0);
  Wait("read", writer, {counter}, [&] { return Read(counter); });
  close(counter);
}

// Shared by its name, as those of Python's multiprocessing are. It is unlinked at once, where nobody has to open it.
void WaitForNamedSemaphore(Writer writer) {
  const std::string name = "/gprof-channels-" + std::to_string(getpid());
  sem_t* const semaphore = sem_open(name.c_str(), O_CREAT | O_EXCL, 0600, 0);
  Check(semaphore != SEM_FAILED, "sem_open");
  if (writer != Writer::kProgram) sem_unlink(name.c_str());
  Wait("sem_wait", writer, {.semaphore = semaphore, .name = name}, [&] { return sem_wait(semaphore) == 0; });
  Wait("sem_timedwait", writer, {.semaphore = semaphore, .name = name}, [&] {
    const timespec late = {INT32_MAX, 0};
    return sem_timedwait(semaphore, &late) == 0;
  });
  if (writer == Writer::kProgram) sem_unlink(name.c_str());
  sem_close(semaphore);
}

// Which memory is the same in two processes the kernel tells since 6.11.
bool KernelKnowsMemory() {
  utsname kernel;
  int major = 0, minor = 0;
  return uname(&kernel) == 0 && std::sscanf(kernel.release, "%d.%d", &major, &minor) == 2 &&
         (major > 6 || (major == 6 && minor >= 11));
}

void WaitForSharedMemory(Writer writer) {
  constexpr size_t kPageBytes = 4096;
  void* const at = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Check(at != MAP_FAILED, "mmap");
  auto* const semaphore = static_cast<sem_t*>(at);
  auto* const word = reinterpret_cast<std::atomic<uint32_t>*>(semaphore + 1);
  Check(sem_init(semaphore, 1, 0) == 0, "sem_init");
  Wait("sem_wait", writer, {.semaphore = semaphore}, [&] { return sem_wait(semaphore) == 0; });
  Wait("futex", writer, {.word = word}, [&] {
    while (word->load() == 0) syscall(SYS_futex, word, FUTEX_WAIT, 0, nullptr, nullptr, 0);
    return true;
  });
  munmap(at, kPageBytes);
}

void WaitForConnection(Writer writer) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  socklen_t bytes = sizeof address;
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const where = reinterpret_cast<sockaddr*>(&address);
  Check(bind(listener, where, bytes) == 0 && listen(listener, 1) == 0, "listen");
  Check(getsockname(listener, where, &bytes) == 0 && connect(client, where, bytes) == 0, "connect");
  const int server = accept(listener, nullptr, nullptr);
  Check(server >= 0, "accept");
  Wait("recv", writer, {client}, [&] {
    uint64_t value = 0;
    return recv(server, &value, sizeof value, 0) == sizeof value;
  });
  close(server);
  close(client);
  close(listener);
}

}  // namespace

int main(int argc, char** argv) {
  self = argv[0];
  nvtxMarkA("channels");
  pollfd none = {-1, 0, 0};
  const timespec no_time = {0, 0};
  ppoll(&none, 1, &no_time, nullptr);  // its slot is what tells whether the tracer is there
  Check(gprof::bench::WaitForSlots("ppoll", true), "the slots lead to the tracer");
  if (argc > 2) {
    const bool posts = std::strcmp(argv[1], "post") == 0;
    WriteLate(getppid(), posts ? Target{.semaphore = sem_open(argv[2], 0)} : Target{std::atoi(argv[2])});
    return failures;
  }
  for (const Writer writer : {Writer::kThread, Writer::kChild, Writer::kProgram}) {
    WaitForAll(writer);
    WaitForConnection(writer);
    WaitForNamedSemaphore(writer);
    if (writer != Writer::kProgram && KernelKnowsMemory()) WaitForSharedMemory(writer);
  }
  std::printf("{\"fact\": \"end\", \"tid\": %d}\n", getpid());
  return failures == 0 ? 0 : 1;
}
