#include "cli/agent/mcp_tools.h"

#include <algorithm>

#include "cli/commands/command.h"

namespace gprof::cli {
namespace {

constexpr int kMostRows = 200;

Json Text(std::string_view description) { return {{"type", "string"}, {"description", description}}; }
Json Number(std::string_view description, int64_t least, int64_t most) {
  return {{"type", "integer"}, {"description", description}, {"minimum", least}, {"maximum", most}};
}
Json Texts(std::string_view description) {
  return {{"type", "array"}, {"items", {{"type", "string"}}}, {"minItems", 1}, {"description", description}};
}

constexpr std::string_view kTrace =
    "path of a trace: run.trace of gprof-cli, an SQLite export of Nsight Systems, or JSON of torch.profiler";

std::string TextOf(const Json& arguments, const char* name) { return arguments.value(name, std::string()); }

// Options, then words that are none, whatever they begin with.
ToolCall CallOf(std::vector<std::string> options, const std::vector<std::string>& words) {
  options.emplace_back("--");
  options.insert(options.end(), words.begin(), words.end());
  return {.words = std::move(options)};
}

void AddSelection(const Json& arguments, std::vector<std::string>* options) {
  if (const std::string range = TextOf(arguments, "nvtx"); !range.empty()) options->push_back("--nvtx=" + range);
  if (const std::string range = TextOf(arguments, "time_range"); !range.empty())
    options->push_back("--time-range=" + range);
}

Json ReportProperties() {
  return {{"trace", Text(kTrace)},
          {"nvtx", Text("only work in this NVTX range, by name or path")},
          {"time_range", Text("only this part, as in 1s:2.5s")}};
}
ToolCall CallReport(const Json& arguments) {
  std::vector<std::string> options = {"report", "--format=brief"};
  AddSelection(arguments, &options);
  return CallOf(std::move(options), {TextOf(arguments, "trace")});
}

Json ExplainProperties() {
  return {{"trace", Text(kTrace)},
          {"finding", Text("evidence id of the report (memcpy.pageable#2), id of any finding (memcpy.pageable), or a "
                           "key of not_recorded (cpu_samples)")}};
}
ToolCall CallExplain(const Json& arguments) {
  return CallOf({"explain", "--format=json"}, {TextOf(arguments, "trace"), TextOf(arguments, "finding")});
}

Json QueryProperties() {
  return {{"trace", Text(kTrace)},
          {"sql", Text("one SELECT in the dialect of SQLite")},
          {"table", Text("instead of sql: the columns of this table")},
          {"most", Number("maximum rows (default 50)", 1, kMostRows)}};
}
ToolCall CallQuery(const Json& arguments) {
  const std::string table = TextOf(arguments, "table"), sql = TextOf(arguments, "sql");
  if (table.empty() == sql.empty()) throw Error(ExitCode::kUsage, "give either sql or table");
  const std::string trace = TextOf(arguments, "trace");
  if (sql.empty()) return CallOf({"query", "--schema", "--format=json"}, {trace, table});
  const std::string most = std::to_string(arguments.value("most", 50));
  return CallOf({"query", "--format=json", "--most=" + most}, {trace, sql});
}

Json DiffProperties() { return {{"base", Text("trace before the change")}, {"new", Text("trace after the change")}}; }
ToolCall CallDiff(const Json& arguments) {
  return CallOf({"diff"}, {TextOf(arguments, "base"), TextOf(arguments, "new")});
}

Json RecordProperties() {
  return {{"command", Texts("program and its arguments, as in [\"python\", \"train.py\"]")},
          {"output", Text("file of the trace; it must not be there yet")}};
}
// With a program, what follows `--` is its command line.
ToolCall CallRecord(const Json& arguments) {
  ToolCall call =
      CallOf({"profile", "-o", TextOf(arguments, "output")}, arguments.at("command").get<std::vector<std::string>>());
  call.runs_program = true;
  return call;
}

ToolCall CallTry(const Json& arguments) {
  ToolCall call = CallOf({"try"}, arguments.at("command").get<std::vector<std::string>>());
  call.runs_program = true;
  return call;
}
Json TryProperties() { return {{"command", Texts("program and its arguments, which is run several times")}}; }

std::vector<Tool> AllTools() {
  return {
      {"report",
       "Where the time went",
       "Verdict on a trace, split of time, at most five findings with evidence ids and what each could win at most, "
       "and what was not recorded. outcome 'cannot tell' is not 'no problem found'.",
       false,
       ReportProperties,
       {"trace"},
       CallReport},
      {"explain",
       "The numbers behind one finding",
       "Numbers and rows behind a finding of the report, and SQL that checks them against the records.",
       false,
       ExplainProperties,
       {"trace", "finding"},
       CallExplain},
      {"query",
       "SQL over the records",
       "Reads the records of a trace: tables kernel, memcpy, memset, api, sync, nvtx_range, os_call, cpu_sample, "
       "thread, stream and more; views gpu_op (all GPU operations) and gpu_gap (idle intervals); report_* (tables "
       "of the report). Times are ns. Ask with `table` for columns. A table that was not recorded is an answer "
       "'cannot tell', not 0 rows.",
       false,
       QueryProperties,
       {"trace"},
       CallQuery},
      {"diff",
       "Two traces compared",
       "What got faster or slower between two traces, and by how much.",
       false,
       DiffProperties,
       {"base", "new"},
       CallDiff},
      {"record",
       "Record a program",
       "Runs a program and records what it does on the GPU.",
       true,
       RecordProperties,
       {"command", "output"},
       CallRecord},
      {"try",
       "Try changes that need no source",
       "Runs a program alternately with itself and a changed environment, and says what helped.",
       true,
       TryProperties,
       {"command"},
       CallTry}};
}

bool IsOfType(const Json& value, const std::string& type) {
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  return value.is_array() && !value.empty() && std::ranges::all_of(value, [](const Json& v) { return v.is_string(); });
}

}  // namespace

std::vector<Tool> ToolsOf(bool may_record) {
  std::vector<Tool> tools = AllTools();
  std::erase_if(tools, [may_record](const Tool& tool) {
    return (tool.runs_program && !may_record) || (tool.name == "try" && FindCommand("try") == nullptr);
  });
  return tools;
}

Json ToolJson(const Tool& tool) {
  return {{"name", tool.name},
          {"title", tool.title},
          {"description", tool.description},
          {"inputSchema",
           {{"type", "object"},
            {"properties", tool.properties()},
            {"required", tool.required},
            {"additionalProperties", false}}},
          {"annotations", {{"readOnlyHint", !tool.runs_program}, {"openWorldHint", tool.runs_program}}}};
}

std::string ComplaintAbout(const Tool& tool, const Json& arguments) {
  if (!arguments.is_object()) return "arguments must be an object";
  for (const std::string_view name : tool.required) {
    if (!arguments.contains(name)) return "'" + std::string(name) + "' is missing";
  }
  const Json properties = tool.properties();
  for (const auto& [name, value] : arguments.items()) {
    if (!properties.contains(name)) return "there is no argument '" + name + "'";
    const Json& property = properties[name];
    const auto type = property["type"].get<std::string>();
    if (!IsOfType(value, type)) return "'" + name + "' must be of type " + type + (type == "array" ? " of texts" : "");
    if (type == "integer" && (value < property["minimum"] || value > property["maximum"]))
      return "'" + name + "' must be from " + property["minimum"].dump() + " to " + property["maximum"].dump();
  }
  return "";
}

}  // namespace gprof::cli
