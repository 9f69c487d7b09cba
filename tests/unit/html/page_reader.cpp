#include "page_reader.h"

#include <stdexcept>

namespace gprof::test {
namespace {

std::vector<uint64_t> ReadVarints(const std::string& bytes) {
  std::vector<uint64_t> values;
  uint64_t value = 0;
  unsigned shift = 0;
  for (const char c : bytes) {
    value |= (static_cast<uint64_t>(c) & 0x7F) << shift;
    shift += 7;
    if ((static_cast<unsigned char>(c) & 0x80) != 0) continue;
    values.push_back(value);
    value = shift = 0;
  }
  if (shift != 0) throw std::runtime_error("a number is cut");
  return values;
}

std::vector<int64_t> Decode(const std::string& coding, const std::string& bytes) {
  std::vector<int64_t> values;
  if (coding == "byte") {
    for (const char c : bytes) values.push_back(static_cast<unsigned char>(c));
    return values;
  }
  uint64_t sum = 0;
  for (const uint64_t value : ReadVarints(bytes)) {
    if (coding == "varint") {
      values.push_back(static_cast<int64_t>(value));
    } else if (coding == "delta") {
      sum += value >> 1 ^ (~(value & 1) + 1);
      values.push_back(static_cast<int64_t>(sum));
    } else {
      throw std::runtime_error("no such coding: " + coding);
    }
  }
  return values;
}

}  // namespace

Columns ReadColumns(const nlohmann::ordered_json& holder, const std::string& blob,
                    const std::vector<std::string>& names) {
  Columns columns;
  const auto count = holder.at("count").get<std::size_t>();
  for (const auto& column : holder.at("columns")) {
    const auto offset = column.at("offset").get<std::size_t>(), bytes = column.at("bytes").get<std::size_t>();
    if (offset + bytes > blob.size()) throw std::runtime_error("a column ends behind the blob");
    std::vector<int64_t> values = Decode(column.at("coding").get<std::string>(), blob.substr(offset, bytes));
    if (values.size() != count) throw std::runtime_error("a column is not as long as its lane");
    columns[column.at("name").get<std::string>()] = std::move(values);
  }
  for (const std::string& name : names) columns[name].resize(count);
  return columns;
}

}  // namespace gprof::test
