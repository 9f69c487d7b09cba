// glibc before 2.34 leaves it to the program to run its own constructors, and start files of newer ones do not do so
// any more.
#include "glibc/forward.h"

asm(".symver old_start_main,__libc_start_main@" OLD_VERSION);

extern "C" {

using Main = int (*)(int, char**, char**);
using Constructor = void (*)(int, char**, char**);

int old_start_main(Main main, int argc, char** argv, Constructor init, void (*fini)(), void (*end)(), void* stack_end)
    __attribute__((visibility("default")));
extern Constructor __init_array_start[], __init_array_end[];
void _init();

static void RunConstructors(int argc, char** argv, char** environment) {
  _init();
  for (Constructor* next = __init_array_start; next != __init_array_end; ++next) (*next)(argc, argv, environment);
}

// Newer ones, told of a function, run that and leave the array alone; all run the destructors by themselves.
int __libc_start_main(Main main, int argc, char** argv, Constructor, void (*fini)(), void (*end)(), void* stack_end) {
  return old_start_main(main, argc, argv, RunConstructors, fini, end, stack_end);
}
}
