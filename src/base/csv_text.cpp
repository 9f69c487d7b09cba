#include "base/csv_text.h"

#include <charconv>
#include <system_error>

namespace gprof {
namespace {

bool is_for_programs = false;

bool IsNumber(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// A sign alone is none.
bool IsFormula(std::string_view text) {
  return text.size() > 1 && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos &&
         !IsNumber(text);
}

}  // namespace

void WriteCsvForPrograms() { is_for_programs = true; }

void AppendCsvText(std::string_view text, char separator, CsvQuotes quotes, std::string* out) {
  const bool is_quoted = quotes == CsvQuotes::kAlways || text.find_first_of("\"\n\r") != std::string_view::npos ||
                         text.find(separator) != std::string_view::npos;
  if (is_quoted) *out += '"';
  if (!is_for_programs && IsFormula(text)) *out += '\'';
  if (!is_quoted) {
    *out += text;
    return;
  }
  for (const char c : text) {
    if (c == '"') *out += '"';
    *out += c;
  }
  *out += '"';
}

}  // namespace gprof
