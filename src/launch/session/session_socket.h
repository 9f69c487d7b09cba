// How `start`, `stop` and their like talk with the launcher of a session: a Unix socket in its run folder, which only
// its owner may enter. One line goes in, one line comes back.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/run/attendant.h"
#include "launch/run/launch.h"
#include "launch/salvage/run_folder_files.h"

namespace gprof {

class SessionServer : public Attendant {
 public:
  // Takes no more connections once `is_closed`. Throws Error where the socket cannot be made.
  SessionServer(const std::string& run_folder, AnswerTo answer_to, std::function<bool()> is_closed = {});
  ~SessionServer() override;
  SessionServer(const SessionServer&) = delete;
  SessionServer& operator=(const SessionServer&) = delete;

  int64_t Attend(int64_t now_ns) override;
  void AddDescriptors(std::vector<pollfd>* descriptors) const override;
  // Takes no more connections; those that wait for an answer get it.
  void Close();

 private:
  struct Connection;
  void Accept(int64_t now_ns);
  // False: it is over.
  bool Serve(Connection& connection, int64_t now_ns);

  std::string path_;
  int listener_ = -1;
  AnswerTo answer_to_;
  std::function<bool()> is_closed_;
  std::list<std::unique_ptr<Connection>> connections_;
};

// Sends a line and returns the line that comes back. Throws Error when nobody answers in `limit_ns`.
std::string AskSession(const FoundRun& session, const std::string& request, int64_t limit_ns);

// The sessions of this user, and its recorders, whose launcher is alive and takes commands.
std::vector<FoundRun> FindSessions(const std::vector<std::string>& bases);
std::vector<FoundRun> FindRecorders(const std::vector<std::string>& bases);

}  // namespace gprof
