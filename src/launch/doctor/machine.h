// The machine as `gprof-cli doctor` looks at it, so that its checks can be tested with machines that are not there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gprof {

// What became of loading a library and calling a function that reports a version, in a process of its own.
struct Probed {
  bool is_loaded = false;
  std::string path;   // of the file that was loaded
  std::string error;  // of loading, or how the process died
  uint32_t version = 0;
  int status = 0;  // what the function returned
};

// Whether events of the kernel about threads may be had: 0, or an errno value.
struct PerfAnswer {
  int error = 0;
  bool of_kernel = true;  // also while the kernel works for them
};

struct MachineView {
  // The text of a file; nothing when it is not there or cannot be read.
  std::function<std::optional<std::string>(const std::string& path)> read;
  // Names in a folder.
  std::function<std::vector<std::string>(const std::string& folder)> list;
  // Opens for reading and writing: 0, or errno.
  std::function<int(const std::string& path)> try_open;
  std::function<std::optional<std::string>(const std::string& name)> variable;
  // RLIMIT_…, in its unit; nothing when there is none.
  std::function<std::optional<uint64_t>(int resource)> limit;
  std::function<std::optional<uint64_t>(const std::string& folder)> free_bytes;
  // Loads `library` and calls `int function(uint32_t* version)`; only loads it when `function` is empty.
  std::function<Probed(const std::string& library, const std::string& function)> probe;
  // Calls cuInit: its result; nothing when it could not be called or did not come back.
  std::function<std::optional<int>()> init_driver;
  // The path of libgprof-tracer.so, or empty with the reason.
  std::function<std::string(std::string* why)> find_tracer;
  // The folder that runs share, made and removed again; or empty with the reason.
  std::function<std::string(std::string* why)> make_run_folder;
  std::function<PerfAnswer()> try_perf_events;
};

MachineView ThisMachine();

}  // namespace gprof
