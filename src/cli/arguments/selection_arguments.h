// The options that choose a part of a trace, the same for every command that reads one.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "trace/reshape/select.h"

namespace gprof::cli {

class SelectionArguments {
 public:
  void AddOptions(CLI::App& app);
  // Throws Error for words that are no times or numbers.
  Selection Read() const;

 private:
  std::string devices_, processes_, threads_, streams_, kernel_, nvtx_, time_;
  std::optional<uint32_t> capture_;
};

// "gpu0, stream copy, 1.50 s to 2.00 s"; empty for everything.
std::string Describe(const Selection& selection);

}  // namespace gprof::cli
