// Commands that show something again and again until Ctrl-C.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace gprof::cli {

// What --interval says. Throws Error where it is too short to read what a program does.
int64_t ReadInterval(const std::string& text);

// Every so often, at most `count` times (0: for ever), until `show` is false or SIGINT, SIGTERM or SIGHUP comes.
void ShowAgainAndAgain(int64_t interval_ns, uint64_t count, const std::function<bool()>& show);

}  // namespace gprof::cli
