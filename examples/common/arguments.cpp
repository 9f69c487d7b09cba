#include "common/arguments.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace gprof::examples {

Arguments::Arguments(int argc, char** argv, std::string usage)
    : usage_(std::move(usage)), words_(argv + 1, argv + argc) {
  if (Find("-h") == words_.end() && Find("--help") == words_.end()) return;
  std::printf("usage: %s\n", usage_.c_str());
  std::exit(0);
}

std::vector<std::string>::iterator Arguments::Find(std::string_view name) {
  return std::find(words_.begin(), words_.end(), name);
}

void Arguments::Fail(const std::string& why) const {
  std::fprintf(stderr, "%s\nusage: %s\n", why.c_str(), usage_.c_str());
  std::exit(2);
}

std::string Arguments::Text(std::string_view name, std::string fallback) {
  const auto at = Find(name);
  if (at == words_.end()) return fallback;
  if (at + 1 == words_.end()) Fail(*at + " needs a value");
  std::string value = *(at + 1);
  words_.erase(at, at + 2);
  return value;
}

std::size_t Arguments::Number(std::string_view name, std::size_t fallback, std::size_t at_least) {
  const std::string text = Text(name, std::to_string(fallback));
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < at_least) {
    Fail(std::string(name) + " needs a number of at least " + std::to_string(at_least) + ", not '" + text + "'");
  }
  return number;
}

bool Arguments::Switch(std::string_view name) {
  const auto at = Find(name);
  if (at == words_.end()) return false;
  words_.erase(at);
  return true;
}

void Arguments::Finish() const {
  if (!words_.empty()) Fail("unknown argument '" + words_.front() + "'");
}

}  // namespace gprof::examples
