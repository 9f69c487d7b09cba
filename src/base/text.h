// Text for terminals. Names come from traces and programs, so nothing in them is taken on trust.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace gprof {

// `text` with everything that a terminal would obey or hide written out: control characters, bytes that are no UTF-8,
// marks that change the direction of writing. A kernel cannot name itself into an escape sequence.
std::string Printable(std::string_view text);

// Bytes of the first character where Printable leaves it as it is, else 0.
std::size_t PrintableLength(std::string_view text);

// `text` for files that have to be UTF-8: bytes that are none, and NUL, are written as \xHH; all else stays as it is.
std::string Utf8(std::string_view text);

// Columns that `text`, which must be Printable, takes on a terminal.
std::size_t DisplayWidth(std::string_view text);

// At most `width` columns of `text`, with … in place of the middle.
std::string ShortenMiddle(std::string_view text, std::size_t width);

bool Contains(std::string_view text, std::string_view part);

// Without the spaces at both ends.
std::string_view Trimmed(std::string_view text);

// With a capital letter at the begin and a full stop at the end.
std::string AsSentence(std::string text);

// Its value, -1 where it is none.
int HexDigit(char c);

// Whether `text` is like `pattern`, in which * stands for any characters and ? for any one.
bool MatchesGlob(std::string_view pattern, std::string_view text);

// The same for the path of an NVTX range, "domain/outer/inner", with the domain in front or without it: nobody types
// one that a tool made up, such as "user_annotation".
bool MatchesPath(std::string_view pattern, std::string_view path, std::string_view domain);

// `text` so that a shell takes it as one word.
std::string ShellQuoted(std::string_view text);

// Lines of at most `width` columns, broken at spaces; longer words stay whole.
std::vector<std::string> Wrap(std::string_view text, std::size_t width);

// What to do where the folder of a file is not there.
std::string MakeFolderHint(const std::string& path);

// The candidate that `word` is most probably a slip of, empty when none is near.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

// What to do where `word` is none of the candidates: "did you mean NEAREST?", `otherwise` when none is near.
std::string NearestHint(std::string_view word, const std::vector<std::string>& candidates, std::string otherwise);

// "a, b, c".
std::string Joined(const std::vector<std::string>& words, std::string_view separator = ", ");

// "a, b and 3 more": `most` of them by name.
std::string JoinedUpTo(std::size_t most, std::vector<std::string> words);

// The value of the first of these variables of the environment that has one, `otherwise` where none has.
std::string EnvironmentText(std::initializer_list<const char*> names, std::string otherwise = "");

// "SIGTERM".
std::string SignalName(int signal);

// How a program ended: "was killed by SIGTERM", "ended with exit code 1".
std::string EndingText(int exit_code, int signal);

}  // namespace gprof
