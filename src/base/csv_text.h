// Text as a field of CSV (RFC 4180).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gprof {

enum class CsvQuotes : uint8_t { kWhereNeeded, kAlways };

// Spreadsheets run a text that begins with = + - @, a tab or a carriage return as a formula, which a kernel's name
// could be: such a text gets a ' in front, which they do not show. Numbers stay as they are.
void AppendCsvText(std::string_view text, char separator, CsvQuotes quotes, std::string* out);

// From now on no text gets one: what reads the CSV is a program.
void WriteCsvForPrograms();

}  // namespace gprof
