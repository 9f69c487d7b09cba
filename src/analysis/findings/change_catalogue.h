// The catalogue of changes that a program can be run with unchanged source: what `gprof-cli try` tries, and which
// findings ask for it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gprof {

struct ChangeInfo {
  static constexpr std::size_t kMostFindings = 6;

  std::string_view name;  // "huge-pages"
  std::string_view what;  // it is, in words
  // "NAME=VALUE NAME+=VALUE": set, or put behind what the variable has already. What stands in braces depends on the
  // machine (src/cli/proof/change_values.h); where the machine has no such thing, the change does not apply.
  std::string_view environment{};
  std::string_view wrapper{};                  // words before the program, "numactl --interleave=all"
  std::string_view risk{};                     // how it can change results; empty: it cannot
  std::string_view permanent{};                // how to keep it
  std::string_view findings[kMostFindings]{};  // that ask for it
};

std::span<const ChangeInfo> ChangeCatalogue();
const ChangeInfo* FindChange(std::string_view name);

// Names of the changes that a finding asks for, in the order of the catalogue.
std::vector<std::string_view> ChangesFor(std::string_view finding);

// docs/commands/try.md.
std::string ChangesMarkdown();

}  // namespace gprof
