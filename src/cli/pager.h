// Long results on a terminal go through a pager, as those of git and systemctl do.
#pragma once

#include <string_view>

namespace CLI {
class App;
}

namespace gprof::cli {

// --no-pager
void AddPagerOption(CLI::App& app);

// As WriteResult; where somebody sits at a terminal and the text is longer than the screen, through GPROF_PAGER, PAGER
// or less. Returns when the reader has left the pager.
void WritePaged(std::string_view text);

}  // namespace gprof::cli
