// Where the memory of this program comes from: with `--low-memory` from a file, whatever asks for it. The
// library that other programs link must not decide that for them, so this is a part of gprof-cli alone.
#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/machine/spill.h"

void* operator new(std::size_t bytes) {
  if (gprof::IsSpilling()) {
    if (void* const block = gprof::TakeSpilled(bytes)) return block;
  }
  for (;;) {
    if (void* const block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void operator delete(void* block) noexcept {
  if (!gprof::GiveBackSpilled(block)) std::free(block);
}

void operator delete(void* block, std::size_t) noexcept { operator delete(block); }
