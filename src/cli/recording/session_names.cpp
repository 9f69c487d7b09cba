#include "cli/recording/session_names.h"

#include <algorithm>
#include <vector>

#include "gprof/error.h"
#include "launch/session/session_socket.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kLongestName = 64;

bool IsNameCharacter(char c) {
  return c == '_' || c == '-' || c == '.' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool IsTaken(const std::string& name) {
  const auto has_it = [&name](const FoundRun& one) { return one.session == name; };
  const std::vector<FoundRun> sessions = FindSessions(RunFolderBases()), recorders = FindRecorders(RunFolderBases());
  return std::any_of(sessions.begin(), sessions.end(), has_it) ||
         std::any_of(recorders.begin(), recorders.end(), has_it);
}

}  // namespace

void CheckSessionName(const std::string& name) {
  const bool is_good = name.size() <= kLongestName && name.front() != '.' && name.front() != '-' &&
                       std::all_of(name.begin(), name.end(), IsNameCharacter);
  if (!is_good) {
    throw Error(ExitCode::kUsage, "'" + name + "' is not a valid session name",
                "use up to 64 letters, digits, '_', '-' and '.'");
  }
  if (IsTaken(name)) {
    throw Error(ExitCode::kUsage, "the session '" + name + "' already exists",
                "choose another name, or end that session with gprof-cli shutdown --session " + name);
  }
}

// The name of the program, with a number where there are several.
std::string FreeSessionName(const std::string& program) {
  std::string name = program.substr(program.rfind('/') + 1).substr(0, kLongestName / 2);
  for (char& c : name) {
    if (!IsNameCharacter(c)) c = '_';
  }
  if (name.empty() || name.front() == '.' || name.front() == '-') name = "session" + name;
  std::string free = name;
  for (int number = 2; IsTaken(free); ++number) free = name + "-" + std::to_string(number);
  return free;
}

}  // namespace gprof::cli
