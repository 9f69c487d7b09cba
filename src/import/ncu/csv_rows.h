// The rows of a CSV text, one after the other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gprof {

class CsvRows {
 public:
  explicit CsvRows(std::string_view text) : rest_(text) {}

  // False at the end. A quoted field may go over several lines; a quote that nothing closes ends with its line.
  bool Next();
  const std::vector<std::string>& fields() const { return fields_; }

 private:
  std::string ReadQuoted();

  std::string_view rest_;
  std::vector<std::string> fields_;
};

}  // namespace gprof
