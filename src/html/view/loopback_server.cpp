#include "html/view/loopback_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <list>
#include <vector>

#include "gprof/error.h"

namespace gprof {
namespace {

constexpr std::size_t kLongestRequestBytes = 16 << 10;
constexpr std::size_t kMostConnections = 64;
constexpr int64_t kIdleSeconds = 30;  // browsers open connections that they may never use

volatile std::sig_atomic_t is_interrupted = 0;

void Interrupt(int) { is_interrupted = 1; }

// While it lives, signals that end programs end the serving. They arrive within ppoll() alone.
class SignalScope {
 public:
  SignalScope() {
    is_interrupted = 0;
    sigset_t blocked;
    sigemptyset(&blocked);
    struct sigaction action = {};
    action.sa_handler = Interrupt;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], &action, &before_[i]);
      sigaddset(&blocked, kSignals[i]);
    }
    sigprocmask(SIG_BLOCK, &blocked, &mask_);
    waiting_ = mask_;
    for (const int number : kSignals) sigdelset(&waiting_, number);
  }
  ~SignalScope() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;
  const sigset_t* waiting() const { return &waiting_; }

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
  sigset_t mask_{}, waiting_{};
};

int64_t NowSeconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

struct Request {
  std::string method, path, host;
};

Request Parse(std::string_view text) {
  Request request;
  const std::size_t line_end = std::min(text.find("\r\n"), text.size());
  const std::string_view line = text.substr(0, line_end);
  const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return request;
  request.method = line.substr(0, first);
  request.path = line.substr(first + 1, second - first - 1);
  request.path.resize(std::min(request.path.find('?'), request.path.size()));
  for (std::size_t at = line_end; at < text.size();) {
    const std::size_t begin = at + 2, end = std::min(text.find("\r\n", begin), text.size());
    if (begin >= end) break;
    const std::string header = Lower(text.substr(begin, end - begin));
    if (header.starts_with("host:")) {
      const std::size_t value = header.find_first_not_of(" \t", 5);
      if (value != std::string::npos) request.host = header.substr(value, header.find_last_not_of(" \t") - value + 1);
    }
    at = end;
  }
  return request;
}

// Any port: a tunnel may have another one at its other end.
bool IsLoopback(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && host.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  if (has_port) host = host.substr(0, colon);
  return host == "127.0.0.1" || host == "localhost" || host == "[::1]";
}

struct Answer {
  std::string head;
  std::string_view body;
};

// `made` is what the body may be in.
Answer AnswerTo(const Request& request, const ServedFile& file, std::string* made) {
  std::string status = "200 OK", more;
  std::string_view body = file.body;
  if (!IsLoopback(request.host)) {
    status = "403 Forbidden";
  } else if (request.method == "OPTIONS" && !file.origin.empty()) {
    status = "204 No Content";
    // Browsers ask first, before a page of the internet gets something from this machine.
    more = "Access-Control-Allow-Methods: GET, HEAD\r\nAccess-Control-Allow-Private-Network: true\r\n";
  } else if (request.method != "GET" && request.method != "HEAD") {
    status = "405 Method Not Allowed";
    more = "Allow: GET, HEAD\r\n";
  } else if (request.path != file.path) {
    status = "404 Not Found";
  } else {
    more = "Content-Type: " + file.type + "\r\n";
    if (file.make) {
      *made = file.make();
      body = *made;
    }
  }
  if (!more.starts_with("Content-Type")) body = {};
  if (!file.origin.empty()) more += "Access-Control-Allow-Origin: " + file.origin + "\r\nVary: Origin\r\n";
  Answer answer;
  answer.head = "HTTP/1.1 " + status + "\r\n" + more + "Content-Length: " + std::to_string(body.size()) +
                "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
                "Connection: close\r\n\r\n";
  if (request.method != "HEAD") answer.body = body;
  return answer;
}

// One request and its answer.
class Connection {
 public:
  explicit Connection(int descriptor) : descriptor_(descriptor) {}
  ~Connection() { close(descriptor_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  pollfd Wanted() const { return {descriptor_, static_cast<short>(is_sending_ ? POLLOUT : POLLIN), 0}; }
  bool IsOver() const { return is_over_ || NowSeconds() - used_ > kIdleSeconds; }
  bool HasSentFile() const { return has_sent_file_; }

  void Step(const ServedFile& file) {
    used_ = NowSeconds();
    if (is_sending_) return Send(file);
    char buffer[4096];
    const ssize_t got = recv(descriptor_, buffer, sizeof(buffer), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      is_over_ = true;
    } else if (!is_answered_) {
      request_.append(buffer, static_cast<std::size_t>(got));
      if (request_.find("\r\n\r\n") != std::string::npos) {
        answer_ = AnswerTo(Parse(request_), file, &made_);
        is_sending_ = is_answered_ = true;
      } else if (request_.size() > kLongestRequestBytes) {
        is_over_ = true;
      }
    }
  }

 private:
  void Send(const ServedFile& file) {
    const bool is_head = sent_bytes_ < answer_.head.size();
    const std::string_view rest = is_head ? std::string_view(answer_.head).substr(sent_bytes_)
                                          : answer_.body.substr(sent_bytes_ - answer_.head.size());
    const ssize_t sent = rest.empty() ? 0 : send(descriptor_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (sent < 0) {
      is_over_ = true;
      return;
    }
    sent_bytes_ += static_cast<std::size_t>(sent);
    if (sent_bytes_ < answer_.head.size() + answer_.body.size()) return;
    // To be read until the other side closes: closing at once could throw away what is on its way.
    shutdown(descriptor_, SHUT_WR);
    is_sending_ = false;
    has_sent_file_ = !file.body.empty() && answer_.body.data() == file.body.data();
  }

  int descriptor_;
  std::string request_, made_;
  Answer answer_;
  std::size_t sent_bytes_ = 0;
  int64_t used_ = NowSeconds();
  bool is_sending_ = false, is_answered_ = false, is_over_ = false, has_sent_file_ = false;
};

}  // namespace

LoopbackServer::LoopbackServer(uint16_t port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (listener_ < 0 || setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(listener_, generic, size) != 0 || listen(listener_, 16) != 0 ||
      getsockname(listener_, generic, &size) != 0) {
    const int error = errno;
    if (listener_ >= 0) close(listener_);
    throw Error(ExitCode::kUsage, "cannot serve on port " + std::to_string(port) + ": " + std::strerror(error),
                error == EADDRINUSE ? "another program uses it; choose another with --port, or 0 for any" : "");
  }
  port_ = ntohs(address.sin_port);
}

LoopbackServer::~LoopbackServer() { close(listener_); }

void LoopbackServer::Serve(const ServedFile& file, Until until) const {
  const SignalScope signals;
  std::list<Connection> connections;
  while (is_interrupted == 0) {
    std::vector<pollfd> wanted = {
        {listener_, static_cast<short>(connections.size() < kMostConnections ? POLLIN : 0), 0}};
    for (const Connection& connection : connections) wanted.push_back(connection.Wanted());
    const timespec timeout{kIdleSeconds, 0};
    if (ppoll(wanted.data(), wanted.size(), &timeout, signals.waiting()) < 0 && errno != EINTR) {
      throw Error(ExitCode::kUnreadable, std::string("cannot wait for connections: ") + std::strerror(errno));
    }
    std::size_t i = 0;
    bool is_fetched = false;
    for (auto at = connections.begin(); at != connections.end();) {
      if (wanted[++i].revents != 0) at->Step(file);
      const bool is_over = at->IsOver();
      is_fetched = is_fetched || (is_over && at->HasSentFile());
      at = is_over ? connections.erase(at) : std::next(at);
    }
    if (is_fetched && until == Until::kFetched) return;
    if (wanted[0].revents != 0) {
      const int descriptor = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (descriptor >= 0) connections.emplace_back(descriptor);
    }
  }
}

std::string MakeToken() {
  constexpr std::string_view kDigits = "abcdefghijklmnopqrstuvwxyz234567";
  std::array<unsigned char, 20> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error(ExitCode::kUnreadable, "the system gives no random numbers");
  }
  std::string token;
  for (const unsigned char byte : bytes) token += kDigits[byte % kDigits.size()];
  return token;
}

}  // namespace gprof
