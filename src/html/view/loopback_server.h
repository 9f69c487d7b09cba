// One file for browsers on this machine, and for those that come through an ssh tunnel.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gprof {

struct ServedFile {
  std::string path;    // "/name", all that is there; anything else is not found
  std::string type;    // Content-Type
  std::string origin;  // a page of this origin may read it, too (CORS); empty: none
  std::string_view body;
  std::function<std::string()> make{};  // made anew for each request, instead of `body`
};

// HTTP on 127.0.0.1 alone. What names another host in its request is refused: a page of somebody else's could make its
// name mean this machine (DNS rebinding), and read what is served.
class LoopbackServer {
 public:
  // 0: any port that is free. Throws Error where it is taken.
  explicit LoopbackServer(uint16_t port);
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  uint16_t port() const { return port_; }

  enum class Until : uint8_t { kSignal, kFetched };
  // Returns on SIGINT, SIGTERM and SIGHUP, or where it is wanted once the file was fetched whole.
  void Serve(const ServedFile& file, Until until) const;

 private:
  int listener_ = -1;
  uint16_t port_ = 0;
};

// A part of an address that nobody guesses.
std::string MakeToken();

}  // namespace gprof
