#include "launch/session/session_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/machine/descriptor.h"
#include "gprof/error.h"

namespace gprof {
namespace {

constexpr std::size_t kMostBytes = 64 * 1024, kMostConnections = 16;
constexpr int kBacklog = 16;
constexpr int64_t kSocketPollNs = 10'000'000;
constexpr int64_t kRequestPatienceNs = 10'000'000'000;

// A path may be longer than an address holds; by way of its folder it is short.
class Address {
 public:
  Address(const std::string& folder, const char* name) {
    std::string path = folder + "/" + name;
    if (path.size() >= sizeof address_.sun_path) {
      folder_ = OpenHigh(folder.c_str(), O_PATH | O_DIRECTORY, 0);
      path = "/proc/self/fd/" + std::to_string(folder_) + "/" + name;
    }
    address_.sun_family = AF_UNIX;
    std::memcpy(address_.sun_path, path.c_str(), std::min(path.size() + 1, sizeof address_.sun_path));
  }
  ~Address() {
    if (folder_ >= 0) close(folder_);
  }
  Address(const Address&) = delete;
  Address& operator=(const Address&) = delete;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  static constexpr socklen_t kSize = sizeof(sockaddr_un);

 private:
  sockaddr_un address_ = {};
  int folder_ = -1;
};

bool IsSameUser(int socket) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

int MakeSocket() { return MoveHigh(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

bool WaitUntil(int socket, short events, int64_t deadline_ns) {
  pollfd descriptor = {socket, events, 0};
  for (;;) {
    const int64_t left_ns = deadline_ns - MonotonicNs();
    if (left_ns <= 0) return false;
    const int ready = poll(&descriptor, 1, static_cast<int>(left_ns / 1'000'000) + 1);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// The other end of the line. What goes wrong is thrown as Error in the name of the session.
class SessionLine {
 public:
  SessionLine(const FoundRun& session, int64_t limit_ns)
      : session_(session), deadline_ns_(MonotonicNs() + limit_ns), socket_(MakeSocket()) {
    if (socket_ < 0) Fail(std::strerror(errno));
  }
  ~SessionLine() { close(socket_); }
  SessionLine(const SessionLine&) = delete;
  SessionLine& operator=(const SessionLine&) = delete;

  void Connect() const {
    const Address address(session_.path, trace::kSocketFile);
    while (connect(socket_, address.get(), Address::kSize) != 0) {
      const bool is_busy = errno == EAGAIN || errno == EINTR;
      if (!is_busy || MonotonicNs() > deadline_ns_) Fail(std::strerror(errno));
      const timespec pause = {0, kSocketPollNs};
      nanosleep(&pause, nullptr);
    }
    // Whoever made the folder made the socket; the folder is ours alone, and this makes sure.
    if (!IsSameUser(socket_)) Fail("it belongs to another user");
  }

  void Send(std::string_view line) const {
    while (!line.empty()) {
      const ssize_t sent = send(socket_, line.data(), line.size(), MSG_NOSIGNAL);
      if (sent > 0) line.remove_prefix(static_cast<std::size_t>(sent));
      if (sent < 0) WaitFor(POLLOUT);
    }
  }

  std::string Receive() const {
    std::string line;
    while (line.find('\n') == std::string::npos) {
      char bytes[4096];
      const ssize_t count = recv(socket_, bytes, sizeof bytes, 0);
      if (count > 0) line.append(bytes, static_cast<std::size_t>(count));
      if (count == 0) Fail("it just ended");
      if (line.size() > kMostBytes) Fail("it sent an invalid answer");
      if (count < 0) WaitFor(POLLIN);
    }
    return line.substr(0, line.find('\n'));
  }

 private:
  [[noreturn]] void Fail(const std::string& why) const {
    const std::string who = "session '" + session_.session + "' (pid " + std::to_string(session_.launcher_pid) + ")";
    throw Error(ExitCode::kUnreadable, who + " does not answer: " + why, "gprof-cli status lists the sessions");
  }

  // After a call that failed.
  void WaitFor(short events) const {
    if (errno != EAGAIN && errno != EINTR) Fail(std::strerror(errno));
    if (!WaitUntil(socket_, events, deadline_ns_)) Fail("timed out");
  }

  const FoundRun& session_;
  int64_t deadline_ns_;
  int socket_;
};

std::vector<FoundRun> FindServed(const std::vector<std::string>& bases, bool are_recorders) {
  std::vector<FoundRun> runs = FindRuns(bases);
  std::erase_if(runs, [are_recorders](const FoundRun& run) {
    const auto has = [&run](const char* file) { return access((run.path + "/" + file).c_str(), F_OK) == 0; };
    const bool is_wanted =
        !run.session.empty() && has(trace::kSocketFile) && has(trace::kRecorderFile) == are_recorders;
    return !is_wanted || !HasLauncher(run);
  });
  return runs;
}

}  // namespace

struct SessionServer::Connection {
  explicit Connection(int connected, int64_t now_ns) : socket(connected), since_ns(now_ns) {}
  ~Connection() { close(socket); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int socket;
  int64_t since_ns;
  std::string in, out;
  Answer answer;  // while it is waited for
};

SessionServer::SessionServer(const std::string& run_folder, AnswerTo answer_to, std::function<bool()> is_closed)
    : path_(run_folder + "/" + trace::kSocketFile),
      listener_(MakeSocket()),
      answer_to_(std::move(answer_to)),
      is_closed_(std::move(is_closed)) {
  const Address address(run_folder, trace::kSocketFile);
  unlink(path_.c_str());  // of a launcher that was killed, and whose folder this one goes on with
  const mode_t before = umask(0177);
  const bool is_ready =
      listener_ >= 0 && bind(listener_, address.get(), Address::kSize) == 0 && listen(listener_, kBacklog) == 0;
  const int error = errno;
  umask(before);
  if (is_ready) return;
  if (listener_ >= 0) close(listener_);
  throw Error(ExitCode::kLaunchFailed, "cannot make the socket '" + path_ + "': " + std::strerror(error));
}

SessionServer::~SessionServer() { Close(); }

void SessionServer::Close() {
  if (listener_ < 0) return;
  unlink(path_.c_str());
  close(listener_);
  listener_ = -1;
}

void SessionServer::Accept(int64_t now_ns) {
  while (listener_ >= 0 && connections_.size() < kMostConnections) {
    const int socket = MoveHigh(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket < 0) return;
    if (IsSameUser(socket)) {
      connections_.push_back(std::make_unique<Connection>(socket, now_ns));
    } else {
      close(socket);
    }
  }
}

bool SessionServer::Serve(Connection& connection, int64_t now_ns) {
  if (connection.out.empty() && !connection.answer) {
    char bytes[4096];
    const ssize_t count = recv(connection.socket, bytes, sizeof bytes, 0);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (count == 0) return false;
    if (count > 0) connection.in.append(bytes, static_cast<std::size_t>(count));
    const std::size_t end = connection.in.find('\n');
    if (end == std::string::npos) {
      return connection.in.size() < kMostBytes && now_ns < connection.since_ns + kRequestPatienceNs;
    }
    connection.answer = answer_to_(connection.in.substr(0, end));
  }
  if (connection.answer) {
    std::optional<std::string> text = connection.answer();
    char byte;
    // Who does not wait any longer must not keep others out.
    if (!text) return recv(connection.socket, &byte, 1, MSG_PEEK) != 0;
    connection.answer = nullptr;
    connection.out = std::move(*text) + "\n";
    connection.since_ns = now_ns;
  }
  const ssize_t sent = send(connection.socket, connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
  if (sent < 0) return (errno == EAGAIN || errno == EINTR) && now_ns < connection.since_ns + kRequestPatienceNs;
  connection.out.erase(0, static_cast<std::size_t>(sent));
  return !connection.out.empty();
}

int64_t SessionServer::Attend(int64_t now_ns) {
  if (is_closed_ && is_closed_()) Close();
  Accept(now_ns);
  int64_t until_ns = kNoDeadline;
  for (auto connection = connections_.begin(); connection != connections_.end();) {
    if (!Serve(**connection, now_ns)) {
      connection = connections_.erase(connection);
      continue;
    }
    const bool is_waiting = static_cast<bool>((*connection)->answer);
    until_ns = std::min(until_ns, is_waiting ? now_ns + kSocketPollNs : (*connection)->since_ns + kRequestPatienceNs);
    ++connection;
  }
  return until_ns;
}

void SessionServer::AddDescriptors(std::vector<pollfd>* descriptors) const {
  if (listener_ >= 0 && connections_.size() < kMostConnections) descriptors->push_back({listener_, POLLIN, 0});
  for (const auto& connection : connections_) {
    const bool is_waiting = static_cast<bool>(connection->answer);
    const short events = connection->out.empty() ? POLLIN : POLLOUT;
    if (!is_waiting) descriptors->push_back({connection->socket, events, 0});
  }
}

std::string AskSession(const FoundRun& session, const std::string& request, int64_t limit_ns) {
  const SessionLine line(session, limit_ns);
  line.Connect();
  line.Send(request + "\n");
  return line.Receive();
}

std::vector<FoundRun> FindSessions(const std::vector<std::string>& bases) { return FindServed(bases, false); }
std::vector<FoundRun> FindRecorders(const std::vector<std::string>& bases) { return FindServed(bases, true); }

}  // namespace gprof
