// Included where the tests of debug lines look for another file. The line of its function is known to them.
static __attribute__((noinline)) int FromTheHeader(int value) {  // line 2
  __asm__ volatile("" : "+r"(value));
  return value + 1;
}
