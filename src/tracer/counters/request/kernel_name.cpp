#include "tracer/counters/request/kernel_name.h"

#include <cstdint>
#include <cstring>

namespace gprof::tracer {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

// A name with its length before it; `at` goes behind it.
NamePart TakeName(const char** at) {
  std::size_t size = 0;
  for (; IsDigit(**at); ++*at) size = size * 10 + static_cast<std::size_t>(**at - '0');
  NamePart name{*at, strnlen(*at, size)};
  *at += name.size;
  return name;
}

// Symbols are the program's: one that opens scopes without end must not take the stack of its thread.
constexpr uint32_t kDeepest = 256;

// What numbers end with: the 0_ of T0_.
void SkipNumber(const char** at) {
  while (IsDigit(**at) || IsUpper(**at)) ++*at;
  if (**at == '_') ++*at;
}

void SkipToEnd(const char** at, uint32_t depth);

void SkipUnnamed(const char** at, uint32_t depth) {
  const char kind = **at;
  if (kind == 0) return;
  ++*at;
  if (kind == 'l') SkipToEnd(at, depth);
  SkipNumber(at);
}

// A value: its type, then its digits, then E.
void SkipLiteral(const char** at, uint32_t depth) {
  if (**at == '_') return SkipToEnd(at, depth);
  if (IsDigit(**at)) {
    TakeName(at);
  } else if (**at == 'N') {
    ++*at;
    SkipToEnd(at, depth);
  }
  while (**at != 0 && **at != 'E') ++*at;
  if (**at == 'E') ++*at;
}

// One part of what stands between an opening letter and its E.
void SkipPart(const char** at, uint32_t depth) {
  if (IsDigit(**at)) {
    TakeName(at);
    return;
  }
  const char letter = *(*at)++;
  switch (letter) {
    case 'I':
    case 'N':
    case 'X':
    case 'J':
    case 'F':
      return SkipToEnd(at, depth + 1);
    case 'L':
      return SkipLiteral(at, depth + 1);
    case 'U':
      return SkipUnnamed(at, depth + 1);
    case 'S':
      if (**at >= 'a' && **at <= 'z') {
        ++*at;
        return;
      }
      return SkipNumber(at);
    case 'T':
    case 'A':
      while (IsDigit(**at)) ++*at;
      if (**at == '_') ++*at;
      return;
    case 'D':
      if (**at == 'F') {
        ++*at;
        while (IsDigit(**at)) ++*at;
      }
      if (**at != 0) ++*at;
      return;
    default:
      return;
  }
}

void SkipToEnd(const char** at, uint32_t depth) {
  if (depth > kDeepest) *at += std::strlen(*at);
  while (**at != 0 && **at != 'E') SkipPart(at, depth);
  if (**at == 'E') ++*at;
}

// The last name of N…E that is none of a template's arguments.
NamePart LastNameOf(const char* at) {
  NamePart last;
  while (*at != 0 && *at != 'E') {
    if (*at == 'L') ++at;  // of this file alone
    if (IsDigit(*at)) {
      last = TakeName(&at);
    } else {
      SkipPart(&at, 0);
    }
  }
  return last;
}

}  // namespace

NamePart FunctionNameOf(const char* mangled) {
  const NamePart whole{mangled, std::strlen(mangled)};
  if (std::strncmp(mangled, "_Z", 2) != 0) return whole;
  const char* at = mangled + 2;
  NamePart name;
  if (*at == 'N') {
    name = LastNameOf(at + 1);
  } else {
    if (*at == 'L') ++at;
    if (IsDigit(*at)) name = TakeName(&at);
  }
  return name.size == 0 ? whole : name;
}

}  // namespace gprof::tracer
