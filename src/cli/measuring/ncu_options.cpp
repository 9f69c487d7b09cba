#include "cli/measuring/ncu_options.h"

#include <iterator>
#include <string_view>

#include "gprof/error.h"

namespace gprof::cli {
namespace {

enum class NcuEffect : uint8_t {
  kDone,     // it is so in any case
  kNone,     // it changes nothing, which is said
  kRefused,  // the command would do something else
};

struct NcuOption {
  const char* names;
  NcuEffect effect;
  bool is_flag;
  std::string_view sentence;
};

constexpr bool kNoValue = true, kTakesValue = false;
constexpr std::string_view kOneRun = "the program runs once";
constexpr std::string_view kOverTime =
    "counters over time are sampled by gprof-cli profile --gpu-metrics-devices all, instructions by --page source";
constexpr std::string_view kCallStacks = "gprof-cli profile records the call stacks of launches";
constexpr std::string_view kOurSections = "--list-sections lists the sections that there are";
constexpr std::string_view kAttach = "gprof-cli counters starts the program itself; leave out the option";
constexpr std::string_view kByExpression = "-k regex:EXPRESSION chooses kernels by an expression";

constexpr NcuOption kNcuOptions[] = {
    {"--app-replay-buffer", NcuEffect::kDone, kTakesValue, ""},
    {"--app-replay-match", NcuEffect::kNone, kTakesValue, kOneRun},
    {"--app-replay-mode", NcuEffect::kNone, kTakesValue, kOneRun},
    {"--apply-rules", NcuEffect::kDone, kTakesValue, ""},
    {"--call-stack", NcuEffect::kNone, kNoValue, kCallStacks},
    {"--call-stack-type", NcuEffect::kNone, kTakesValue, kCallStacks},
    {"--check-exit-code", NcuEffect::kDone, kTakesValue, ""},
    {"--config-file", NcuEffect::kDone, kTakesValue, ""},
    {"--config-file-path", NcuEffect::kNone, kTakesValue, "there are no configuration files"},
    {"--disable-extra-suffixes", NcuEffect::kDone, kNoValue, ""},
    {"--disable-profiler-start-stop", NcuEffect::kDone, kNoValue, ""},
    {"--hostname", NcuEffect::kRefused, kTakesValue, kAttach},
    {"--import-source", NcuEffect::kDone, kTakesValue, ""},
    {"--kernel-regex", NcuEffect::kRefused, kTakesValue, kByExpression},
    {"--kernel-regex-base", NcuEffect::kRefused, kTakesValue, kByExpression},
    {"--list-chips", NcuEffect::kRefused, kNoValue, "gprof-cli counters --dry-run has a line for each chip"},
    {"--list-metrics", NcuEffect::kRefused, kNoValue,
     "gprof-cli counters --dry-run --format json lists the metrics of a set"},
    {"--list-rules", NcuEffect::kRefused, kNoValue,
     "every report has the findings that apply; there is nothing to choose"},
    {"--mode", NcuEffect::kRefused, kTakesValue, kAttach},
    {"--null-stdin", NcuEffect::kRefused, kNoValue, "leave it out, and write < /dev/null behind the command"},
    {"--nvtx-push-pop-scope", NcuEffect::kNone, kTakesValue, "push-pop ranges are those of the thread that launches"},
    {"--open-in-ui", NcuEffect::kNone, kNoValue, "gprof-cli view shows a trace in the browser"},
    {"--pm-sampling-buffer-size", NcuEffect::kNone, kTakesValue, kOverTime},
    {"--pm-sampling-interval", NcuEffect::kNone, kTakesValue, kOverTime},
    {"--pm-sampling-max-passes", NcuEffect::kNone, kTakesValue, kOverTime},
    {"--port", NcuEffect::kRefused, kTakesValue, kAttach},
    {"--print-details", NcuEffect::kDone, kTakesValue, ""},
    {"--print-fp", NcuEffect::kDone, kNoValue, ""},
    {"--print-kernel-base", NcuEffect::kNone, kTakesValue, "kernels are printed by their names with arguments"},
    {"--print-metric-instances", NcuEffect::kNone, kTakesValue, "instances of a metric are not collected"},
    {"--print-metric-name", NcuEffect::kNone, kTakesValue, "CSV and --metrics have names, pages have labels"},
    {"--print-nvtx-rename", NcuEffect::kNone, kTakesValue, "kernels are printed by their names"},
    {"--print-rule-details", NcuEffect::kDone, kNoValue, ""},
    {"--query-metrics-collection", NcuEffect::kRefused, kTakesValue,
     "leave it out: --query-metrics lists what a kernel can have"},
    {"--query-metrics-mode", NcuEffect::kRefused, kTakesValue,
     "leave it out: --query-metrics lists base metrics, and --metrics takes them with .sum, .avg, .min and .max"},
    {"--range-filter", NcuEffect::kRefused, kTakesValue,
     "--nvtx-include and --profile-from-start off choose ranges, and -s and -c which of them"},
    {"--range-replay-options", NcuEffect::kNone, kTakesValue, "ranges are not replayed"},
    {"--rule", NcuEffect::kNone, kTakesValue, "all findings are shown"},
    {"--sampling-buffer-size", NcuEffect::kNone, kTakesValue, "CUPTI chooses the size"},
    {"--sampling-max-passes", NcuEffect::kNone, kTakesValue, "instructions are sampled while the program runs once"},
    {"--section-folder", NcuEffect::kRefused, kTakesValue, kOurSections},
    {"--section-folder-recursive", NcuEffect::kRefused, kTakesValue, kOurSections},
    {"--source-folders", NcuEffect::kNone, kTakesValue, "lines are shown by the path that the compiler wrote"},
    {"--support-32bit", NcuEffect::kDone, kNoValue, ""},
    {"--target-processes-filter", NcuEffect::kNone, kTakesValue, "processes of all names are measured"},
    {"--verbose", NcuEffect::kDone, kNoValue, ""},
    {"--warp-sampling-buffer-size", NcuEffect::kNone, kTakesValue, kOverTime},
    {"--warp-sampling-interval", NcuEffect::kNone, kTakesValue, kOverTime},
    {"--warp-sampling-max-passes", NcuEffect::kNone, kTakesValue, kOverTime}};

}  // namespace

void NcuOptions::AddOptions(CLI::App& app) {
  values_.resize(std::size(kNcuOptions));
  for (std::size_t i = 0; i < std::size(kNcuOptions); ++i) {
    CLI::Option* const added =
        kNcuOptions[i].is_flag ? app.add_flag(kNcuOptions[i].names) : app.add_option(kNcuOptions[i].names, values_[i]);
    added->description("of ncu")->group("")->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    added_.push_back(added);
  }
}

void NcuOptions::Refuse() const {
  for (std::size_t i = 0; i < added_.size(); ++i) {
    if (kNcuOptions[i].effect == NcuEffect::kRefused && added_[i]->count() > 0)
      throw Error(ExitCode::kUsage, std::string("counters has no option ") + kNcuOptions[i].names,
                  std::string(kNcuOptions[i].sentence));
  }
}

void NcuOptions::Warn(const std::function<void(const std::string&)>& warn) const {
  for (std::size_t i = 0; i < added_.size(); ++i) {
    if (kNcuOptions[i].effect == NcuEffect::kNone && added_[i]->count() > 0)
      warn(std::string(kNcuOptions[i].names) + " has no effect: " + std::string(kNcuOptions[i].sentence));
  }
}

}  // namespace gprof::cli
