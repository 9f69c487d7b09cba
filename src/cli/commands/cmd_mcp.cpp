// gprof-cli mcp: the tools of an agent, over the Model Context Protocol. docs/commands/mcp.md
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

#include "cli/agent/mcp_server.h"
#include "cli/arguments/options.h"
#include "cli/commands/commands.h"
#include "cli/talk.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kLongestLine = 1 << 20;

enum class Line : uint8_t { kEnd, kWhole, kTooLong };

// What is too long is read to its end, so that the next message is one again.
Line ReadLine(std::istream& in, std::string* line) {
  line->clear();
  bool is_too_long = false;
  for (int c = in.get(); c != std::char_traits<char>::eof(); c = in.get()) {
    if (c == '\n') return is_too_long ? Line::kTooLong : Line::kWhole;
    is_too_long = is_too_long || line->size() >= kLongestLine;
    if (!is_too_long) line->push_back(static_cast<char>(c));
  }
  return line->empty() || is_too_long ? Line::kEnd : Line::kWhole;
}

class Mcp : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_flag("--allow-record", options_.may_record, "also offer tools that run programs: record, try");
    app.add_option("--time-limit", seconds_, "end a call after this time (default 300)")
        ->type_name("SECONDS")
        ->check(WholeNumber(1, 86'400));
  }

  int Run() override {
    options_.time_limit = std::chrono::seconds(seconds_);
    McpServer server(options_);
    std::string line;
    for (Line got = ReadLine(std::cin, &line); got != Line::kEnd; got = ReadLine(std::cin, &line)) {
      if (got == Line::kWhole && line.find_first_not_of(" \t\r") == std::string::npos) continue;
      // A line that was cut is no JSON, and the answer says so.
      const std::optional<std::string> answer = server.Answer(line);
      if (answer && !WriteResult(*answer + "\n")) break;
    }
    return CodeOf(ExitCode::kGood);
  }

 private:
  McpOptions options_;
  uint64_t seconds_ = 300;
};

}  // namespace

std::unique_ptr<Command> MakeMcp() { return std::make_unique<Mcp>(); }

}  // namespace gprof::cli
