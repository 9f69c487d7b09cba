#include "cli/measuring/nvtx_words.h"

#include <fmt/format.h>

#include "base/expression/regular_expression.h"
#include "gprof/error.h"
#include "gprof/trace/counter_request.h"

namespace gprof::cli {
namespace {

namespace words = trace::counter_request;
using Part = NvtxPlace::Part;

constexpr std::size_t kMostParts = 16;  // that the tracer has room for
constexpr std::string_view kSigns = ",@/[]+*\\";

// Where `sign` stands for the first time, and no backslash before it.
std::size_t FindSign(std::string_view text, char sign) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == sign) {
      return i;
    }
  }
  return std::string_view::npos;
}

// The last character is a sign: an even number of backslashes stands before it.
bool EndsWithSign(std::string_view text, char sign) {
  if (text.empty() || text.back() != sign) return false;
  std::size_t backslashes = 0;
  while (backslashes + 1 < text.size() && text[text.size() - 2 - backslashes] == '\\') ++backslashes;
  return backslashes % 2 == 0;
}

// In an expression, backslashes before anything else are its own.
std::string Unescaped(std::string_view text, bool is_expression) {
  const std::string_view signs = is_expression ? std::string_view(",@/") : kSigns;
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      if (signs.find(text[i + 1]) == std::string_view::npos) name += text[i];
      ++i;
    }
    name += text[i];
  }
  return name;
}

void AddPart(std::string_view text, NvtxPlace* place) {
  if (text.empty()) return;
  Part part;
  if (place->is_stack && text == "*") part.kind = Part::Kind::kAny;
  if (place->is_stack && text == "+") part.kind = Part::Kind::kOne;
  if (part.kind == Part::Kind::kRange) part.name = Unescaped(text, place->has_expressions);
  place->parts.push_back(std::move(part));
}

void AddParts(std::string_view text, NvtxPlace* place) {
  const char between = place->is_stack ? '/' : ',';
  for (std::size_t at; (at = FindSign(text, between)) != std::string_view::npos; text.remove_prefix(at + 1)) {
    AddPart(text.substr(0, at), place);
  }
  AddPart(text, place);
}

void TakeEnds(std::string_view* text, NvtxPlace* place) {
  place->is_from_bottom = text->starts_with('[');
  if (place->is_from_bottom) text->remove_prefix(1);
  place->is_to_top = EndsWithSign(*text, ']');
  if (place->is_to_top) text->remove_suffix(1);
}

// The tracer would say this after the program has begun.
void RequireExpressions(std::string_view option, const NvtxPlace& place) {
  RequirePosixExpression(option, place.domain);
  for (const Part& part : place.parts) RequirePosixExpression(option, part.name);
}

std::string KindOf(const NvtxPlace& place) {
  std::string kind = place.is_stack ? "stack" : "any";
  if (place.has_expressions) kind += ",regex";
  if (place.is_from_bottom) kind += ",bottom";
  if (place.is_to_top) kind += ",top";
  return kind;
}

}  // namespace

NvtxPlace ReadNvtxPlace(std::string_view option, std::string_view text) {
  const std::string given(text);
  NvtxPlace place;
  place.has_expressions = text.starts_with(kRegex);
  if (place.has_expressions) text.remove_prefix(kRegex.size());
  if (const std::size_t at = FindSign(text, '@'); at != std::string_view::npos) {
    place.domain = Unescaped(text.substr(0, at), place.has_expressions);
    text.remove_prefix(at + 1);
  }
  if (!place.has_expressions) TakeEnds(&text, &place);
  place.is_stack = place.is_from_bottom || place.is_to_top || FindSign(text, '/') != std::string_view::npos;
  AddParts(text, &place);
  if (given.find('\n') != std::string::npos || place.parts.empty())
    throw Error(ExitCode::kUsage, fmt::format("{}: '{}' does not name a range", option, given),
                "write NAME, NAME/ for a pushed range, or DOMAIN@OUTER/INNER/");
  if (place.parts.size() > kMostParts)
    throw Error(ExitCode::kUsage, fmt::format("{}: '{}' has more than {} ranges", option, given, kMostParts));
  if (place.has_expressions) RequireExpressions(option, place);
  return place;
}

std::string NvtxFilterLines(const NvtxPlace& place, bool excludes) {
  std::string lines = fmt::format("{} {}\n", excludes ? words::kNvtxExclude : words::kNvtxInclude, KindOf(place));
  if (!place.domain.empty()) lines += fmt::format("{} {}\n", words::kNvtxDomain, place.domain);
  for (const Part& part : place.parts) {
    if (part.kind == Part::Kind::kRange) lines += fmt::format("{} {}\n", words::kNvtxRange, part.name);
    if (part.kind != Part::Kind::kRange)
      lines += fmt::format("{} {}\n", words::kNvtxGap, part.kind == Part::Kind::kOne ? "one" : "any");
  }
  return lines;
}

}  // namespace gprof::cli
