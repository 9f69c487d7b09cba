#include "common/facts.h"

#include <fstream>

namespace gprof::examples {
namespace {

// The names are ours: ASCII without control characters.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

void Facts::Add(const std::string& section, const std::string& item, const std::string& field, std::int64_t amount) {
  const std::lock_guard<std::mutex> lock(mutex_);
  sections_[section][item][field] += amount;
}

bool Facts::Write(const std::string& path, const std::string& program) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::ofstream out(path);
  out << "{\n  \"schema\": \"gprof.facts/1\",\n  \"program\": " << Quoted(program) << ",\n  \"facts\": {";
  const char* section_comma = "";
  for (const auto& [section, items] : sections_) {
    out << section_comma << "\n    " << Quoted(section) << ": {";
    const char* item_comma = "";
    for (const auto& [item, fields] : items) {
      out << item_comma << "\n      " << Quoted(item) << ": {";
      const char* field_comma = "";
      for (const auto& [field, amount] : fields) {
        out << field_comma << Quoted(field) << ": " << amount;
        field_comma = ", ";
      }
      out << "}";
      item_comma = ",";
    }
    out << "\n    }";
    section_comma = ",";
  }
  out << "\n  }\n}\n";
  out.close();
  return out.good();
}

}  // namespace gprof::examples
