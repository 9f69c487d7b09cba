#include "base/http/http_server.h"

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
#include <utility>
#include <vector>

#include "base/text.h"
#include "gprof/error.h"

namespace gprof {
namespace {

constexpr std::size_t kLongestRequestBytes = 16 << 10;
constexpr std::size_t kMostConnections = 64;
// For a whole request, and for each step of sending its answer: browsers open connections that they may never use.
constexpr int64_t kPatienceSeconds = 30;

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

HttpRequest Parse(std::string_view text) {
  HttpRequest request;
  const std::size_t line_end = std::min(text.find("\r\n"), text.size());
  const std::string_view line = text.substr(0, line_end);
  const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return request;
  request.method = line.substr(0, first);
  request.path = line.substr(first + 1, second - first - 1);
  if (const std::size_t mark = request.path.find('?'); mark != std::string::npos) {
    request.query = request.path.substr(mark + 1);
    request.path.resize(mark);
  }
  for (std::size_t at = line_end; at < text.size();) {
    const std::size_t begin = at + 2, end = std::min(text.find("\r\n", begin), text.size());
    if (begin >= end) break;
    const std::string_view header = text.substr(begin, end - begin);
    const std::size_t colon = std::min(header.find(':'), header.size());
    const std::string name = Lower(header.substr(0, colon));
    const std::string_view value = Trimmed(header.substr(std::min(colon + 1, header.size())));
    if (name == "host") request.host = Lower(value);
    if (name == "accept") request.accept = value;
    if (name == "authorization") request.authorization = value;
    at = end;
  }
  return request;
}

std::string_view WordsOf(int status) {
  constexpr std::pair<int, std::string_view> kWords[] = {{200, "OK"},
                                                         {204, "No Content"},
                                                         {400, "Bad Request"},
                                                         {401, "Unauthorized"},
                                                         {403, "Forbidden"},
                                                         {404, "Not Found"},
                                                         {405, "Method Not Allowed"},
                                                         {409, "Conflict"},
                                                         {503, "Service Unavailable"}};
  for (const auto& [number, words] : kWords) {
    if (number == status) return words;
  }
  return "Internal Server Error";
}

std::string HeadOf(const HttpAnswer& answer) {
  const std::string type = answer.type.empty() ? "" : "Content-Type: " + answer.type + "\r\n";
  return "HTTP/1.1 " + std::to_string(answer.status) + " " + std::string(WordsOf(answer.status)) + "\r\n" + type +
         answer.headers + "Content-Length: " + std::to_string(std::max(answer.made.size(), answer.kept.size())) +
         "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
         "Connection: close\r\n\r\n";
}

// One request and its answer.
class Connection {
 public:
  explicit Connection(int descriptor) : descriptor_(descriptor) {}
  ~Connection() { close(descriptor_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  pollfd Wanted() const { return {descriptor_, static_cast<short>(is_sending_ ? POLLOUT : POLLIN), 0}; }
  bool IsOver() const { return is_over_ || NowSeconds() > deadline_s_; }
  bool HasEndedServing() const { return has_ended_serving_; }
  // Whether this one rather than the other makes room for a new one: it has asked for nothing, or waits longer.
  bool IsLessUseful(const Connection& other) const {
    return is_sending_ != other.is_sending_ ? other.is_sending_ : deadline_s_ < other.deadline_s_;
  }

  void Step(const std::function<HttpAnswer(const HttpRequest&)>& answer_to) {
    if (is_sending_) return Send();
    char buffer[4096];
    const ssize_t got = recv(descriptor_, buffer, sizeof(buffer), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      is_over_ = true;
    } else if (!is_answered_) {
      request_.append(buffer, static_cast<std::size_t>(got));
      if (request_.find("\r\n\r\n") != std::string::npos) {
        const HttpRequest request = Parse(request_);
        answer_ = answer_to(request);
        head_ = HeadOf(answer_);
        if (request.method != "HEAD") body_ = answer_.made.empty() ? answer_.kept : answer_.made;
        is_sending_ = is_answered_ = true;
        Prolong();
      } else if (request_.size() > kLongestRequestBytes) {
        is_over_ = true;
      }
    }
  }

 private:
  void Prolong() { deadline_s_ = NowSeconds() + kPatienceSeconds; }

  void Send() {
    const bool is_head = sent_bytes_ < head_.size();
    const std::string_view rest =
        is_head ? std::string_view(head_).substr(sent_bytes_) : body_.substr(sent_bytes_ - head_.size());
    const ssize_t sent = rest.empty() ? 0 : send(descriptor_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (sent < 0) {
      is_over_ = true;
      return;
    }
    sent_bytes_ += static_cast<std::size_t>(sent);
    Prolong();
    if (sent_bytes_ < head_.size() + body_.size()) return;
    // To be read until the other side closes: closing at once could throw away what is on its way.
    shutdown(descriptor_, SHUT_WR);
    is_sending_ = false;
    has_ended_serving_ = answer_.ends_serving;
  }

  int descriptor_;
  std::string request_, head_;
  HttpAnswer answer_;
  std::string_view body_;  // in the answer, or kept elsewhere
  std::size_t sent_bytes_ = 0;
  int64_t deadline_s_ = NowSeconds() + kPatienceSeconds;  // what the other side sends bit by bit does not put it off
  bool is_sending_ = false, is_answered_ = false, is_over_ = false, has_ended_serving_ = false;
};

// Nobody keeps others out by opening connections.
void MakeRoom(std::list<Connection>* connections) {
  if (connections->size() < kMostConnections) return;
  connections->erase(std::min_element(connections->begin(), connections->end(),
                                      [](const Connection& a, const Connection& b) { return a.IsLessUseful(b); }));
}

}  // namespace

HttpServer::HttpServer(const std::string& address, uint16_t port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(port);
  socklen_t size = sizeof(place);
  auto* const generic = reinterpret_cast<sockaddr*>(&place);
  errno = EINVAL;  // what inet_pton() does not set
  if (listener_ < 0 || inet_pton(AF_INET, address.c_str(), &place.sin_addr) != 1 ||
      setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 || bind(listener_, generic, size) != 0 ||
      listen(listener_, 16) != 0 || getsockname(listener_, generic, &size) != 0) {
    const int error = errno;
    if (listener_ >= 0) close(listener_);
    throw Error(ExitCode::kUsage,
                "cannot serve on " + address + ":" + std::to_string(port) + ": " + std::strerror(error),
                error == EADDRINUSE ? "another program uses it; choose another port, or 0 for any" : "");
  }
  port_ = ntohs(place.sin_port);
}

HttpServer::~HttpServer() { close(listener_); }

void HttpServer::Serve(const std::function<HttpAnswer(const HttpRequest&)>& answer_to,
                       const std::function<int64_t()>& attend) const {
  const SignalScope signals;
  std::list<Connection> connections;
  while (is_interrupted == 0) {
    std::vector<pollfd> wanted = {{listener_, POLLIN, 0}};
    for (const Connection& connection : connections) wanted.push_back(connection.Wanted());
    const int64_t wait_ms =
        attend ? std::clamp<int64_t>(attend(), 0, kPatienceSeconds * 1000) : kPatienceSeconds * 1000;
    const timespec timeout{wait_ms / 1000, wait_ms % 1000 * 1'000'000};
    if (ppoll(wanted.data(), wanted.size(), &timeout, signals.waiting()) < 0 && errno != EINTR) {
      throw Error(ExitCode::kUnreadable, std::string("cannot wait for connections: ") + std::strerror(errno));
    }
    std::size_t i = 0;
    bool is_ended = false;
    for (auto at = connections.begin(); at != connections.end();) {
      if (wanted[++i].revents != 0) at->Step(answer_to);
      const bool is_over = at->IsOver();
      is_ended = is_ended || (is_over && at->HasEndedServing());
      at = is_over ? connections.erase(at) : std::next(at);
    }
    if (is_ended) return;
    if (wanted[0].revents != 0) {
      const int descriptor = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (descriptor < 0) continue;
      MakeRoom(&connections);
      connections.emplace_back(descriptor);
    }
  }
}

bool IsLoopbackHost(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && host.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  if (has_port) host = host.substr(0, colon);
  return host == "127.0.0.1" || host == "localhost" || host == "[::1]";
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
