#include "cli/screen/full_screen.h"

namespace gprof::cli {

std::unique_ptr<FullScreen> FullScreen::Open() { return nullptr; }

}  // namespace gprof::cli
