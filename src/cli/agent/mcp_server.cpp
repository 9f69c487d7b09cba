#include "cli/agent/mcp_server.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "cli/agent/bounded_run.h"
#include "gprof/error.h"
#include "gprof/version.h"

namespace gprof::cli {
namespace {

// The newest first: it is what we offer to a client that asks for one that we do not know.
constexpr std::array<std::string_view, 4> kVersions = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
constexpr std::size_t kMostAnswerBytes = 16'000;
constexpr std::string_view kInstructions =
    "Profiles of CUDA programs. Begin with report; explain its first finding; change the program; record it again and "
    "use diff. A gain is an upper bound until diff has shown it. 'cannot tell' means that it was not recorded.";

// Of JSON-RPC.
enum class Code : int { kParse = -32700, kInvalid = -32600, kNoMethod = -32601, kParameters = -32602 };

struct RpcError {
  Code code;
  std::string message;
};

Json Failure(const Json& id, const RpcError& error) {
  return {
      {"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", static_cast<int>(error.code)}, {"message", error.message}}}};
}

Json Initialized(const Json& params) {
  const std::string asked = params.is_object() ? params.value("protocolVersion", std::string()) : std::string();
  const bool is_known = std::ranges::find(kVersions, asked) != kVersions.end();
  return {{"protocolVersion", is_known ? asked : std::string(kVersions.front())},
          {"capabilities", {{"tools", {{"listChanged", false}}}}},
          {"serverInfo", {{"name", "gprof-cli"}, {"version", kVersion}}},
          {"instructions", kInstructions}};
}

Json ToolResult(const std::string& text, bool is_error) {
  return {{"content", Json::array({{{"type", "text"}, {"text", Utf8(text)}}})}, {"isError", is_error}};
}

// A gate that failed and a question that cannot be decided are answers.
bool IsAnswer(int exit_code) {
  return exit_code == static_cast<int>(ExitCode::kGood) || exit_code == static_cast<int>(ExitCode::kGateFailed) ||
         exit_code == static_cast<int>(ExitCode::kInconclusive);
}

std::string TextOfRun(const BoundedOutput& run, const ToolCall& call, std::chrono::seconds limit) {
  std::string text = run.out;
  const bool says_more = run.exit_code != 0 || call.runs_program || text.empty();
  if (says_more && !run.err.empty()) text += (text.empty() || text.ends_with('\n') ? "" : "\n") + run.err;
  if (run.is_cut) text += "\n(cut: the answer was longer than " + std::to_string(kMostAnswerBytes) + " bytes)";
  if (run.is_late) text += "\n(ended after " + std::to_string(limit.count()) + " s)";
  if (call.runs_program) text += "\n(exit code " + std::to_string(run.exit_code) + ")";
  return text;
}

bool IsId(const Json& id) { return id.is_string() || id.is_number_integer(); }

}  // namespace

McpServer::McpServer(const McpOptions& options) : options_(options), tools_(ToolsOf(options.may_record)) {}

Json McpServer::Call(const Json& params) {
  if (!params.is_object() || !params.contains("name") || !params["name"].is_string())
    throw RpcError{Code::kParameters, "tools/call needs the name of a tool"};
  const auto name = params["name"].get<std::string>();
  const auto tool = std::ranges::find(tools_, name, &Tool::name);
  if (tool == tools_.end()) {
    const bool is_closed = std::ranges::any_of(ToolsOf(true), [&](const Tool& one) { return one.name == name; });
    throw RpcError{Code::kParameters, is_closed ? "'" + name + "' runs programs: start gprof-cli mcp --allow-record"
                                                : "there is no tool '" + name + "'"};
  }
  const Json arguments = params.value("arguments", Json::object());
  if (const std::string complaint = ComplaintAbout(*tool, arguments); !complaint.empty())
    return ToolResult(complaint, true);
  try {
    const ToolCall call = tool->call(arguments);
    const BoundedOutput run =
        RunBounded(call.words, options_.time_limit, kMostAnswerBytes, call.runs_program ? Keep::kLast : Keep::kFirst);
    return ToolResult(TextOfRun(run, call, options_.time_limit), run.is_late || !IsAnswer(run.exit_code));
  } catch (const Error& error) {
    return ToolResult(error.what(), true);
  }
}

Json McpServer::Handle(const std::string& method, const Json& params) {
  if (method == "initialize") return Initialized(params);
  if (method == "ping") return Json::object();
  if (method == "tools/list") {
    Json tools = Json::array();
    for (const Tool& tool : tools_) tools.push_back(ToolJson(tool));
    return {{"tools", std::move(tools)}};
  }
  if (method == "tools/call") return Call(params);
  throw RpcError{Code::kNoMethod, "there is no method '" + method + "'"};
}

std::optional<std::string> McpServer::Answer(const std::string& line) {
  const Json message = Json::parse(line, nullptr, false);
  if (message.is_discarded()) return CompactText(Failure(nullptr, {Code::kParse, "this line is no JSON"}));
  const bool is_message = message.is_object() && message.value("jsonrpc", Json()) == "2.0";
  const bool is_request = is_message && message.contains("method") && message["method"].is_string();
  if (is_request && !message.contains("id")) return std::nullopt;
  // An answer to us: we ask nothing.
  if (is_message && !message.contains("method") && (message.contains("result") || message.contains("error")))
    return std::nullopt;
  const Json id = message.is_object() ? message.value("id", Json()) : Json();
  if (!is_request || !IsId(id))
    return CompactText(Failure(IsId(id) ? id : Json(), {Code::kInvalid, "this is no request of JSON-RPC 2.0"}));
  try {
    const Json result = Handle(message["method"].get<std::string>(), message.value("params", Json::object()));
    return CompactText(Json{{"jsonrpc", "2.0"}, {"id", id}, {"result", result}});
  } catch (const RpcError& error) {
    return CompactText(Failure(id, error));
  }
}

}  // namespace gprof::cli
