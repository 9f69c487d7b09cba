#include "import/kineto/kineto_operators.h"

#include "base/text.h"
#include "import/shared/decimal.h"

namespace gprof {
namespace {

// A list on one line and without quotes, which no size, type ("long int") or number needs.
std::string PlainList(std::string_view json) {
  std::string text;
  bool is_quoted = false;
  for (const char c : json) {
    if (c == '"') is_quoted = !is_quoted;
    const bool is_space = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (c == '"' || (is_space && (!is_quoted || text.ends_with(' ')))) continue;
    text += c;
    if (c == ',') text += ' ';
  }
  return text;
}

}  // namespace

OperatorArgs ReadOperatorArgs(std::string_view name, const JsonPiece& args) {
  OperatorArgs read;
  std::string_view sizes, types, inputs;
  JsonScanner(args.text).ReadObject([&](std::string_view key, const JsonPiece& value) {
    if (key == "Sequence number" && value.IsNumber()) read.sequence = ReadBits(value.text);
    if (value.kind != JsonPiece::Kind::kArray) return;
    if (key == "Input Dims") sizes = value.text;
    if (key == "Input type") types = value.text;
    if (key == "Concrete Inputs") inputs = value.text;
  });
  if (sizes.size() <= 2) return read;
  read.text = ", sizes = " + PlainList(sizes);
  if (!types.empty()) read.text += ", types = " + PlainList(types);
  if (!inputs.empty() && Contains(name, "convolution")) read.text += ", inputs = " + PlainList(inputs);
  return read;
}

AllocatorArgs ReadAllocatorArgs(const JsonPiece& args) {
  constexpr int64_t kCpu = 0, kMostDevices = 1024;
  AllocatorArgs read;
  int64_t type = kCpu, id = 0;
  if (args.kind != JsonPiece::Kind::kObject) return read;
  JsonScanner(args.text).ReadObject([&](std::string_view key, const JsonPiece& value) {
    if (!value.IsNumber()) return;
    if (key == "Bytes") read.size_bytes = ReadDecimal(value.text);
    if (key == "Addr") read.address = ReadBits(value.text).value_or(0);
    if (key == "Total Allocated") read.allocated_bytes = ReadDecimal(value.text);
    if (key == "Total Reserved") read.reserved_bytes = ReadDecimal(value.text);
    if (key == "Device Type") type = ReadDecimal(value.text).value_or(kCpu);
    if (key == "Device Id") id = ReadDecimal(value.text).value_or(0);
  });
  if (type != kCpu && id >= 0 && id < kMostDevices) read.device = static_cast<int32_t>(id);
  return read;
}

}  // namespace gprof
