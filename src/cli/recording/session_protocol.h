// What is said through the socket of a session: a JSON object a line each way.
//
//   {"do": "status"}
//   {"do": "start", "output": PATH, "device": N, "inode": N}
//   {"do": "stop"}   {"do": "cancel"}   {"do": "shutdown", "signal": N}
//
// The answer has "ok": true and the facts of the session, or "ok": false, "error" and "hint".
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "gprof/error.h"
#include "launch/run/launch.h"
#include "launch/session/session.h"
#include "launch/session/session_socket.h"
#include "report/json_values.h"

namespace gprof::cli {

std::string LineOf(const Json& json);
Json JsonOf(const Error& error);
// The whole number at `key`, or `otherwise` where there is none; the text there, or an empty one.
uint64_t NumberAt(const Json& json, const char* key, uint64_t otherwise);
std::string TextAt(const Json& json, const char* key);

// Something to answer at once.
Answer Ready(const Json& json);
// What `carry_out` answers to a line, or the Error that it throws. Whatever the line is, there is an answer.
Answer AnswerLine(const std::string& line, const std::function<Answer(const Json& request)>& carry_out);

// In the launcher. `app` is the program, for status.
Answer AnswerSession(Session& session, const std::string& app, const std::string& line);

// In a command: asks, and throws the Error that comes back. Only what waits for processes may take long.
Json AskSession(const FoundRun& session, const Json& request);

// The session called `name`; without a name the only one there is. Throws Error where it is not clear.
FoundRun ChooseSession(const std::string& name);

// JSON holds text, and a path may be any bytes: each byte becomes a character.
std::string TextOfPath(const std::string& path);
std::string PathOfText(const std::string& text);

}  // namespace gprof::cli
