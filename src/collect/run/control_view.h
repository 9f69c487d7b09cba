// The control page of a run (gprof/trace/run_folder.h), as a collector reads it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gprof/trace/run_folder.h"
#include "trace/write/append.h"

namespace gprof {

struct ControlOrder {
  uint32_t epoch = 0;
  trace::CaptureWish wish = trace::CaptureWish::kIdle;
  TraceFile output;
};

class ControlView {
 public:
  // Null where there is no such page.
  static std::unique_ptr<ControlView> Open(const std::string& folder);
  ~ControlView();
  ControlView(const ControlView&) = delete;
  ControlView& operator=(const ControlView&) = delete;

  // False: nothing is new since `order->epoch`, or the launcher died while it wrote.
  bool Read(ControlOrder* order) const;
  bool RunHasEnded() const;
  // How the program of a run that has ended did: "ended with exit code 1"; empty where it did well.
  std::string FailureOfProgram() const;

 private:
  explicit ControlView(const trace::ControlPage* page) : page_(page) {}
  bool ReadOnce(ControlOrder* order) const;

  const trace::ControlPage* page_;
};

}  // namespace gprof
