#include "launch/run/trace_output.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/machine/descriptor.h"
#include "base/text.h"
#include "collect/run/own_process.h"
#include "gprof/error.h"
#include "gprof/trace/file.h"
#include "gprof/trace/rank_variables.h"
#include "gprof/trace/record.h"
#include "launch/run/attendant.h"

namespace gprof {
namespace {

constexpr unsigned kMaxNumber = 100'000;
constexpr mode_t kMode = 0666;  // less the umask, as every program does

[[noreturn]] void Fail(const std::string& what, const std::string& hint) {
  throw Error(ExitCode::kLaunchFailed, what, hint);
}

[[noreturn]] void FailToCreate(const std::string& path, int error) {
  Fail("cannot create '" + path + "': " + std::strerror(error),
       error == ENOENT ? MakeFolderHint(path) : "choose another file with -o");
}

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, HOST_NAME_MAX) == 0 ? name : "localhost";
}

// `rest` starts behind "%q".
std::string_view TakeVariableName(const std::string& pattern, std::string_view* rest) {
  const std::size_t close = rest->find('}');
  if (!rest->starts_with('{') || close == std::string_view::npos) {
    Fail("'" + pattern + "' has a %q without {NAME}", "use %q{NAME} for the value of an environment variable");
  }
  const std::string_view name = rest->substr(1, close - 1);
  rest->remove_prefix(close + 1);
  return name;
}

std::string VariableValue(const std::string& pattern, std::string_view name) {
  const char* const value = std::getenv(std::string(name).c_str());
  if (value == nullptr) {
    const trace::RankVariables* const ours = trace::FindRank().variables;
    Fail("'" + pattern + "' uses the environment variable " + std::string(name) + ", which is not set",
         ours == nullptr ? "set it, or choose another file name with -o"
                         : "here, %q{" + std::string(ours->rank) + "} is the rank");
  }
  return value;
}

const char* KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

void RefuseWhatIsNoFile(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ELOOP) FailToCreate(path, errno);
    return;
  }
  if (S_ISREG(status.st_mode)) return;
  Fail("cannot record to '" + path + "': it is " + KindOf(status.st_mode) + ", not a file",
       "choose a file name with -o");
}

// Another inode takes the place of the old file: a process that still traces into that one cannot spoil this run.
int Replace(const std::string& path) {
  std::error_code failed;
  const std::string target = std::filesystem::canonical(path, failed).string();
  if (failed) return -1;
  const std::string fresh = target + ".new" + std::to_string(getpid());
  const int descriptor = OpenHigh(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND, kMode);
  // A folder that takes no new files may still have an old one that can be written.
  if (descriptor < 0) return OpenHigh(target.c_str(), O_WRONLY | O_TRUNC | O_APPEND, kMode);
  if (rename(fresh.c_str(), target.c_str()) != 0) {
    const int error = errno;
    unlink(fresh.c_str());
    close(descriptor);
    errno = error;
    return -1;
  }
  return descriptor;
}

// A descriptor, or -1 with errno.
int Create(const std::string& path, bool may_overwrite) {
  RefuseWhatIsNoFile(path);
  const int descriptor = OpenHigh(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND, kMode);
  return descriptor < 0 && errno == EEXIST && may_overwrite ? Replace(path) : descriptor;
}

uint64_t RandomNumber() {
  uint64_t number = 0;
  while (number == 0) {
    if (getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<uint64_t>(MonotonicNs());
  }
  return number;
}

// 0, or an errno value. A write beyond `ulimit -f` would cost us our life (SIGXFSZ).
int WriteFirstChunk(int descriptor, uint64_t run) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < trace::kChunkHeaderBytes) return EFBIG;
  trace::ChunkHeader header;
  header.flags = trace::kChunkCollector;
  header.kind = static_cast<uint16_t>(trace::RecordKind::kNotice);
  header.process = OwnProcessKey();
  header.process.image = trace::kFirstChunkImage;
  header.run = run;
  header.body_crc = trace::Crc32(nullptr, 0);
  unsigned char bytes[trace::kChunkHeaderBytes];
  trace::WriteHeader(header, bytes);
  const ssize_t written = write(descriptor, bytes, sizeof bytes);
  return written == static_cast<ssize_t>(sizeof bytes) ? 0 : written < 0 ? errno : ENOSPC;
}

OutputFile Finish(int descriptor, const std::string& path) {
  OutputFile file(descriptor);
  file.run = RandomNumber();
  struct stat status;
  int error = fstat(descriptor, &status) != 0 ? errno : WriteFirstChunk(descriptor, file.run);
  if (error != 0) {
    unlink(path.c_str());
    FailToCreate(path, error);
  }
  file.path = path;
  file.absolute_path = std::filesystem::absolute(path).string();
  file.device = status.st_dev;
  file.inode = status.st_ino;
  file.run_id = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) + ":" + std::to_string(file.run);
  return file;
}

}  // namespace

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path(std::move(other.path)),
      absolute_path(std::move(other.absolute_path)),
      run_id(std::move(other.run_id)),
      device(other.device),
      inode(other.inode),
      run(other.run),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

void OutputFile::Remove() { unlink(absolute_path.c_str()); }

bool OutputFile::IsDisplaced() const {
  struct stat status;
  return stat(absolute_path.c_str(), &status) == 0 && (status.st_dev != device || status.st_ino != inode);
}

std::string PatternOf(const std::string& file) {
  std::string pattern;
  for (const char c : file) pattern += c == '%' ? "%%" : std::string(1, c);
  return pattern;
}

std::string ExpandPattern(const std::string& pattern, pid_t pid, unsigned number) {
  std::string path;
  std::string_view rest = pattern;
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c != '%') {
      path += c;
      continue;
    }
    const char key = rest.empty() ? '\0' : rest.front();
    if (key != '\0') rest.remove_prefix(1);
    switch (key) {
      case '%':
        path += '%';
        break;
      case 'p':
        path += std::to_string(pid);
        break;
      case 'h':
        path += HostName();
        break;
      case 'n':
        path += std::to_string(number);
        break;
      case 'q':
        path += VariableValue(pattern, TakeVariableName(pattern, &rest));
        break;
      default:
        Fail("'" + pattern + "' has an unknown % pattern",
             "%p: PID, %h: host name, %n: first free number, %q{NAME}: environment variable, %%: percent sign");
    }
  }
  return path;
}

std::string WithNumber(const std::string& pattern, const std::string& number) {
  std::string result;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const bool is_key = pattern[at] == '%' && at + 1 < pattern.size();
    if (is_key && pattern[at + 1] == 'n') {
      result += number;
    } else {
      result += pattern.substr(at, is_key ? 2 : 1);
    }
    if (is_key) ++at;
  }
  return result;
}

void RefuseExisting(const std::string& path, bool may_overwrite) {
  RefuseWhatIsNoFile(path);
  if (!may_overwrite && std::filesystem::exists(path)) {
    Fail("'" + path + "' already exists", "overwrite it with -f, or choose another file with -o");
  }
}

std::string NumberedName(const std::string& name, unsigned number) {
  if (number <= 1) return name;
  const std::filesystem::path path(name);
  return (path.parent_path() / path.stem()).string() + "." + std::to_string(number) + path.extension().string();
}

OutputFile OpenDefaultOutput(const std::string& name, unsigned first, bool may_overwrite) {
  for (unsigned number = first; number - first < kMaxNumber; ++number) {
    const std::string path = NumberedName(name, number);
    const int descriptor = Create(path, may_overwrite);
    if (descriptor >= 0) return Finish(descriptor, path);
    if (errno != EEXIST) FailToCreate(path, errno);
  }
  Fail("no number is free for '" + name + "'", "choose another file with -o");
}

OutputFile OpenOutput(const std::string& pattern, pid_t pid, bool may_overwrite) {
  if (pattern.empty()) Fail("the name of the trace file is empty", "choose one with -o");
  const bool is_numbered = ExpandPattern(pattern, pid, 1) != ExpandPattern(pattern, pid, 2);
  for (unsigned number = 1;; ++number) {
    const std::string path = ExpandPattern(pattern, pid, number);
    const int descriptor = Create(path, may_overwrite && !is_numbered);
    if (descriptor >= 0) return Finish(descriptor, path);
    if (errno != EEXIST) FailToCreate(path, errno);
    if (!is_numbered) {
      Fail("'" + path + "' already exists",
           "overwrite it with -f, or choose another file with -o (%n finds a free number)");
    }
    if (number == kMaxNumber) Fail("no number is free for '" + pattern + "'", "choose another file with -o");
  }
}

}  // namespace gprof
