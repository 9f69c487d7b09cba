// HTTP for browsers and scrapers on this machine, and for those that come through an ssh tunnel: one request a
// connection.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gprof {

struct HttpRequest {
  std::string method;
  std::string path;   // without the query
  std::string query;  // "seconds=10", without the question mark
  std::string host, accept, authorization;
};

struct HttpAnswer {
  int status = 200;
  std::string type{};         // Content-Type; empty where there is no body
  std::string headers{};      // more of them: lines that end with \r\n
  std::string made{};         // the body,
  std::string_view kept{};    // or one that outlives the serving
  bool ends_serving = false;  // once it was sent whole
};

class HttpServer {
 public:
  // 0: any port that is free. Throws Error where it is taken, or `address` is none of this machine.
  HttpServer(const std::string& address, uint16_t port);
  explicit HttpServer(uint16_t port) : HttpServer("127.0.0.1", port) {}
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const { return port_; }

  // Returns on SIGINT, SIGTERM and SIGHUP, and after an answer that ends the serving. `attend` is called in between,
  // and returns when it wants to be called again, in milliseconds from now.
  void Serve(const std::function<HttpAnswer(const HttpRequest&)>& answer_to,
             const std::function<int64_t()>& attend = {}) const;

 private:
  int listener_ = -1;
  uint16_t port_ = 0;
};

// What names another host in its request is to be refused by servers for this machine: a page of somebody else's could
// make its name mean this machine (DNS rebinding), and read what is served. Any port: a tunnel may have another one at
// its other end.
bool IsLoopbackHost(std::string_view host);

// A part of an address that nobody guesses.
std::string MakeToken();

}  // namespace gprof
