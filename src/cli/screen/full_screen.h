// The terminal as a full screen, by ncurses: lines in, keys out. Where gprof-cli was built without ncurses, no terminal
// is one (no_full_screen.cpp).
#pragma once

#include <memory>
#include <vector>

#include "cli/screen/screen.h"

namespace gprof::cli {

class FullScreen {
 public:
  // nullptr: the terminal is not known, or cannot do it. However the process ends, but for SIGKILL, the terminal is
  // left as it was; signals do what they did.
  static std::unique_ptr<FullScreen> Open();
  virtual ~FullScreen() = default;

  virtual ScreenSize Size() = 0;
  virtual void Draw(const std::vector<ScreenLine>& lines) = 0;
  // Waits for one. key::kEnd: the terminal has gone.
  virtual Key Next() = 0;
};

}  // namespace gprof::cli
