#include "base/demangle.h"

#include <algorithm>
#include <charconv>
#include <csetjmp>
#include <cstddef>
#include <iterator>
#include <memory>
#include <system_error>

// Part of the ABI of libstdc++ (CXXABI_1.3). Unlike __cxa_demangle it allocates nothing and hands out the text piece by
// piece, so growth can be stopped: 300 bytes of mangled name can stand for 2^30 characters.
extern "C" int __gcclibcxx_demangle_callback(const char* mangled, void (*callback)(const char*, std::size_t, void*),
                                             void* opaque);

namespace gprof {
namespace {

constexpr std::size_t kMaxMangledBytes = 16 << 10;
constexpr std::size_t kMaxDemangledBytes = 64 << 10;

// Names of programs grow about ten times.
std::size_t MostDemangledBytes(std::size_t mangled_bytes) {
  constexpr std::size_t kAlways = 4 << 10, kGrowth = 32;
  return std::min(kMaxDemangledBytes, kAlways + kGrowth * mangled_bytes);
}

struct Sink {
  char* text;
  std::size_t size, room;
  std::jmp_buf too_long;
};

extern "C" void Collect(const char* piece, std::size_t size, void* opaque) {
  Sink& sink = *static_cast<Sink*>(opaque);
  // Only C frames of the demangler, which owns nothing, lie between here and setjmp.
  if (size > sink.room - sink.size) std::longjmp(sink.too_long, 1);
  for (std::size_t i = 0; i < size; ++i) sink.text[sink.size + i] = piece[i];
  sink.size += size;
}

// No object with a destructor may live in the frame that calls setjmp.
bool RunDemangler(const char* mangled, Sink* sink) {
  if (setjmp(sink->too_long) != 0) return false;
  return __gcclibcxx_demangle_callback(mangled, Collect, sink) == 0;
}

bool IsMangled(std::string_view name) { return name.starts_with("_Z"); }

// "cutlass::Kernel<…>" of "_ZN7cutlass6KernelI…", empty for other forms. The demangler takes no names of more than
// 1,024 bytes, which kernels of templates have.
std::string ScopeOf(std::string_view mangled) {
  std::string scope;
  if (!mangled.starts_with("_ZN")) return scope;
  mangled.remove_prefix(3);
  std::size_t size = 0;
  for (;;) {
    const auto [end, error] = std::from_chars(mangled.data(), mangled.data() + mangled.size(), size);
    if (error != std::errc()) break;
    mangled.remove_prefix(static_cast<std::size_t>(end - mangled.data()));
    if (size == 0 || size >= mangled.size()) return "";
    scope += (scope.empty() ? "" : "::") + std::string(mangled.substr(0, size));
    mangled.remove_prefix(size);
  }
  return mangled.starts_with('I') && !scope.empty() ? scope + "<…>" : "";
}

// Index behind the bracket that closes the one at `open`; the end of the text where none does.
std::size_t SkipBrackets(std::string_view text, std::size_t open) {
  std::size_t angles = 0, rounds = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '{' || c == '[') ++rounds;
    if (c == ')' || c == '}' || c == ']') rounds = rounds > 0 ? rounds - 1 : 0;
    // Within parentheses < and > are operators: the demangler puts such arguments into them.
    if (c == '<' && rounds == 0) ++angles;
    if (c == '>' && rounds == 0 && angles > 0) --angles;
    if (angles == 0 && rounds == 0) return i + 1;
  }
  return text.size();
}

// Length of the symbol that follows "operator", 0 when what follows is a type or part of a longer name.
std::size_t OperatorSymbolLength(std::string_view rest) {
  for (const std::string_view symbol :
       {"()", "[]", "->*", "->", "<<=", ">>=", "<=>", "<<", ">>", "<=", ">=", "<", ">"}) {
    if (rest.starts_with(symbol)) return symbol.size();
  }
  return 0;
}

// After a parameter list: where the name goes on ("f(int) const::{lambda()#1}"), or npos.
std::size_t FindContinuation(std::string_view text, std::size_t at) {
  std::string_view rest = text.substr(at);
  for (const std::string_view qualifier : {" const", " volatile", " &&", " &"}) {
    if (rest.starts_with(qualifier)) rest.remove_prefix(qualifier.size());
  }
  return rest.starts_with("::") ? text.size() - rest.size() : std::string_view::npos;
}

class Shortener {
 public:
  explicit Shortener(std::string_view text) : text_(text) {}

  std::string Run() {
    while (at_ < text_.size() && Step()) {
    }
    return out_;
  }

 private:
  bool Step() {
    const std::string_view rest = text_.substr(at_);
    if (TakeWhole(rest, "(anonymous namespace)")) return true;
    if (rest.starts_with("operator") && TakeOperator(rest)) return true;
    if (rest.starts_with('{')) return TakeLambda();
    if (rest.starts_with('<') || rest.starts_with("[abi:")) {
      at_ = SkipBrackets(text_, at_);
      return true;
    }
    if (rest.starts_with('(')) {
      at_ = FindContinuation(text_, SkipBrackets(text_, at_));
      return at_ != std::string_view::npos;
    }
    // What stood before a space was a return type, but for "operator int".
    if (rest.starts_with(' ') && !out_.ends_with("operator")) {
      out_.clear();
    } else {
      out_ += rest.front();
    }
    ++at_;
    return true;
  }

  bool TakeWhole(std::string_view rest, std::string_view word) {
    if (!rest.starts_with(word)) return false;
    out_ += word;
    at_ += word.size();
    return true;
  }

  bool TakeOperator(std::string_view rest) {
    const std::size_t symbol = OperatorSymbolLength(rest.substr(8));
    const bool starts_a_name = out_.empty() || out_.ends_with(':');
    return symbol != 0 && starts_a_name && TakeWhole(rest, rest.substr(0, 8 + symbol));
  }

  // {lambda(int, float)#2} → {lambda#2}
  bool TakeLambda() {
    const std::size_t end = SkipBrackets(text_, at_);
    const std::string_view lambda = text_.substr(at_, end - at_);
    const std::size_t open = lambda.find('('), close = lambda.rfind(')');
    if (open != std::string_view::npos && close != std::string_view::npos && close > open) {
      out_ += lambda.substr(0, open);
      out_ += lambda.substr(close + 1);
    } else {
      out_ += lambda;
    }
    at_ = end;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

// The first template argument where the name alone says nothing: CUTLASS starts every kernel through one of a few
// entries.
std::string_view ArgumentOfEntry(std::string_view full, std::string_view shortened) {
  constexpr std::string_view kEntries[] = {"cutlass::Kernel", "cutlass::Kernel2", "cutlass::device_kernel"};
  if (std::find(std::begin(kEntries), std::end(kEntries), shortened) == std::end(kEntries)) return {};
  const std::size_t open = full.find(std::string(shortened) + "<");
  if (open == std::string_view::npos) return {};
  const std::size_t first = open + shortened.size() + 1;
  const std::size_t close = SkipBrackets(full, first - 1) - 1;
  std::size_t end = first;
  while (end < close && full[end] != ',')
    end = full[end] == '<' || full[end] == '(' ? SkipBrackets(full, end) : end + 1;
  return full.substr(first, std::min(end, close) - first);
}

}  // namespace

std::string Demangle(std::string_view name) {
  if (!IsMangled(name) || name.size() > kMaxMangledBytes) return std::string(name);
  const std::string mangled(name);
  // A byte 0 would end the name early; what follows it must not be dropped silently.
  if (mangled.find('\0') != std::string::npos) return mangled;
  const std::size_t room = MostDemangledBytes(name.size());
  const auto text = std::make_unique_for_overwrite<char[]>(room);
  Sink sink{text.get(), 0, room, {}};
  if (!RunDemangler(mangled.c_str(), &sink)) return mangled;
  return {text.get(), sink.size};
}

// "<module>", "train.<locals>.step", "Net.<lambda>": no arguments of a template, which stand behind a name.
bool IsOfPython(std::string_view name) { return name.starts_with('<') || name.find(".<") != std::string_view::npos; }

std::string ShortName(std::string_view name) {
  if (IsOfPython(name)) return std::string(name);
  const std::string full = Demangle(name);
  if (const std::string scope = IsMangled(full) ? ScopeOf(full) : ""; !scope.empty()) return scope;
  if (full.find_first_of("(<[") == std::string::npos) return full;
  std::string shortened = Shortener(full).Run();
  if (shortened.empty()) return full;
  if (const std::string_view argument = ArgumentOfEntry(full, shortened); !argument.empty()) {
    shortened += "<" + Shortener(argument).Run() + ">";
  }
  return shortened;
}

}  // namespace gprof
