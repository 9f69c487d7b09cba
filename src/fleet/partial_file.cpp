#include "fleet/partial_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <tuple>
#include <utility>

#include "fleet/summary_json.h"
#include "gprof/error.h"
#include "gprof/trace/crc32.h"

namespace gprof {
namespace {

// "gprof.partial/1\n", the number of entries, and the CRC-32 of both. Then of each entry the sizes of its key, of its
// deflated bytes and of these once they are inflated, the CRC-32 of those sizes, the key and the bytes; then all that.
constexpr std::string_view kMagic = "gprof.partial/", kVersion = "1\n";
constexpr size_t kHeadBytes = 24, kEntryHeadBytes = 16;
constexpr uint32_t kMostInflated = 64u << 20;
constexpr int kDeflateLevel = 6;

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

struct Entry {
  std::string_view key, deflated, all;
  uint32_t inflated_size = 0;
  friend bool operator<(const Entry& a, const Entry& b) { return std::tie(a.key, a.all) < std::tie(b.key, b.all); }
  friend bool operator==(const Entry& a, const Entry& b) { return a.all == b.all; }
};

[[noreturn]] void Damaged(const std::string& name, const char* what) {
  throw Error(ExitCode::kUnreadable, fmt::format("'{}' is damaged: {}", name, what),
              "make it again with gprof-cli partial");
}

Entry EntryAt(std::string_view bytes, size_t at, const std::string& name) {
  const std::string_view rest = bytes.substr(at);
  if (rest.size() < kEntryHeadBytes) Damaged(name, "it ends within an entry");
  const uint64_t key = NumberAt(rest, 0), deflated = NumberAt(rest, 4);
  if (rest.size() - kEntryHeadBytes < key + deflated) Damaged(name, "it ends within an entry");
  Entry entry{rest.substr(kEntryHeadBytes, key), rest.substr(kEntryHeadBytes + key, deflated),
              rest.substr(0, kEntryHeadBytes + key + deflated), NumberAt(rest, 8)};
  if (Crc(entry.all.substr(kEntryHeadBytes), Crc(rest.substr(0, 12))) != NumberAt(rest, 12)) {
    Damaged(name, "the checksum of an entry is wrong");
  }
  return entry;
}

std::vector<Entry> EntriesOf(std::string_view bytes, const std::string& name) {
  if (!IsPartial(bytes)) {
    throw Error(ExitCode::kUnreadable, fmt::format("'{}' was not written by gprof-cli partial", name),
                "make a partial of each trace: gprof-cli partial TRACE -o FILE.gpart");
  }
  if (bytes.substr(kMagic.size(), kVersion.size()) != kVersion) {
    throw Error(ExitCode::kUnreadable, fmt::format("'{}' has a version that this gprof-cli does not know", name),
                "read it with the version that wrote it, or a newer one");
  }
  if (bytes.size() < kHeadBytes || Crc(bytes.substr(0, 20)) != NumberAt(bytes, 20)) {
    Damaged(name, "the checksum of its head is wrong");
  }
  std::vector<Entry> entries;
  size_t at = kHeadBytes;
  for (uint32_t left = NumberAt(bytes, 16); left > 0; --left) {
    entries.push_back(EntryAt(bytes, at, name));
    at += entries.back().all.size();
  }
  if (at != bytes.size()) Damaged(name, "there are bytes behind the last entry");
  return entries;
}

std::string Head(size_t entries) {
  std::string head = std::string(kMagic) + std::string(kVersion);
  AppendNumber(static_cast<uint32_t>(entries), &head);
  AppendNumber(Crc(head), &head);
  return head;
}

std::string Deflated(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string out(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()), text.size(),
                kDeflateLevel) != Z_OK) {
    throw Error(ExitCode::kBug, "zlib does not deflate");
  }
  out.resize(size);
  return out;
}

std::string Inflated(const Entry& entry, const std::string& name) {
  if (entry.inflated_size > kMostInflated) Damaged(name, "an entry is too large");
  std::string out(entry.inflated_size, '\0');
  uLongf size = entry.inflated_size;
  const int result = uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                                reinterpret_cast<const Bytef*>(entry.deflated.data()), entry.deflated.size());
  if (result != Z_OK || size != entry.inflated_size) Damaged(name, "an entry cannot be inflated");
  return out;
}

std::string EncodeEntry(RankSummary rank) {
  BoundSummary(&rank);
  const std::string key = KeyOf(rank), text = SummaryText(rank), deflated = Deflated(text);
  std::string bytes;
  for (const size_t size : {key.size(), deflated.size(), text.size()}) {
    AppendNumber(static_cast<uint32_t>(size), &bytes);
  }
  AppendNumber(Crc(deflated, Crc(key, Crc(bytes))), &bytes);
  return bytes + key + deflated;
}

// Sorted, each once.
void WriteEntries(std::vector<Entry> entries, const std::function<void(std::string_view)>& write) {
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  write(Head(entries.size()));
  for (const Entry& entry : entries) write(entry.all);
}

}  // namespace

bool IsPartial(std::string_view bytes) { return bytes.starts_with(kMagic); }

bool IsPartialFile(const std::string& path) {
  if (path == "-") return false;
  constexpr std::streamsize kLooked = 16;
  std::string head(kLooked, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), kLooked);
  return file.gcount() == kLooked && IsPartial(head);
}

std::string WritePartial(const std::vector<RankSummary>& ranks) {
  std::vector<std::string> encoded;
  for (const RankSummary& rank : ranks) encoded.push_back(EncodeEntry(rank));
  std::vector<Entry> entries;
  for (const std::string& bytes : encoded) entries.push_back(EntryAt(bytes, 0, "new"));
  std::string out;
  WriteEntries(std::move(entries), [&out](std::string_view bytes) { out += bytes; });
  return out;
}

void MergePartials(const std::vector<NamedBytes>& files, const std::function<void(std::string_view)>& write) {
  std::vector<Entry> entries;
  for (const NamedBytes& file : files) {
    const std::vector<Entry> more = EntriesOf(file.bytes, file.name);
    entries.insert(entries.end(), more.begin(), more.end());
  }
  WriteEntries(std::move(entries), write);
}

std::vector<RankSummary> ReadPartial(std::string_view bytes, const std::string& name) {
  std::vector<RankSummary> ranks;
  for (const Entry& entry : EntriesOf(bytes, name)) {
    ranks.push_back(ParseSummary(Inflated(entry, name), name));
    if (KeyOf(ranks.back()) != entry.key) Damaged(name, "the key of an entry is not that of its contents");
  }
  return ranks;
}

}  // namespace gprof
