#include "launch/session_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "gprof/error.h"
#include "launch/descriptor.h"

namespace gprof {
namespace {

constexpr std::size_t kMostBytes = 64 * 1024, kMostConnections = 16;
constexpr int kBacklog = 16;
constexpr int64_t kPollNs = 10'000'000;
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

int MakeSocket() {
  return MoveHigh(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

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

SessionServer::SessionServer(const std::string& run_folder, Session* session, AnswerTo answer_to)
    : path_(run_folder + "/" + trace::kSocketFile), listener_(MakeSocket()), session_(session), answer_to_(std::move(answer_to)) {
  const Address address(run_folder, trace::kSocketFile);
  const mode_t before = umask(0177);
  const bool is_ready =
      listener_ >= 0 && bind(listener_, address.get(), Address::kSize) == 0 && listen(listener_, kBacklog) == 0;
  const int error = errno;
  umask(before);
  if (is_ready) return;
  if (listener_ >= 0) close(listener_);
  throw Error(ExitCode::kLaunchFailed, "cannot make the socket '" + path_ + "': " + std::strerror(error));
}

SessionServer::~SessionServer() {
  Close();
}

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
    connection.answer = answer_to_(*session_, connection.in.substr(0, end));
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
  if (session_->is_closed()) Close();
  Accept(now_ns);
  int64_t until_ns = kNever;
  for (auto connection = connections_.begin(); connection != connections_.end();) {
    if (!Serve(**connection, now_ns)) {
      connection = connections_.erase(connection);
      continue;
    }
    const bool is_waiting = static_cast<bool>((*connection)->answer);
    until_ns = std::min(until_ns, is_waiting ? now_ns + kPollNs : (*connection)->since_ns + kRequestPatienceNs);
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
  const auto fail = [&session](const std::string& why) -> Error {
    return Error(ExitCode::kUnreadable, "session '" + session.session + "' (pid " +
                                            std::to_string(session.launcher_pid) + ") does not answer: " + why,
                 "gprof-cli status lists the sessions");
  };
  const Address address(session.path, trace::kSocketFile);
  const int socket = MakeSocket();
  if (socket < 0) throw fail(std::strerror(errno));
  const std::unique_ptr<const int, void (*)(const int*)> closer(&socket, [](const int* one) { close(*one); });
  const int64_t deadline_ns = MonotonicNs() + limit_ns;
  while (connect(socket, address.get(), Address::kSize) != 0) {
    const bool is_busy = errno == EAGAIN || errno == EINTR;
    if (!is_busy || MonotonicNs() > deadline_ns) throw fail(std::strerror(errno));
    const timespec pause = {0, kPollNs};
    nanosleep(&pause, nullptr);
  }
  // Whoever made the folder made the socket; the folder is ours alone, and this makes sure.
  if (!IsSameUser(socket)) throw fail("it belongs to somebody else");
  std::string out = request + "\n", in;
  while (!out.empty()) {
    const ssize_t sent = send(socket, out.data(), out.size(), MSG_NOSIGNAL);
    if (sent > 0) out.erase(0, static_cast<std::size_t>(sent));
    if (sent < 0 && errno != EAGAIN && errno != EINTR) throw fail(std::strerror(errno));
    if (sent < 0 && !WaitUntil(socket, POLLOUT, deadline_ns)) throw fail("it takes too long");
  }
  while (in.find('\n') == std::string::npos) {
    char bytes[4096];
    const ssize_t count = recv(socket, bytes, sizeof bytes, 0);
    if (count > 0) in.append(bytes, static_cast<std::size_t>(count));
    if (count == 0) throw fail("it has just ended");
    if (in.size() > kMostBytes) throw fail("it talks nonsense");
    if (count < 0 && errno != EAGAIN && errno != EINTR) throw fail(std::strerror(errno));
    if (count < 0 && !WaitUntil(socket, POLLIN, deadline_ns)) throw fail("it takes too long");
  }
  return in.substr(0, in.find('\n'));
}

std::vector<FoundRun> FindSessions(const std::vector<std::string>& bases) {
  std::vector<FoundRun> sessions = FindRuns(bases);
  std::erase_if(sessions, [](const FoundRun& run) {
    const bool has_socket = access((run.path + "/" + trace::kSocketFile).c_str(), F_OK) == 0;
    return run.session.empty() || !has_socket || !HasLauncher(run);
  });
  return sessions;
}

}  // namespace gprof
