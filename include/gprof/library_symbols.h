// Functions of a library that is opened while we run, so that nothing is linked and its absence is a message. A table
// of them is a struct that begins with LibrarySymbols, and whose members look themselves up:
//
//   struct Driver {
//     LibrarySymbols in;
//     int (*cuInit)(unsigned) = in("cuInit");
//   };
//   const Driver driver{LibrarySymbols(dlopen("libcuda.so.1", RTLD_NOW))};
//
// Without a library all of them are null.
#pragma once

#include <dlfcn.h>

namespace gprof {

class LibrarySymbols {
 public:
  // Becomes a pointer to what the member is.
  struct Address {
    void* at = nullptr;
    template <class T>
    constexpr operator T*() const {
      return at == nullptr ? nullptr : reinterpret_cast<T*>(at);
    }
  };

  constexpr LibrarySymbols() = default;
  explicit LibrarySymbols(void* library) : library_(library) {}

  constexpr Address operator()(const char* name) { return OneOf(name, name); }
  // The first that there is: a function that has got a second version.
  constexpr Address OneOf(const char* name, const char* other) {
    Address found = Optional(name);
    if (found.at == nullptr && name != other) found = Optional(other);
    if (library_ != nullptr && found.at == nullptr && missing_ == nullptr) missing_ = name;
    return found;
  }
  // That may be missing.
  constexpr Address Optional(const char* name) const { return {library_ == nullptr ? nullptr : dlsym(library_, name)}; }

  constexpr void* library() const { return library_; }
  // Where all were found that have to be there: null.
  constexpr const char* missing() const { return missing_; }

 private:
  void* library_ = nullptr;
  const char* missing_ = nullptr;
};

}  // namespace gprof

// A member for a function that a header declares.
#define GPROF_SYMBOL(name) decltype(&::name) name = in(#name)
#define GPROF_OPTIONAL_SYMBOL(name) decltype(&::name) name = in.Optional(#name)
