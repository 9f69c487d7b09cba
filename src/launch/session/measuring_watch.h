// Sees what a run is measuring, and tells it to whoever shows it.
#pragma once

#include <functional>
#include <string>

#include "gprof/trace/counter_request.h"
#include "launch/run/attendant.h"
#include "launch/run/launch.h"

namespace gprof {

class MeasuringWatch : public Attendant {
 public:
  // Without `show` it does nothing.
  MeasuringWatch(const std::string& folder, std::function<void(const Measuring&)> show);
  ~MeasuringWatch() override;
  MeasuringWatch(const MeasuringWatch&) = delete;
  MeasuringWatch& operator=(const MeasuringWatch&) = delete;

  int64_t Attend(int64_t now_ns) override;

 private:
  void Open();

  std::string path_;
  std::function<void(const Measuring&)> show_;
  const trace::counter_request::MeasuringPage* page_ = nullptr;  // that tracers write
  Measuring shown_;
  int64_t next_ns_ = 0;
};

}  // namespace gprof
