#include "cli/arguments/result_arguments.h"

#include "cli/arguments/options.h"
#include "cli/ci/ci_outputs.h"
#include "cli/talk.h"

namespace gprof::cli {

void ResultArguments::AddOptions(CLI::App& app) {
  constexpr char kGroup[] = "Output";
  app.add_option("--format", format_, "text (default), md for Markdown, or json")
      ->type_name("text|md|json")
      ->check(OneOf({"text", "md", "json"}))
      ->group(kGroup);
  app.add_option("--summary", summary_, "also write the result as Markdown; appends if FILE is $GITHUB_STEP_SUMMARY")
      ->type_name("FILE")
      ->group(kGroup);
}

void ResultArguments::Show(const Render& text, const Render& markdown, const Render& json) const {
  if (!summary_.empty()) WriteSummary(summary_, markdown());
  WriteResult(format_ == "json" ? json() : format_ == "md" ? markdown() : text());
}

}  // namespace gprof::cli
