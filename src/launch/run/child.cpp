#include "launch/run/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/machine/descriptor.h"
#include "gprof/error.h"
#include "launch/run/find_program.h"

namespace gprof {
namespace {

struct Pipe {
  int read_end = -1, write_end = -1;
};

Pipe MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(ExitCode::kLaunchFailed, std::string("cannot create a pipe: ") + std::strerror(errno));
  }
  // Both are open before the first moves, or the second could fall to below 3 again.
  const Pipe high{MoveHigh(ends[0]), MoveHigh(ends[1])};
  if (high.read_end < 0 || high.write_end < 0) {
    throw Error(ExitCode::kLaunchFailed, std::string("cannot create a pipe: ") + std::strerror(errno));
  }
  return high;
}

bool WriteAll(int descriptor, const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = write(descriptor, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

bool ReadAll(int descriptor, void* bytes, std::size_t size) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t count = read(descriptor, at, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The environment as it comes through the gate; false when the launcher gave up, or died.
bool ReceiveEnvironment(int gate, std::vector<std::string>* environment) {
  uint64_t size = 0;
  if (!ReadAll(gate, &size, sizeof size)) return false;
  std::string block(size, '\0');
  if (!ReadAll(gate, block.data(), block.size())) return false;
  for (std::size_t at = 0; at < block.size();) {
    const std::size_t end = block.find('\0', at);
    environment->push_back(block.substr(at, end - at));
    at = end + 1;
  }
  return true;
}

void DirectOutput(ProgramOutput output, const std::string& file) {
  if (output == ProgramOutput::kShown) return;
  if (output == ProgramOutput::kOnStderr) {
    dup2(STDERR_FILENO, STDOUT_FILENO);
    return;
  }
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  const int written = output == ProgramOutput::kInFile
                          ? open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600)
                          : nowhere;
  dup2(written < 0 ? nowhere : written, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  // dup2 to itself leaves close-on-exec set.
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) fcntl(descriptor, F_SETFD, 0);
}

// Where the kernel lets only ancestors look at a process (Yama), those that sample it are what its parent has started.
// Whoever the program itself names later takes their place.
void AllowToBeRead() { prctl(PR_SET_PTRACER, static_cast<unsigned long>(getppid()), 0, 0, 0); }

// Of the pipes, those that the child has.
struct ChildEnds {
  int gate = -1, verdict = -1;
};

// In the child. One thread only, so memory may be allocated here.
[[noreturn]] void BecomeProgram(std::vector<std::string> command, ProgramOutput output, const std::string& output_file,
                                ChildEnds ends) {
  std::vector<std::string> environment;
  if (!ReceiveEnvironment(ends.gate, &environment)) _exit(static_cast<int>(ExitCode::kLaunchFailed));
  DirectOutput(output, output_file);
  const std::vector<char*> arguments = Pointers(command), variables = Pointers(environment);
  // execvp looks through the PATH of environ, and that is to be the program's own.
  environ = const_cast<char**>(variables.data());
  RestoreInheritedSignals();
  AllowToBeRead();
  execvp(arguments[0], arguments.data());
  const int error = errno;
  WriteAll(ends.verdict, &error, sizeof error);
  _exit(static_cast<int>(ExitCode::kLaunchFailed));
}

}  // namespace

Child::Child(const std::vector<std::string>& command, ProgramOutput output, int capture_signal,
             const std::string& output_file)
    : relay_(capture_signal), program_(command.front()) {
  const Pipe gate = MakePipe(), verdict = MakePipe();
  pid_ = fork();
  if (pid_ < 0) throw Error(ExitCode::kLaunchFailed, std::string("cannot start a process: ") + std::strerror(errno));
  if (pid_ == 0) {
    close(gate.write_end);
    close(verdict.read_end);
    BecomeProgram(command, output, output_file, {gate.read_end, verdict.write_end});
  }
  close(gate.read_end);
  close(verdict.write_end);
  gate_ = gate.write_end;
  verdict_ = verdict.read_end;
}

Child::~Child() {
  close(gate_);
  close(verdict_);
  if (!is_running_) waitpid(pid_, nullptr, 0);
}

void Child::Start(const std::vector<std::string>& environment) {
  std::string block;
  for (const std::string& entry : environment) block.append(entry.c_str(), entry.size() + 1);
  const uint64_t size = block.size();
  // A child that was killed meanwhile is reported by Wait().
  if (WriteAll(gate_, &size, sizeof size)) WriteAll(gate_, block.data(), block.size());
  int error = 0;
  if (ReadAll(verdict_, &error, sizeof error)) ThrowExecError(program_, error);
  is_running_ = true;
}

ChildEnd Child::Wait(const std::vector<Attendant*>& attendants) {
  const int status = relay_.WaitFor(pid_, attendants);
  const int stop_signal = relay_.stop_signal();
  return WIFSIGNALED(status) ? ChildEnd{0, WTERMSIG(status), stop_signal}
                             : ChildEnd{WEXITSTATUS(status), 0, stop_signal};
}

}  // namespace gprof
