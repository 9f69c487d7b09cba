#include "import/ncu/csv_rows.h"

#include <algorithm>

namespace gprof {
namespace {

std::size_t LineEnd(std::string_view text) { return std::min(text.find('\n'), text.size()); }

}  // namespace

// `rest_` is behind the opening quote.
std::string CsvRows::ReadQuoted() {
  std::string field;
  for (std::size_t at = 0; at < rest_.size(); ++at) {
    if (rest_[at] != '"') {
      field += rest_[at];
    } else if (at + 1 < rest_.size() && rest_[at + 1] == '"') {
      field += rest_[at++];
    } else {
      rest_.remove_prefix(at + 1);
      return field;
    }
  }
  field = rest_.substr(0, LineEnd(rest_));
  rest_.remove_prefix(field.size());
  return field;
}

bool CsvRows::Next() {
  fields_.clear();
  if (rest_.empty()) return false;
  for (;;) {
    if (rest_.starts_with('"')) {
      rest_.remove_prefix(1);
      fields_.push_back(ReadQuoted());
    } else {
      const std::size_t size = std::min(rest_.find(','), LineEnd(rest_));
      fields_.emplace_back(rest_.substr(0, size));
      rest_.remove_prefix(size);
    }
    if (rest_.starts_with(',')) {
      rest_.remove_prefix(1);
      continue;
    }
    // What stands between a closing quote and the end of its line is part of no field.
    rest_.remove_prefix(std::min(LineEnd(rest_) + 1, rest_.size()));
    if (fields_.back().ends_with('\r')) fields_.back().pop_back();
    return true;
  }
}

}  // namespace gprof
