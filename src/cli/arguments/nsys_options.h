// The options of `nsys profile`, and what becomes of each here. Help, docs/coming-from/nsys.md and the test derive from
// these tables.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gprof::cli {

enum class NsysMeaning : uint8_t {
  kOurs,         // an option of ours with the same name; the sentence says in what it differs
  kInert,        // there is nothing to do for it, whatever its value
  kUnavailable,  // a warning says so, and what else was asked for is recorded
  kRefused,      // the run would not be the one that was asked for: the sentence says what to do instead
};

struct NsysOption {
  std::string_view names;   // "-s,--sample"
  std::string_view values;  // as help shows them; "true|false" makes a flag
  NsysMeaning meaning;
  std::string_view silent;  // values, separated by commas, that ask for nothing which is not there anyway
  std::string_view sentence;

  std::string_view LongName() const { return names.substr(names.rfind("--")); }
  bool IsFlag() const { return values == "true|false"; }
  bool IsSilent(std::string_view value) const;
};

std::span<const NsysOption> NsysOptions();

// A value of `-t`.
enum class NsysDomain : uint8_t {
  kCuda,
  kNvtx,
  kOsrt,
  kMpi,
  kGemm,
  kNccl,
  kUcx,
  kCuSparse,
  kCuFft,
  kOpenMp,
  kOpenAcc,
  kNone,
  kUnavailable
};

struct NsysTrace {
  std::string_view name;
  NsysDomain domain;
  std::string_view sentence;  // warned with; empty: silent
  // Set for the program, unless they are set: with them, a library annotates its calls by NVTX.
  std::string_view variables = "";
};

std::span<const NsysTrace> NsysTraces();
const NsysTrace* FindNsysTrace(std::string_view name);

// "accepted", "ignored", "warning", "refused": for tables that people read.
std::string_view NameOf(NsysMeaning meaning);

// Both tables as Markdown, for docs/coming-from/nsys.md.
std::string NsysOptionsMarkdown();

}  // namespace gprof::cli
