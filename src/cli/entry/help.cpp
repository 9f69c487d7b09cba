#include "cli/entry/help.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "cli/arguments/nsys_options.h"
#include "cli/talk.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kMaxHelpColumns = 100;  // longer lines are hard to read
constexpr std::size_t kIndent = 2;
constexpr std::size_t kTextColumn = 30;  // where descriptions start

// "-o, --output FILE"
std::string Spelling(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  std::string text;
  for (const std::string& name : option.get_snames()) text += (text.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) text += (text.empty() ? "    --" : ", --") + name;
  return option.get_type_name().empty() ? text : text + " " + option.get_type_name();
}

std::string RenderEntry(const std::string& left, const std::string& description, std::size_t columns,
                        const Style& style) {
  std::string out(kIndent, ' ');
  out += style.Bold(left);
  std::size_t used = kIndent + DisplayWidth(left);
  if (used + 2 > kTextColumn) {
    out += '\n';
    used = 0;
  }
  for (const std::string& line : Wrap(description, columns - kTextColumn)) {
    out += std::string(kTextColumn - used, ' ') + line + "\n";
    used = 0;
  }
  return out;
}

// Whether it is among "-o -t --stats".
bool IsNamedIn(std::string_view names, const CLI::Option& option) {
  const auto stands = [&](const std::string& name) {
    return Contains(" " + std::string(names) + " ", " " + name + " ");
  };
  return std::ranges::any_of(option.get_snames(), [&](const auto& name) { return stands("-" + name); }) ||
         std::ranges::any_of(option.get_lnames(), [&](const auto& name) { return stands("--" + name); });
}

// The others are hidden, and come back: in a group without a name.
std::size_t HideOthers(std::string_view names, CLI::App& app) {
  std::size_t hidden = 0;
  for (CLI::Option* option : app.get_options()) {
    const bool is_help = option == app.get_help_ptr() || option == app.get_help_all_ptr();
    if (is_help || option->get_positional() || option->get_group().empty() || IsNamedIn(names, *option)) continue;
    option->group("");
    ++hidden;
  }
  return hidden;
}

std::string RenderOptions(const CLI::App& app, std::size_t columns, const Style& style) {
  std::vector<std::string> groups;
  for (const CLI::Option* option : app.get_options()) {
    const std::string& group = option->get_group();
    const bool is_known = std::find(groups.begin(), groups.end(), group) != groups.end();
    if (!group.empty() && !is_known) groups.push_back(group);
  }
  // -h is the first to be added and the last to be of interest.
  if (groups.size() > 1) std::rotate(groups.begin(), groups.begin() + 1, groups.end());
  std::string out;
  for (const std::string& group : groups) {
    out += "\n" + style.Bold(group) + "\n";
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_group() == group)
        out += RenderEntry(Spelling(*option), option->get_description(), columns, style);
    }
  }
  return out;
}

std::string Sentence(std::string_view text) {
  std::string sentence(text);
  sentence.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence.front())));
  return sentence + ".";
}

// Where the options are that a short help leaves out.
std::string MoreOptionsText(const CommandInfo& info, std::size_t hidden) {
  const std::string all = "gprof-cli " + std::string(info.name) + " --help-all";
  const std::string recording = info.runs_program && info.name != "profile"
                                    ? "What is recorded, and when: the options of gprof-cli profile --help-all\n"
                                    : "";
  return recording + CountOf(static_cast<int64_t>(hidden), "more option") + ": " + all + "\n";
}

constexpr std::pair<CommandGroup, const char*> kGroups[] = {{CommandGroup::kRecord, "Record a program"},
                                                            {CommandGroup::kRead, "Understand a trace"},
                                                            {CommandGroup::kCompare, "Compare runs"},
                                                            {CommandGroup::kMany, "Many ranks"},
                                                            {CommandGroup::kMore, "More"}};

}  // namespace

void PrepareApp(const CommandInfo& info, Command& command, CLI::App& app) {
  app.set_help_flag("-h,--help", "show this help")->group("Help");
  app.set_help_all_flag("--help-all", "show all options")->group(info.main_options.empty() ? "" : "Help");
  app.option_defaults()->group("Options");
  if (info.runs_program) app.prefix_command();
  command.AddOptions(app);
}

std::string RenderHelp(const CommandInfo& info, HelpLength length, const Terminal& terminal) {
  const std::unique_ptr<Command> command = info.make();
  CLI::App app;
  PrepareApp(info, *command, app);
  const bool is_short = length == HelpLength::kShort && !info.main_options.empty();
  const std::size_t hidden = is_short ? HideOthers(info.main_options, app) : 0;
  const Style style(terminal.has_color);
  const std::size_t columns = std::min(terminal.columns, kMaxHelpColumns);
  std::string out = Sentence(info.summary) + "\n\n" + style.Bold("Usage") + "\n  gprof-cli " + std::string(info.name);
  if (!info.synopsis.empty()) out += " " + std::string(info.synopsis);
  out += "\n" + RenderOptions(app, columns, style);
  if (!info.examples.empty()) {
    out += "\n" + style.Bold("Examples") + "\n  ";
    for (const char c : info.examples) out += c == '\n' ? std::string("\n  ") : std::string(1, c);
    out += "\n";
  }
  if (hidden > 0) out += "\n" + MoreOptionsText(info, hidden);
  if (info.has_code_of_program) out += "\nFor other nsys options, see gprof-cli help nsys\n";
  return out;
}

std::string RenderNsysOptions(const Terminal& terminal) {
  const Style style(terminal.has_color);
  const std::size_t columns = std::min(terminal.columns, kMaxHelpColumns);
  std::string out = "How profile and launch handle the options of nsys profile.\n\n" + style.Bold("Options") + "\n";
  const auto add = [&](const std::string& left, const std::string& outcome, std::string_view sentence) {
    out += RenderEntry(left, outcome + (sentence.empty() ? "" : ": " + std::string(sentence)), columns, style);
  };
  for (const NsysOption& option : NsysOptions()) {
    const std::string unless = option.silent.empty() ? "" : " (but " + std::string(option.silent) + ": ignored)";
    add(std::string(option.names) + " " + std::string(option.values), std::string(NameOf(option.meaning)) + unless,
        option.sentence);
  }
  out += "\n" + style.Bold("Values of -t") + "\n";
  for (const NsysTrace& trace : NsysTraces()) {
    add(std::string(trace.name), trace.domain == NsysDomain::kUnavailable ? "warning" : "accepted", trace.sentence);
  }
  return out;
}

std::string RenderOverview(HelpLength length, const Terminal& terminal) {
  const Style style(terminal.has_color);
  std::string out = "gprof-cli profiles CUDA programs and explains why the GPU was idle.\n\n" + style.Bold("Usage") +
                    "\n  gprof-cli COMMAND [options]\n";
  for (const auto& [group, title] : kGroups) {
    if (group == CommandGroup::kMore && length == HelpLength::kShort) continue;
    out += "\n" + style.Bold(title) + "\n";
    for (const CommandInfo& info : AllCommands()) {
      if (info.group != group) continue;
      out += "  " + style.Bold(info.name) + std::string(12 - info.name.size(), ' ') + std::string(info.summary) + "\n";
    }
  }
  out += "\n" + style.Bold("Getting started") + "\n  gprof-cli profile ./app\n  gprof-cli report run.trace\n\n";
  if (length == HelpLength::kShort) out += "All commands: gprof-cli --help-all. ";
  return out + "Options of a command: gprof-cli COMMAND --help\n";
}

void WriteOverview(int descriptor) {
  const std::string text = RenderOverview(HelpLength::kShort, DetectTerminal(descriptor));
  // As in talk.h: on stderr nobody may be there to read.
  if (descriptor == STDOUT_FILENO) {
    WriteResult(text);
  } else if (write(descriptor, text.data(), text.size()) < 0) {
    return;
  }
}

}  // namespace gprof::cli
