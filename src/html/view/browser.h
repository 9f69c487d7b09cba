// Opens a page in the browser of whoever sits at this machine.
#pragma once

#include <string>
#include <string_view>

namespace gprof {

// Tries what $BROWSER names, then what the desktop has. Returns the command that took the address; empty where none
// did, with the reason in `why`.
std::string OpenInBrowser(const std::string& url, std::string* why);

// "file:///…" of an absolute path.
std::string FileUrl(std::string_view path);

}  // namespace gprof
