// Text for terminals. Names come from traces and programs, so nothing in them is taken on trust.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gprof {

// `text` with everything that a terminal would obey or hide written out: control characters, bytes that are no UTF-8,
// marks that change the direction of writing. A kernel cannot name itself into an escape sequence.
std::string Printable(std::string_view text);

// `text` for files that have to be UTF-8: bytes that are none, and NUL, are written as \xHH; all else stays as it is.
std::string Utf8(std::string_view text);

// Columns that `text`, which must be Printable, takes on a terminal.
std::size_t DisplayWidth(std::string_view text);

// At most `width` columns of `text`, with … in place of the middle.
std::string ShortenMiddle(std::string_view text, std::size_t width);

bool Contains(std::string_view text, std::string_view part);

// Without the spaces at both ends.
std::string_view Trimmed(std::string_view text);

// Whether `text` is like `pattern`, in which * stands for any characters and ? for any one.
bool MatchesGlob(std::string_view pattern, std::string_view text);

// The same for the path of an NVTX range, "domain/outer/inner", with the domain in front or without it: nobody types
// one that a tool made up, such as "user_annotation".
bool MatchesPath(std::string_view pattern, std::string_view path, std::string_view domain);

// Lines of at most `width` columns, broken at spaces; longer words stay whole.
std::vector<std::string> Wrap(std::string_view text, std::size_t width);

// What to do where the folder of a file is not there.
std::string MakeFolderHint(const std::string& path);

// The candidate that `word` is most probably a slip of, empty when none is near.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

// "SIGTERM"
std::string SignalName(int signal);

}  // namespace gprof
