// FORWARD(name): a function that jumps to the oldest version that glibc has of it, FORWARD_TO(name, older) to that of
// another. A jump, not a call: dlopen() and dlsym() look at who called them.
#pragma once

#if defined(__x86_64__)
#define OLD_VERSION "GLIBC_2.2.5"
#define JUMP(name) "jmp *" name "@GOTPCREL(%rip)\n"
#elif defined(__aarch64__)
#define OLD_VERSION "GLIBC_2.17"
#define JUMP(name) "adrp x16, :got:" name "\nldr x16, [x16, :got_lo12:" name "]\nbr x16\n"
#endif

#define FORWARD_TO(name, older)                                                \
  asm(".pushsection .text." #name                                              \
      ",\"ax\",%progbits\n"                                                    \
      ".symver old_" #name "," #older "@" OLD_VERSION                          \
      "\n"                                                                     \
      ".globl " #name "\n.hidden " #name "\n.type " #name ",%function\n" #name \
      ":\n" JUMP("old_" #name) ".size " #name ",.-" #name "\n.popsection")
#define FORWARD(name) FORWARD_TO(name, name)
