#include "fleet/partial/partial_file.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/input_file.h"
#include "base/machine/parallel.h"
#include "fleet/partial/keep_results.h"
#include "fleet/rank/rank_summary.h"
#include "gprof/error.h"
#include "gprof/trace/crc32.h"
#include "trace/file/memory_budget.h"

namespace gprof {
namespace {

// "gprof.partial/1\n", the number of entries, and the CRC-32 of both. Then of each entry the sizes of its key, of its
// summary and its results, both compressed, and of these two as they are; the CRC-32 of those sizes, the key, summary
// and results; then all that.
constexpr std::string_view kMagic = "gprof.partial/", kVersion = "1\n";
constexpr size_t kHeadBytes = 24, kEntryHeadBytes = 24;
constexpr uint32_t kMostText = 64u << 20;
constexpr size_t kReadAtATime = 4u << 20;
constexpr int kLevel = 6;  // of zstd

uint32_t Crc(std::string_view bytes, uint32_t seed = 0) {
  return trace::Crc32(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), seed);
}

void AppendNumber(uint32_t number, std::string* out) {
  for (int i = 0; i < 4; ++i) out->push_back(static_cast<char>(number >> (8 * i) & 0xFF));
}

uint32_t NumberAt(std::string_view bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) number |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return number;
}

struct Part {
  std::string_view packed;
  uint32_t size = 0;  // as text
};

struct Entry {
  std::string key;
  std::string_view all;
  Part summary, results;
  const NamedBytes* from = nullptr;
};

void LetGo(const Entry& entry) {
  if (entry.from->mapped != nullptr) entry.from->mapped->DropPages();
}

[[noreturn]] void Damaged(const std::string& name, const char* what) {
  throw Error(ExitCode::kUnreadable, fmt::format("'{}' is damaged: {}", name, what),
              "make it again with gprof-cli partial");
}

Entry EntryAt(const NamedBytes& file, size_t at) {
  const std::string& name = file.name;
  const std::string_view rest = file.bytes.substr(at);
  if (rest.size() < kEntryHeadBytes) Damaged(name, "it ends within an entry");
  const uint64_t key = NumberAt(rest, 0), summary = NumberAt(rest, 4), results = NumberAt(rest, 8);
  const uint64_t size = key + summary + results;
  if (rest.size() - kEntryHeadBytes < size) Damaged(name, "it ends within an entry");
  Entry entry;
  entry.from = &file;
  entry.all = rest.substr(0, kEntryHeadBytes + size);
  const std::string_view body = entry.all.substr(kEntryHeadBytes);
  entry.key = body.substr(0, key);
  entry.summary = {body.substr(key, summary), NumberAt(rest, 12)};
  entry.results = {body.substr(key + summary), NumberAt(rest, 16)};
  if (Crc(body, Crc(rest.substr(0, 20))) != NumberAt(rest, 20)) Damaged(name, "the checksum of an entry is wrong");
  return entry;
}

void CheckHead(std::string_view bytes, const std::string& name) {
  if (!IsPartial(bytes)) {
    throw Error(ExitCode::kUnreadable, fmt::format("'{}' was not written by gprof-cli partial", name),
                "make a partial of each trace: gprof-cli partial TRACE -o FILE.gpart");
  }
  if (bytes.substr(kMagic.size(), kVersion.size()) != kVersion) {
    throw Error(ExitCode::kUnreadable, fmt::format("'{}' has a version that this gprof-cli does not know", name),
                "read it with the version that wrote it, or a newer one");
  }
  if (bytes.size() < kHeadBytes || Crc(bytes.substr(0, 20)) != NumberAt(bytes, 20)) {
    Damaged(name, "the checksum of its header is wrong");
  }
}

// `file` must stay where it is.
std::vector<Entry> EntriesOf(const NamedBytes& file) {
  CheckHead(file.bytes, file.name);
  std::vector<Entry> entries;
  size_t at = kHeadBytes, read = 0;
  for (uint32_t left = NumberAt(file.bytes, 16); left > 0; --left) {
    entries.push_back(EntryAt(file, at));
    at += entries.back().all.size();
    read += entries.back().all.size();
    if (read < kReadAtATime && left > 1) continue;
    LetGo(entries.back());
    read = 0;
  }
  if (at != file.bytes.size()) Damaged(file.name, "there are bytes after the last entry");
  return entries;
}

std::string Head(size_t entries) {
  std::string head = std::string(kMagic) + std::string(kVersion);
  AppendNumber(static_cast<uint32_t>(entries), &head);
  AppendNumber(Crc(head), &head);
  return head;
}

std::string Packed(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), kLevel);
  if (ZSTD_isError(size) != 0) throw Error(ExitCode::kBug, "zstd does not compress");
  out.resize(size);
  return out;
}

std::string Unpacked(const Part& part, const std::string& name) {
  if (part.size > kMostText) Damaged(name, "an entry is too large");
  constexpr uint64_t kTimesAsJson = 8;
  MemoryBudget(name, part.packed.size()).Expect(kTimesAsJson * part.size);
  std::string out(part.size, '\0');
  if (ZSTD_decompress(out.data(), out.size(), part.packed.data(), part.packed.size()) != part.size) {
    Damaged(name, "an entry cannot be decompressed");
  }
  return out;
}

std::string EncodeEntry(RankSummary rank) {
  BoundSummary(&rank);
  const std::string key = KeyOf(rank), text = SummaryText(rank);
  const std::string summary = Packed(text), results = rank.results.empty() ? std::string() : Packed(rank.results);
  std::string bytes;
  for (const size_t size : {key.size(), summary.size(), results.size(), text.size(), rank.results.size()}) {
    AppendNumber(static_cast<uint32_t>(size), &bytes);
  }
  AppendNumber(Crc(results, Crc(summary, Crc(key, Crc(bytes)))), &bytes);
  return bytes + key + summary + results;
}

// Each once, in the order of their bytes: entries with the same key.
std::vector<Entry> EachOnce(std::vector<Entry> alike) {
  if (alike.size() == 1) return alike;
  std::ranges::sort(alike, {}, &Entry::all);
  for (const Entry& entry : alike) LetGo(entry);
  const auto same = [](const Entry& a, const Entry& b) { return a.all == b.all; };
  alike.erase(std::unique(alike.begin(), alike.end(), same), alike.end());
  for (const Entry& entry : alike) LetGo(entry);
  return alike;
}

// Sorted, each once.
std::vector<Entry> Sorted(std::vector<Entry> entries) {
  std::ranges::stable_sort(entries, {}, &Entry::key);
  std::vector<Entry> sorted;
  for (auto first = entries.begin(); first != entries.end();) {
    const auto last = std::find_if(first, entries.end(), [&](const Entry& entry) { return entry.key != first->key; });
    const std::vector<Entry> once = EachOnce({first, last});
    sorted.insert(sorted.end(), once.begin(), once.end());
    first = last;
  }
  return sorted;
}

void WriteEntries(std::vector<Entry> entries, const std::function<void(std::string_view)>& write) {
  const std::vector<Entry> sorted = Sorted(std::move(entries));
  write(Head(sorted.size()));
  for (const Entry& entry : sorted) {
    write(entry.all);
    LetGo(entry);
  }
}

std::vector<Entry> EntriesOfAll(const std::vector<NamedBytes>& files) {
  std::vector<Entry> entries;
  for (const NamedBytes& file : files) {
    std::vector<Entry> more = EntriesOf(file);
    std::move(more.begin(), more.end(), std::back_inserter(entries));
  }
  return entries;
}

}  // namespace

PartialFiles::PartialFiles(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    files_.push_back(std::make_unique<MappedFile>(path));
    bytes_.push_back({path, files_.back()->bytes(), files_.back().get()});
  }
}

bool IsPartial(std::string_view bytes) { return bytes.starts_with(kMagic); }

bool IsPartialFile(const std::string& path) {
  constexpr std::size_t kLooked = 16;
  const std::string head = StartOfInputFile(path, kLooked);
  return head.size() == kLooked && IsPartial(head);
}

std::string WritePartial(const std::vector<RankSummary>& ranks) {
  std::vector<std::string> encoded;
  for (const RankSummary& rank : ranks) encoded.push_back(EncodeEntry(rank));
  std::vector<NamedBytes> files;
  for (const std::string& bytes : encoded) files.push_back({"new", bytes});
  std::vector<Entry> entries;
  for (const NamedBytes& file : files) entries.push_back(EntryAt(file, 0));
  std::string out;
  WriteEntries(std::move(entries), [&out](std::string_view bytes) { out += bytes; });
  return out;
}

void MergePartials(const std::vector<NamedBytes>& files, const std::function<void(std::string_view)>& write) {
  WriteEntries(EntriesOfAll(files), write);
}

std::vector<RankSummary> ReadPartial(std::string_view bytes, const std::string& name) {
  const NamedBytes file{name, bytes};
  const std::vector<Entry> entries = EntriesOf(file);
  std::vector<RankSummary> ranks(entries.size());
  ForEachSideBySide(entries.size(), UsableCores(), [&](size_t i) {
    ranks[i] = ParseSummary(Unpacked(entries[i].summary, name), name);
    if (KeyOf(ranks[i]) != entries[i].key) Damaged(name, "the key of an entry is not that of its contents");
  });
  return ranks;
}

void ReadResults(const std::vector<NamedBytes>& files, const std::function<void(const RankSummary&, Results)>& take) {
  for (const Entry& entry : Sorted(EntriesOfAll(files))) {
    const std::string& name = entry.from->name;
    if (entry.results.size == 0) continue;
    take(ParseSummary(Unpacked(entry.summary, name), name), ParseKept(Unpacked(entry.results, name), name));
    LetGo(entry);
  }
}

}  // namespace gprof
