#include "targets.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "gprof/error.h"
#include "gprof/trace.h"
#include "gprof/trace/file.h"
#include "trace/text/assemble.h"
#include "trace/text/dump.h"

namespace gprof {
namespace {

// A few bytes may say thousands of records; their text is not worth the time.
constexpr uint64_t kMaxDumpedRecords = 20000;

// Whether packing makes a short chunk smaller may depend on the numbers that its strings get.
void LeaveOutPacking(std::string* line) {
  constexpr std::string_view kPacked = " zstd=1";
  const std::size_t at = line->find(kPacked);
  if (line->rfind("chunk ", 0) == 0 && at != std::string::npos) line->erase(at, kPacked.size());
}

std::string DumpText(std::string_view bytes) {
  std::string text;
  DumpRecords(bytes, {}, [&](std::string_view line) {
    if (line[0] == '#') return;  // damage has no place in what is assembled
    std::string kept(line);
    LeaveOutPacking(&kept);
    text.append(kept).append("\n");
  });
  return text;
}

// The first line that differs is enough to see what is wrong.
void Report(const std::string& a, const std::string& b) {
  const std::size_t at =
      static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  const std::size_t begin = at == 0 ? 0 : a.rfind('\n', at - 1) + 1;
  std::fprintf(stderr, "dump is no fixpoint:\n%s\nand then:\n%s\n", a.substr(begin, a.find('\n', at) - begin).c_str(),
               b.substr(std::min(begin, b.size()), 400).c_str());
}

void ExpectFixpoint(const std::string& dump) {
  if (dump.empty()) return;
  const std::string again = DumpText(AssembleTrace(dump));
  if (again == dump) return;
  Report(dump, again);
  std::abort();
}

// Empty where it is no trace, which is fine.
std::string LoadAndDump(std::string_view bytes) {
  try {
    const Trace trace = LoadTraceFromMemory(bytes, "fuzz");
    return trace.record_count <= kMaxDumpedRecords ? DumpText(bytes) : std::string();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::string WithGoodChecksums(std::string_view bytes) {
  using namespace trace;
  std::string fixed(bytes);
  auto* begin = reinterpret_cast<unsigned char*>(fixed.data());
  const std::string magic(reinterpret_cast<const char*>(kChunkMagic), sizeof kChunkMagic);
  for (std::size_t at = fixed.find(magic); at != std::string::npos; at = fixed.find(magic, at + 1)) {
    if (fixed.size() - at < kChunkHeaderBytes) break;
    unsigned char* p = begin + at + kChunkHeaderBytes - 4;
    file_detail::Put(p, Crc32(begin + at, kChunkHeaderBytes - 4), 4);
    ChunkHeader header;
    if (ReadHeader(begin + at, &header) != HeaderStatus::kGood) continue;
    const std::size_t next = std::min(fixed.find(magic, at + kChunkHeaderBytes), fixed.size());
    header.body_bytes = static_cast<uint32_t>(std::min<std::size_t>(next - at - kChunkHeaderBytes, kMaxBodyBytes));
    header.body_crc = Crc32(begin + at + kChunkHeaderBytes, header.body_bytes);
    WriteHeader(header, begin + at);
  }
  return fixed;
}

void FuzzTrace(std::string_view bytes) {
  const std::string good = WithGoodChecksums(bytes);
  if (good != bytes) LoadAndDump(bytes);  // fewer of the same chunks: assembling these too takes time and tests nothing
  const std::string dump = LoadAndDump(good);
  // A hostile chunk may hold blocks of several kinds. Assembled again each has a chunk of its own, and stays so.
  if (!dump.empty()) ExpectFixpoint(DumpText(AssembleTrace(dump)));
}

void FuzzText(std::string_view text) {
  std::string bytes;
  try {
    bytes = AssembleTrace(text);
  } catch (const Error&) {
    return;
  }
  if (bytes.empty()) return;
  // No catch: what was assembled is a trace.
  const Trace trace = LoadTraceFromMemory(bytes, "fuzz");
  if (trace.record_count <= kMaxDumpedRecords) ExpectFixpoint(DumpText(bytes));
}

}  // namespace gprof
