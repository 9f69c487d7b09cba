// Words on the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gprof::cli {

// The pieces between commas.
std::vector<std::string> SplitList(std::string_view text);

// `text` so that a shell takes it as one word.
std::string ShellQuoted(const std::string& text);

}  // namespace gprof::cli
