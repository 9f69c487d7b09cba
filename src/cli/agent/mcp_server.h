// The Model Context Protocol over lines of JSON-RPC 2.0: one message in, at most one out.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/json_style.h"
#include "cli/agent/mcp_tools.h"

namespace gprof::cli {

struct McpOptions {
  bool may_record = false;
  std::chrono::seconds time_limit{300};  // of a call
};

class McpServer {
 public:
  explicit McpServer(const McpOptions& options);

  // The answer to a line, in one line; nothing for notifications.
  std::optional<std::string> Answer(const std::string& line);

 private:
  Json Handle(const std::string& method, const Json& params);
  Json Call(const Json& params);

  McpOptions options_;
  std::vector<Tool> tools_;
};

}  // namespace gprof::cli
