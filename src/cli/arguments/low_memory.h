// --low-memory and --temp-dir, of the commands that read a trace and say something about it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace gprof::cli {

class LowMemory {
 public:
  void AddOptions(CLI::App& app, const std::string& flag_help);
  // After this whatever is read lies in a file, where that was asked for. Throws Error.
  void Start() const;

 private:
  std::string temp_dir_;
  bool is_wanted_ = false;
};

}  // namespace gprof::cli
