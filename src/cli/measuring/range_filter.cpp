#include "cli/measuring/range_filter.h"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>

#include "gprof/error.h"
#include "gprof/trace/counter_request.h"

namespace gprof::cli {
namespace {

namespace words = trace::counter_request;

bool IsExpression(const std::string& text) {
  regex_t expression;
  if (regcomp(&expression, text.c_str(), REG_EXTENDED | REG_NOSUB) != 0) return false;
  regfree(&expression);
  return text.find_first_not_of("0123456789|[](){}-+*?.^,") == std::string::npos;
}

}  // namespace

RangeFilter ReadRangeFilter(std::string_view text) {
  if (text.empty()) return {};
  const auto refuse = [&](const std::string& why) {
    throw Error(ExitCode::kUsage, fmt::format("--range-filter: {}", why),
                "write [yes|no]:[NUMBERS]:[NUMBERS], as in :1|3: (ranges of cudaProfilerStart), ::[2-5] (NVTX ranges)");
  };
  if (std::count(text.begin(), text.end(), ':') != 2) refuse(fmt::format("'{}' does not have three parts", text));
  const std::size_t first = text.find(':'), second = text.rfind(':');
  const std::string_view within = text.substr(0, first);
  if (!within.empty() && within != "yes" && within != "no") refuse(fmt::format("'{}' is not yes or no", within));
  const RangeFilter filter{within == "yes", std::string(text.substr(first + 1, second - first - 1)),
                           std::string(text.substr(second + 1))};
  if (filter.profiler.empty() && filter.nvtx.empty()) refuse("it has no numbers");
  for (const std::string& numbers : {filter.profiler, filter.nvtx}) {
    if (!IsExpression(numbers)) refuse(fmt::format("'{}' is not a valid expression for numbers", numbers));
  }
  return filter;
}

std::string RangeFilterLines(const RangeFilter& filter) {
  std::string lines;
  const auto add = [&](const char* word, const std::string& value) {
    if (!value.empty()) lines += fmt::format("{} {}\n", word, value);
  };
  add(words::kProfilerNumbers, filter.profiler);
  add(words::kNvtxNumbers, filter.nvtx);
  if (filter.is_within) add(words::kNumbersWithin, "1");
  return lines;
}

}  // namespace gprof::cli
