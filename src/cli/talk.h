// What the user is told: results on stdout, everything else on stderr.
#pragma once

#include <string>
#include <string_view>

#include "gprof/error.h"

namespace gprof::cli {

// Writes to stdout. A reader that has gone (`| head`) is no error: the rest is dropped, and false comes back so that
// long output can stop. A full disk is an Error.
bool WriteResult(std::string_view text);
// All of `text`, without SIGPIPE. 0, or errno.
int WriteTo(int descriptor, std::string_view text);
// What ends the making of a result that nobody reads any more.
struct ReaderHasGone {};

// One line on stderr each, "gprof-cli: …". Never fail: nobody may be there to read.
void Say(std::string_view message);
void Warn(std::string_view message);
void Tell(const Error& error);

// Writes `text` to `path` by way of a new file beside it, so that nobody ever sees half of it; "-" is stdout.
void WriteFile(const std::string& path, std::string_view text);

}  // namespace gprof::cli
