// Keeps to the schema of Jenkins' xUnit plugin, the narrowest of those in use: no file and line of a test case, no
// properties but those of the suite.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "base/text.h"
#include "cli/ci/ci_formats.h"
#include "gate/check/check.h"

namespace gprof::cli {
namespace {

// Printable text has no control characters and no bytes that are no UTF-8; what is left are two code points that XML
// does not have.
std::string XmlEscaped(std::string_view text) {
  std::string out;
  std::string rest = Printable(text);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const std::string_view three = std::string_view(rest).substr(i, 3);
    if (three == "\xEF\xBF\xBE" || three == "\xEF\xBF\xBF") {
      out += "\xEF\xBF\xBD";
      i += 2;
    } else if (rest[i] == '&') {
      out += "&amp;";
    } else if (rest[i] == '<') {
      out += "&lt;";
    } else if (rest[i] == '>') {  // for ]]>
      out += "&gt;";
    } else if (rest[i] == '"') {
      out += "&quot;";
    } else {
      out += rest[i];
    }
  }
  return out;
}

std::string Attribute(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "=\"" + XmlEscaped(value) + "\"";
}

std::string Lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + XmlEscaped(line);
  return text;
}

std::vector<std::string> BodyOf(const RuleResult& rule) {
  std::vector<std::string> lines = LinesOf(rule);
  if (!rule.file.empty()) lines.push_back(rule.file + ":" + std::to_string(rule.line));
  return lines;
}

// What comes before the last dot is a package to Jenkins.
std::string ClassOf(const CheckResult& result) {
  std::string name = result.name;
  std::replace(name.begin(), name.end(), '.', '_');
  return "gprof-cli." + name;
}

// Of a rule about a time, that time: readers of JUnit chart how long a test case took. A check itself takes none.
std::string SecondsOf(const RuleResult& rule) {
  const bool is_time = rule.unit == Unit::kNs && rule.value && std::isfinite(*rule.value) && *rule.value > 0;
  return is_time ? fmt::format("{:.9f}", *rule.value / 1e9) : "0";
}

std::string TestCase(const RuleResult& rule, const std::string& class_name, const std::string& name) {
  std::string out = "    <testcase" + Attribute("classname", class_name) + Attribute("name", name) +
                    Attribute("time", SecondsOf(rule)) + ">\n";
  const auto element = [&](const std::string& tag, const std::string& type) {
    out += "      <" + tag + Attribute("type", type) + Attribute("message", rule.message) + ">" + Lines(BodyOf(rule)) +
           "</" + tag + ">\n";
  };
  switch (rule.verdict) {
    case Verdict::kFail:
      element("failure", "budget");
      break;
    case Verdict::kInconclusive:
      element("error", "inconclusive");
      break;
    case Verdict::kWarn:
    case Verdict::kPass: {
      std::vector<std::string> lines = BodyOf(rule);
      if (rule.verdict == Verdict::kWarn) lines.insert(lines.begin(), "warning");
      out += "      <system-out>" + Lines(lines) + "</system-out>\n";
      break;
    }
  }
  return out + "    </testcase>\n";
}

std::string Counts(const CheckResult& result) {
  const auto count = [&](Verdict verdict) {
    return std::to_string(std::count_if(result.rules.begin(), result.rules.end(),
                                        [&](const RuleResult& rule) { return rule.verdict == verdict; }));
  };
  return Attribute("tests", std::to_string(result.rules.size())) + Attribute("failures", count(Verdict::kFail)) +
         Attribute("errors", count(Verdict::kInconclusive));
}

std::string Properties(const CheckResult& result) {
  std::string out = "    <properties>\n";
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) out += "      <property" + Attribute("name", name) + Attribute("value", value) + "/>\n";
  };
  add("verdict", std::string(VerdictName(result.verdict)));
  const Fingerprint& made = result.fingerprint;
  for (const std::string& gpu : made.gpus) add("gpu", gpu);
  add("clocks", made.clocks);
  add("driver", made.driver_version);
  add("cuda", made.cuda_version);
  add("tool", made.tool_version);
  add("program", made.program);
  add("commit", made.commit);
  for (const std::string& source : result.sources) add("run", source);
  return out + "    </properties>\n";
}

}  // namespace

std::string RenderJunit(const CheckResult& result) {
  const std::string counts = Counts(result), class_name = ClassOf(result);
  const std::string& host = result.fingerprint.host;
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + Attribute("name", "gprof-cli check") +
                    counts + ">\n  <testsuite" + Attribute("name", result.name) + counts + Attribute("skipped", "0") +
                    (host.empty() ? "" : Attribute("hostname", host)) + ">\n" + Properties(result);
  // Jenkins keeps the history of a test by its name: no two of a suite may share it.
  std::map<std::string, int> seen;
  for (const RuleResult& rule : result.rules) {
    const int number = ++seen[rule.rule];
    out += TestCase(rule, class_name, number == 1 ? rule.rule : rule.rule + " (" + std::to_string(number) + ")");
  }
  std::vector<std::string> lines = result.notes;
  const std::string not_judged = NotJudgedLine(result);
  if (!not_judged.empty()) lines.push_back(not_judged);
  lines.push_back(result.line);
  return out + "    <system-out>" + Lines(lines) + "</system-out>\n  </testsuite>\n</testsuites>\n";
}

}  // namespace gprof::cli
