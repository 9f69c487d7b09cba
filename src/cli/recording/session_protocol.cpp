#include "cli/recording/session_protocol.h"

#include <signal.h>

#include "cli/commands/command.h"
#include "gprof/error.h"

namespace gprof::cli {
namespace {

// Longer than the launcher waits for any process; it knows its own state at once, unless it is stopped.
constexpr int64_t kLimitNs = 45'000'000'000, kStatusLimitNs = 5'000'000'000;

const char* StateText(SessionState state) {
  switch (state) {
    case SessionState::kIdle:
      return "idle";
    case SessionState::kRecording:
      return "recording";
    case SessionState::kStopping:
      return "stopping";
    case SessionState::kCancelling:
      return "cancelling";
  }
  return "";
}

Json Facts(const Session& session, const std::string& app, const Progress& progress) {
  return {{"ok", true},
          {"session", session.name()},
          {"program", TextOfPath(app)},
          {"program_pid", session.program()},
          {"state", StateText(session.state())},
          {"since_ns", MonotonicNs() - session.since_ns()},
          {"output", TextOfPath(session.output())},
          {"captures", session.captures()},
          {"processes", progress.living},
          {"processes_done", progress.done},
          {"processes_recording", progress.recording}};
}

// Answers when the session is idle again, or when somebody else has taken it over.
Answer WhenIdle(Session& session, const std::string& app) {
  return [&session, app, captures = session.captures()]() -> std::optional<std::string> {
    if (session.state() != SessionState::kIdle && session.captures() == captures) return std::nullopt;
    return Facts(session, app, session.Last()).dump(-1, ' ', true);
  };
}

// Answers when nobody can find the session any more.
Answer WhenClosed(Session& session, const std::string& app) {
  return [&session, app]() -> std::optional<std::string> {
    if (!session.is_closed()) return std::nullopt;
    return Facts(session, app, session.Last()).dump(-1, ' ', true);
  };
}

Answer WhenStarted(Session& session, const std::string& app) {
  return [&session, app]() -> std::optional<std::string> {
    if (!session.HasStarted(MonotonicNs())) return std::nullopt;
    return Facts(session, app, session.Now()).dump(-1, ' ', true);
  };
}

Answer CarryOut(Session& session, const std::string& app, const Json& request) {
  const std::string what = TextAt(request, "do");
  if (what == "status") return Ready(Facts(session, app, session.Now()));
  if (what == "start") {
    const std::string output = PathOfText(TextAt(request, "output"));
    if (!output.starts_with('/')) throw Error(ExitCode::kUsage, "'output' is not an absolute path");
    session.Start(output, NumberAt(request, "device", 0), NumberAt(request, "inode", 0), NumberAt(request, "run", 0));
    return WhenStarted(session, app);
  }
  if (what == "stop") {
    session.Stop();
    return WhenIdle(session, app);
  }
  if (what == "cancel") {
    session.Cancel();
    return WhenIdle(session, app);
  }
  if (what == "shutdown") {
    const uint64_t signal = NumberAt(request, "signal", SIGTERM);
    if (signal > static_cast<uint64_t>(SIGRTMAX)) throw Error(ExitCode::kUsage, "'signal' is not a signal");
    session.Shutdown(static_cast<int>(signal));
    return WhenClosed(session, app);
  }
  throw Error(ExitCode::kUsage, "'" + PathOfText(what) + "' is not a session command",
              "the session may run a different version of gprof-cli");
}

}  // namespace

std::string TextOfPath(const std::string& path) {
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xC0 | (byte >> 6));
      text += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return text;
}

std::string PathOfText(const std::string& text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_pair = (byte == 0xC2 || byte == 0xC3) && i + 1 < text.size();
    path += is_pair ? static_cast<char>(((byte & 3) << 6) | (static_cast<unsigned char>(text[++i]) & 0x3F)) : text[i];
  }
  return path;
}

Answer Ready(const Json& json) {
  return [text = LineOf(json)]() -> std::optional<std::string> { return text; };
}

uint64_t NumberAt(const Json& json, const char* key, uint64_t otherwise) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_unsigned() ? found->get<uint64_t>() : otherwise;
}

std::string TextAt(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string LineOf(const Json& json) { return json.dump(-1, ' ', true); }

Json JsonOf(const Error& error) {
  return {{"ok", false},
          {"code", CodeOf(error.code())},
          {"error", TextOfPath(error.what())},
          {"hint", TextOfPath(error.hint())}};
}

Answer AnswerLine(const std::string& line, const std::function<Answer(const Json& request)>& carry_out) {
  try {
    const Json request = Json::parse(line, nullptr, false);
    if (!request.is_object()) throw Error(ExitCode::kUsage, "not a valid request");
    return carry_out(request);
  } catch (const Error& error) {
    return Ready(JsonOf(error));
  } catch (const std::exception& error) {
    return Ready(JsonOf(Error(ExitCode::kBug, error.what())));
  }
}

Answer AnswerSession(Session& session, const std::string& app, const std::string& line) {
  return AnswerLine(line, [&](const Json& request) { return CarryOut(session, app, request); });
}

Json AskSession(const FoundRun& session, const Json& request) {
  const int64_t limit_ns = TextAt(request, "do") == "status" ? kStatusLimitNs : kLimitNs;
  const std::string line = gprof::AskSession(session, request.dump(-1, ' ', true), limit_ns);
  Json answer = Json::parse(line, nullptr, false);
  const bool is_good = answer.is_object() && answer.contains("ok") && answer["ok"].is_boolean();
  if (!is_good) throw Error(ExitCode::kUnreadable, "session '" + session.session + "' sent an invalid answer");
  if (answer["ok"].get<bool>()) return answer;
  const uint64_t code = NumberAt(answer, "code", 0);
  throw Error(code == 3 ? ExitCode::kUnreadable : ExitCode::kUsage, PathOfText(TextAt(answer, "error")),
              PathOfText(TextAt(answer, "hint")));
}

FoundRun ChooseSession(const std::string& name) {
  const std::vector<FoundRun> sessions = FindSessions(RunFolderBases());
  std::string names;
  for (const FoundRun& session : sessions) {
    if (session.session == name) return session;
    names += (names.empty() ? "" : ", ") + session.session;
  }
  if (sessions.empty()) {
    throw Error(ExitCode::kUsage, name.empty() ? "no session is running" : "no session '" + name + "'",
                "start one with gprof-cli launch APP");
  }
  if (!name.empty()) throw Error(ExitCode::kUsage, "no session '" + name + "'", "available: " + names);
  if (sessions.size() > 1) {
    throw Error(ExitCode::kUsage, "several sessions are running", "choose one with --session: " + names);
  }
  return sessions.front();
}

}  // namespace gprof::cli
