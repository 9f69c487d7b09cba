// What a run is measuring, as a line on stderr where that is a terminal. The line goes away at the end.
#pragma once

#include "launch/run/launch.h"

namespace gprof::cli {

class MeasuringLine {
 public:
  // Shows something only where it is wanted and stderr is a terminal.
  explicit MeasuringLine(bool is_wanted);
  ~MeasuringLine() { Clear(); }
  MeasuringLine(const MeasuringLine&) = delete;
  MeasuringLine& operator=(const MeasuringLine&) = delete;

  bool IsShown() const { return columns_ > 0; }
  void Show(const Measuring& measuring);
  void Clear();

 private:
  std::size_t columns_ = 0;  // 0: nothing is shown
  bool has_text_ = false;
};

}  // namespace gprof::cli
