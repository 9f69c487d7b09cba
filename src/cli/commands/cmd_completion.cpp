// gprof-cli completion: scripts for shells, made from the options themselves. docs/commands/completion.md
#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/arguments/options.h"
#include "cli/commands/commands.h"
#include "cli/entry/help.h"
#include "cli/talk.h"

namespace gprof::cli {
namespace {

struct CompletedOption {
  std::vector<std::string> spellings;  // --output, -o
  std::string description;
  std::vector<std::string> values;  // where there are only a few
  bool takes_value = false;
};

struct CompletedCommand {
  const CommandInfo* info;
  std::vector<CompletedOption> options;
};

// What stands for a value of the user: HZ, LIST, N.
bool IsPlaceholder(const std::string& word) {
  return word.empty() || std::ranges::any_of(word, [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::vector<std::string> FixedValues(const CLI::Option& option) {
  std::vector<std::string> values;
  const std::string type = option.get_type_name();
  for (std::size_t at = 0; type.find('|') != std::string::npos && at <= type.size();) {
    const std::size_t bar = std::min(type.find('|', at), type.size());
    const std::string word = type.substr(at, bar - at);
    const std::string value = word.substr(0, word.find_first_of("[,"));  // all[:NS],...
    if (!IsPlaceholder(value)) values.push_back(value);
    at = bar + 1;
  }
  return values;
}

CompletedCommand CompletedOf(const CommandInfo& info) {
  const std::unique_ptr<Command> command = info.make();
  CLI::App app;
  PrepareApp(info, *command, app);
  CompletedCommand completed{&info, {}};
  for (const CLI::Option* option : app.get_options()) {
    // Nor those of Nsight Systems, which help leaves out as well.
    if (option->get_positional() || option->get_group().empty()) continue;
    CompletedOption one;
    for (const std::string& name : option->get_lnames()) one.spellings.push_back("--" + name);
    for (const std::string& name : option->get_snames()) one.spellings.push_back("-" + name);
    one.description = option->get_description();
    one.takes_value = option->get_items_expected_max() > 0;
    one.values = FixedValues(*option);
    completed.options.push_back(std::move(one));
  }
  return completed;
}

std::string CommandNames() {
  std::string names;
  for (const CommandInfo& info : AllCommands()) names += (names.empty() ? "" : " ") + std::string(info.name);
  return names;
}

// What may stand where the command wants a word that is no option; empty: files.
std::string PositionalWords(const CommandInfo& info) {
  if (info.synopsis == "[COMMAND]") return CommandNames();
  const std::size_t space = std::min(info.synopsis.find(' '), info.synopsis.size());
  std::string first(info.synopsis.substr(0, space));
  if (first.find('|') == std::string::npos) return {};
  std::replace(first.begin(), first.end(), '|', ' ');
  return first;
}

// `text` between single quotes of a shell.
std::string Quoted(const std::string& text, const char* quote_mark) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string(quote_mark) : std::string(1, c);
  return out + "'";
}

std::string BashCase(const CompletedCommand& command) {
  std::string words, cases;
  for (const CompletedOption& option : command.options) {
    words += (words.empty() ? "" : " ") + Joined(option.spellings, " ");
    if (!option.takes_value) continue;
    cases += "        " + Joined(option.spellings, "|") + ") ";
    cases += option.values.empty() ? "compopt -o default"
                                   : "COMPREPLY=($(compgen -W '" + Joined(option.values, " ") + "' -- \"$word\"))";
    cases += "; return ;;\n";
  }
  std::string out = "    " + std::string(command.info->name) + ")\n      options='" + words + "'\n";
  const std::string positional = PositionalWords(*command.info);
  if (!positional.empty()) out += "      words='" + positional + "'\n";
  if (command.info->runs_program) out += "      programs=yes\n";
  if (!cases.empty()) out += "      case $before in\n" + cases + "      esac\n";
  return out + "      ;;\n";
}

std::string BashScript() {
  std::string out = R"(# Completion of gprof-cli for bash: source <(gprof-cli completion bash)
_gprof_cli() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options= words= programs=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W ')" +
                    CommandNames() + R"( --help --version' -- "$word"))
    return
  fi
  case ${COMP_WORDS[1]} in
)";
  for (const CommandInfo& info : AllCommands()) out += BashCase(CompletedOf(info));
  return out + R"(  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [[ $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  elif [[ $programs && $word != */* ]]; then
    COMPREPLY=($(compgen -c -f -- "$word"))
  else
    compopt -o default
  fi
}
complete -F _gprof_cli gprof-cli
)";
}

std::string ZshOption(const CompletedOption& option) {
  // '(-o --output)'{-o,--output}'[text]:value:action'
  const bool is_single = option.spellings.size() == 1;
  std::string out = is_single ? "'" + option.spellings.front()
                              : "'(" + Joined(option.spellings, " ") + ")'{" + Joined(option.spellings, ",") + "}'";
  std::string text = option.description;
  std::replace(text.begin(), text.end(), '[', '(');
  std::replace(text.begin(), text.end(), ']', ')');
  const std::string quoted = Quoted(text, "'\\''");
  out += "[" + quoted.substr(1, quoted.size() - 2) + "]";
  if (option.takes_value)
    out += option.values.empty() ? ":value:_files" : ":value:(" + Joined(option.values, " ") + ")";
  return out + "'";
}

std::string ZshCase(const CompletedCommand& command) {
  std::string out = "    " + std::string(command.info->name) + ")\n      _arguments -S";
  for (const CompletedOption& option : command.options) out += " \\\n        " + ZshOption(option);
  const std::string positional = PositionalWords(*command.info);
  if (command.info->runs_program) {
    out += " \\\n        '*::program:_normal'";
  } else if (!positional.empty()) {
    out += " \\\n        '1:word:(" + positional + ")'";
  } else if (!command.info->synopsis.empty()) {
    out += " \\\n        '*:file:_files'";
  }
  return out + "\n      ;;\n";
}

std::string ZshScript() {
  std::string out =
      "#compdef gprof-cli\n# Completion of gprof-cli for zsh: gprof-cli completion zsh > a file named _gprof-cli in "
      "$fpath\n"
      "_gprof_cli() {\n  local -a commands\n  commands=(\n";
  for (const CommandInfo& info : AllCommands()) {
    out += "    " + Quoted(std::string(info.name) + ":" + std::string(info.summary), "'\\''") + "\n";
  }
  out +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
      "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n";
  for (const CommandInfo& info : AllCommands()) out += ZshCase(CompletedOf(info));
  return out + "  esac\n}\ncompdef _gprof_cli gprof-cli\n";
}

std::string FishOption(const CommandInfo& info, const CompletedOption& option) {
  std::string out = "complete -c gprof-cli -n '__fish_seen_subcommand_from " + std::string(info.name) + "'";
  for (const std::string& spelling : option.spellings) {
    out += spelling.starts_with("--") ? " -l " + spelling.substr(2) : " -s " + spelling.substr(1);
  }
  if (option.takes_value) out += option.values.empty() ? " -r -F" : " -x -a '" + Joined(option.values, " ") + "'";
  return out + " -d " + Quoted(option.description, "\\'") + "\n";
}

std::string FishScript() {
  std::string out = "# Completion of gprof-cli for fish: gprof-cli completion fish | source\n";
  for (const CommandInfo& info : AllCommands()) {
    out += "complete -c gprof-cli -f -n __fish_use_subcommand -a " + std::string(info.name) + " -d " +
           Quoted(std::string(info.summary), "\\'") + "\n";
  }
  for (const CommandInfo& info : AllCommands()) {
    for (const CompletedOption& option : CompletedOf(info).options) out += FishOption(info, option);
    const std::string positional = PositionalWords(info);
    if (positional.empty()) continue;
    out += "complete -c gprof-cli -f -n '__fish_seen_subcommand_from " + std::string(info.name) + "' -a '" +
           positional + "'\n";
  }
  return out;
}

class Completion : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("SHELL", shell_, "bash, zsh or fish")->required()->check(OneOf({"bash", "zsh", "fish"}));
  }

  int Run() override {
    WriteResult(shell_ == "bash" ? BashScript() : shell_ == "zsh" ? ZshScript() : FishScript());
    return CodeOf(ExitCode::kGood);
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> MakeCompletion() { return std::make_unique<Completion>(); }

}  // namespace gprof::cli
