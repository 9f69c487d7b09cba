#include "trace/file/file_kind.h"

#include <algorithm>

#include "gprof/trace/file.h"

namespace gprof {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kReads =
    "gprof-cli reads traces of 'gprof-cli profile' (run.trace), SQLite exports of Nsight Systems, JSON from "
    "torch.profiler (Kineto) or Chrome, and the output of ncu --csv --page raw";
// Said by what prints records as they are in the file.
constexpr std::string_view kReadsOwn =
    "dump prints only traces of 'gprof-cli profile'; report and info read other files";

struct Signature {
  std::string_view start;
  ForeignFile file;
};

constexpr Signature kSignatures[] = {
    {"gprof.partial/"sv,
     {"a partial, which has no records",
      "report, view, check, diff, info, stats and ranks read it; for other commands use the trace it was made from"}},
    {"SQLite format 3\0"sv, {"an SQLite database (an Nsight Systems export?)", kReadsOwn}},
    {"\x1F\x8B"sv, {"compressed with gzip", kReadsOwn}},
    {"\x28\xB5\x2F\xFD"sv, {"compressed with zstd", "unpack it first: zstd -d FILE"}},
    {"\xFD\x37\x7A\x58\x5A\0"sv, {"compressed with xz", "unpack it first: xz -d FILE"}},
    {"PK\x03\x04"sv, {"a zip archive", "unpack it first: unzip FILE"}},
    {"\x7F\x45LF"sv, {"a program (ELF)", "record it first: gprof-cli profile -- FILE"}},
    {"#!"sv, {"a script", "record it first: gprof-cli profile -- FILE"}},
};

struct Ending {
  std::string_view end;
  ForeignFile file;
};

constexpr std::string_view kUseNsys = "export it and use the result: nsys export --type sqlite FILE.nsys-rep";
constexpr Ending kEndings[] = {
    {".nsys-rep", {"an Nsight Systems report", kUseNsys}},
    {".qdrep", {"an Nsight Systems report", kUseNsys}},
    {".qdstrm",
     {"an unfinished report of Nsight Systems",
      "convert it to a report (QdstrmImporter), then export that: nsys export --type sqlite FILE.nsys-rep"}},
    {".ncu-rep",
     {"a report of Nsight Compute",
      "convert it where ncu is installed: ncu --csv --page raw --print-units base --import FILE > FILE.csv"}},
};

const Signature* FindSignature(std::string_view bytes) {
  const auto* end = std::end(kSignatures);
  const auto* hit = std::find_if(std::begin(kSignatures), end,
                                 [&](const Signature& s) { return bytes.substr(0, s.start.size()) == s.start; });
  return hit == end ? nullptr : hit;
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool LooksLikeJson(std::string_view bytes) {
  const std::size_t at = bytes.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return at != std::string_view::npos && (bytes[at] == '{' || bytes[at] == '[');
}

bool LooksLikeText(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, 4096);
  return std::all_of(head.begin(), head.end(), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return u >= 0x20 || c == '\n' || c == '\r' || c == '\t';
  });
}

}  // namespace

// Each of them says first what it is.
bool IsDocumentOfOurs(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, 4096);
  return LooksLikeJson(bytes) && head.find("\"schema\"") != std::string_view::npos &&
         head.find("\"gprof.") != std::string_view::npos;
}

bool IsSurelyForeign(std::string_view bytes) { return FindSignature(bytes) != nullptr; }

std::string_view ChunkMagic() { return {reinterpret_cast<const char*>(trace::kChunkMagic), sizeof trace::kChunkMagic}; }

ForeignFile RecogniseForeign(std::string_view bytes, std::string_view path) {
  for (const Ending& ending : kEndings) {
    if (EndsWith(path, ending.end)) return ending.file;
  }
  if (const Signature* signature = FindSignature(bytes)) return signature->file;
  if (IsDocumentOfOurs(bytes)) {
    return {"a gprof-cli document (a run file, a baseline or a report)",
            "use it with gprof-cli check or diff; the traces of a run file are next to it"};
  }
  if (LooksLikeJson(bytes)) return {"JSON (a Kineto or Chrome trace?)", kReadsOwn};
  if (LooksLikeText(bytes)) return {"text", kReads};
  return {"of an unknown kind", kReads};
}

}  // namespace gprof
