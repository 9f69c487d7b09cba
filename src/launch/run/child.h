// The traced program as a child process.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "launch/run/launch.h"
#include "launch/run/relay.h"

namespace gprof {

struct ChildEnd {
  int exit_code = 0;
  int signal = 0;       // that killed it, or 0
  int stop_signal = 0;  // that the launcher got meanwhile: see SignalRelay
};

class Child {
 public:
  // Forks. The child waits for Start(), so that its pid can be known before anything else is done.
  // `capture_signal`: see SignalRelay. `output_file`: see ProgramOutput::kInFile.
  Child(const std::vector<std::string>& command, ProgramOutput output, int capture_signal = 0,
        const std::string& output_file = {});
  // Without Start() the child goes away quietly.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }

  // Lets it become the program, with `environment` and with signals, descriptors and terminal as they were inherited.
  // Throws Error (126, 127) when that fails.
  void Start(const std::vector<std::string>& environment);

  // Sees to the attendants meanwhile.
  ChildEnd Wait(const std::vector<Attendant*>& attendants);

 private:
  SignalRelay relay_;
  std::string program_;
  pid_t pid_ = -1;
  int gate_ = -1;     // the environment goes in here
  int verdict_ = -1;  // errno of a failed exec comes out of here, nothing when it worked
  bool is_running_ = false;
};

}  // namespace gprof
