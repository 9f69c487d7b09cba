// Long results on a terminal go through a pager, as those of git and systemctl do.
#pragma once

#include <string_view>

namespace CLI {
class App;
}

namespace gprof::cli {

// --no-pager
void AddPagerOption(CLI::App& app);

// Somebody sits at a terminal, and did not turn off pagers: results may be more than text that is printed.
bool MayTakeScreen();

// As WriteResult; where somebody sits at a terminal and the text is longer than the screen, through GPROF_PAGER, PAGER
// or less. Returns when the reader has left the pager.
void WritePaged(std::string_view text);

}  // namespace gprof::cli
