#include "import/kineto/kineto_operators.h"

#include "base/text.h"

namespace gprof {
namespace {

// A list on one line and without quotes, which no size, type or number needs.
std::string PlainList(std::string_view json) {
  std::string text;
  for (const char c : json) {
    if (c == '"' || c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    text += c;
    if (c == ',') text += ' ';
  }
  return text;
}

}  // namespace

std::string OperatorFacts(std::string_view name, const JsonPiece& args) {
  std::string_view sizes, types, inputs;
  JsonScanner(args.text).ReadObject([&](std::string_view key, const JsonPiece& value) {
    if (value.kind != JsonPiece::Kind::kArray) return;
    if (key == "Input Dims") sizes = value.text;
    if (key == "Input type") types = value.text;
    if (key == "Concrete Inputs") inputs = value.text;
  });
  if (sizes.size() <= 2) return {};
  std::string facts = ", sizes = " + PlainList(sizes);
  if (!types.empty()) facts += ", types = " + PlainList(types);
  if (!inputs.empty() && Contains(name, "convolution")) facts += ", inputs = " + PlainList(inputs);
  return facts;
}

}  // namespace gprof
