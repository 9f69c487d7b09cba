// Compiled once for each version of DWARF; tests know the lines of its functions.
#include "lines_library.h"

__attribute__((noinline)) int KnownLine(int value) {  // line 4
  __asm__ volatile("" : "+r"(value));
  return FromTheHeader(value);
}

__attribute__((noinline)) int FarBelow(int value) {
#line 70000
  __asm__ volatile("nop" : "+r"(value));
  return KnownLine(value) + 2;
}
