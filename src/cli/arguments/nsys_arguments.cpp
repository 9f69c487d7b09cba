#include "cli/arguments/nsys_arguments.h"

#include <algorithm>

#include "cli/arguments/nsys_options.h"
#include "gprof/error.h"

namespace gprof::cli {
namespace {

constexpr char kHidden[] = "";  // a group that help does not show

// --trace-children by another name. All others that are ours are added by who reads them.
constexpr std::string_view kProcessScope = "--process-scope";

}  // namespace

void NsysArguments::AddOptions(CLI::App& app) {
  values_.resize(NsysOptions().size());
  for (std::size_t i = 0; i < NsysOptions().size(); ++i) {
    const NsysOption& option = NsysOptions()[i];
    const bool is_elsewhere = option.meaning == NsysMeaning::kOurs && option.LongName() != kProcessScope;
    if (is_elsewhere || app.get_option_no_throw(std::string(option.LongName())) != nullptr) continue;
    CLI::Option* const added =
        option.IsFlag() ? app.add_flag(std::string(option.names), values_[i], std::string(option.sentence))
                        : app.add_option(std::string(option.names), values_[i], std::string(option.sentence));
    added->group(kHidden)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    added_.emplace_back(added, i);
  }
}

void NsysArguments::Read(LaunchOptions* options) {
  for (const auto& [given, i] : added_) {
    if (given->count() == 0) continue;
    const NsysOption& option = NsysOptions()[i];
    const std::string &value = values_[i], spelling = std::string(option.LongName()) + "=" + value;
    if (option.IsSilent(value) || option.meaning == NsysMeaning::kInert) continue;
    if (option.meaning == NsysMeaning::kRefused) {
      throw Error(ExitCode::kUsage, spelling + " is not supported", std::string(option.sentence));
    }
    if (value == "help") {
      throw Error(ExitCode::kUsage, spelling + ": nothing to list: " + std::string(option.sentence),
                  "gprof-cli doctor shows what can be recorded on this machine");
    }
    if (option.meaning == NsysMeaning::kUnavailable) {
      Note(spelling, option.sentence);
    } else if (option.LongName() == kProcessScope) {
      if (value == "main") options->trace_children = false;
      if (value == "system-wide") Note(spelling, "only processes of the run are recorded");
    }
  }
}

void NsysArguments::Note(const std::string& spelling, std::string_view sentence) {
  const auto same = [sentence](const auto& note) { return note.first == sentence; };
  const auto found = std::find_if(notes_.begin(), notes_.end(), same);
  if (found == notes_.end()) {
    notes_.emplace_back(sentence, spelling);
  } else {
    found->second += ", " + spelling;
  }
}

void NsysArguments::Warn(const std::function<void(const std::string&)>& warn) const {
  for (const auto& [sentence, spellings] : notes_) warn(spellings + ": " + std::string(sentence));
}

}  // namespace gprof::cli
