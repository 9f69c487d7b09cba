// What a file is: how ours begin, and what others are, so that the message can name it.
#pragma once

#include <string>
#include <string_view>

namespace gprof {

// The first bytes of a trace of ours.
std::string_view ChunkMagic();

struct ForeignFile {
  std::string_view what;  // "an SQLite database"
  std::string_view hint;
};

// `path` helps where the contents have no mark of their own (.nsys-rep).
ForeignFile RecogniseForeign(std::string_view bytes, std::string_view path);

// A run file, a baseline, a report: JSON, but no trace.
bool IsDocumentOfOurs(std::string_view bytes);

// True for formats whose first bytes leave no doubt: then the file need not be searched for chunks.
bool IsSurelyForeign(std::string_view bytes);

}  // namespace gprof
