// The tools that the server offers: what an agent may ask, and the command line that answers it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_style.h"

namespace gprof::cli {

struct ToolCall {
  std::vector<std::string> words;  // of gprof-cli
  bool runs_program = false;
};

struct Tool {
  std::string_view name, title, description;
  bool runs_program;
  Json (*properties)();  // JSON schema of its arguments
  std::vector<std::string_view> required;
  ToolCall (*call)(const Json& arguments);  // throws Error for arguments that contradict each other
};

// Those that run programs only where that is allowed.
std::vector<Tool> ToolsOf(bool may_record);

// As in tools/list.
Json ToolJson(const Tool& tool);

// What is wrong with the arguments, by the schema; empty where nothing is.
std::string ComplaintAbout(const Tool& tool, const Json& arguments);

}  // namespace gprof::cli
