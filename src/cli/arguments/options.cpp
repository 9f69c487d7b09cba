#include "cli/arguments/options.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/csv_text.h"
#include "base/text.h"
#include "gprof/error.h"
#include "gprof/trace/env.h"

namespace gprof::cli {

std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> words;
  for (;;) {
    const std::size_t comma = text.find(',');
    words.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return words;
    text.remove_prefix(comma + 1);
  }
}

void AddStepOption(CLI::App& app, std::string* step, const std::string& group) {
  app.add_option("--step", *step, "NVTX range of one step, by name or path (default: detected)")
      ->type_name("NAME|PATH")
      ->group(group);
}

std::string ShellLine(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + ShellQuoted(word);
  return line;
}

int64_t ReadTime(const std::string& option, const std::string& text) {
  constexpr double kLongest = 9e18;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  const double factor = unit.empty() || unit == "ns" ? 1
                        : unit == "us"               ? 1e3
                        : unit == "ms"               ? 1e6
                        : unit == "s"                ? 1e9
                                                     : 0;
  const double ns = value * factor;
  if (error != std::errc() || factor == 0 || !std::isfinite(ns) || ns < 0 || ns > kLongest) {
    throw Error(ExitCode::kUsage, option + ": '" + text + "' is not a time", "use a unit: 250ns, 10us, 1.5ms or 2s");
  }
  return std::llround(ns);
}

int64_t ReadSeconds(const std::string& option, const std::string& text) {
  constexpr double kLongest = 1e9;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value) || value < 0 || value > kLongest) {
    throw Error(ExitCode::kUsage, option + " needs a number of seconds, not '" + text + "'",
                "example: " + option + " 2.5");
  }
  return std::llround(value * 1e9);
}

std::vector<std::string> WithFlagValuesJoined(const CLI::App& app, const std::vector<std::string>& arguments,
                                              bool runs_program) {
  std::vector<std::string> joined;
  std::size_t i = 0;
  for (; i < arguments.size() && arguments[i] != "--"; ++i) {
    const bool is_option = arguments[i].starts_with('-');
    if (!is_option && runs_program) break;
    const CLI::Option* const option = is_option ? app.get_option_no_throw(arguments[i]) : nullptr;
    joined.push_back(arguments[i]);
    if (option == nullptr || i + 1 >= arguments.size()) continue;
    const bool is_flag = option->get_items_expected_max() == 0;
    const std::string& next = arguments[i + 1];
    const bool may_be_program = runs_program && i + 2 >= arguments.size();
    if (!is_flag) {
      joined.push_back(next);
      ++i;
    } else if ((next == "true" || next == "false") && !may_be_program) {
      joined.back() = "--" + option->get_lnames().front() + "=" + next;
      ++i;
    }
  }
  joined.insert(joined.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
  return joined;
}

CLI::Validator OneOf(const std::vector<std::string>& words) {
  const auto check = [words](const std::string& text) -> std::string {
    std::string known;
    for (const std::string& word : words) {
      if (word == text) return {};
      known += (known.empty() ? "" : &word == &words.back() ? " or " : ", ") + word;
    }
    const std::string nearest = Nearest(text, words);
    return "must be " + known + ", not '" + text + "'" + (nearest.empty() ? "" : "; did you mean " + nearest + "?");
  };
  return CLI::Validator(check, "");
}

CLI::Validator WholeNumber(uint64_t least, uint64_t most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && stop == end && value >= least && value <= most) return {};
    return "must be an integer from " + std::to_string(least) + " to " + std::to_string(most) + ", not '" + text + "'";
  };
  return CLI::Validator(check, "");
}

void AddRawCsvOption(CLI::App& app) {
  app.add_flag_callback("--raw-csv", WriteCsvForPrograms,
                        "in CSV: no ' before texts that a spreadsheet would take for a formula")
      ->group("Output");
}

void AddMemoryLimitOption(CLI::App& app) {
  // Workers and what they start have it from the environment.
  app.add_flag_callback(
         "--ignore-memory-limit", [] { setenv(trace::env::kIgnoreMemoryLimit, "1", 1); },
         "read files that take far more memory than their size suggests")
      ->group("Memory");
}

}  // namespace gprof::cli
