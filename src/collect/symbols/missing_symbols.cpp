#include "collect/symbols/missing_symbols.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "gprof/trace/crc32.h"
#include "gprof/trace/wire.h"
#include "trace/file/typed_rows.h"
#include "trace/load/load.h"
#include "trace/write/dictionary.h"
#include "unwind/debug_lines.h"
#include "unwind/symbols.h"

namespace gprof {
namespace {

// What one process wrote about code. The first record with a number counts, as for every reader.
struct Writer {
  uint64_t next_sequence = 0;
  bool is_collector = false;
  ReservedIds taken;
  std::map<uint32_t, std::string> texts;
  std::map<uint32_t, trace::ModuleRecord> modules;
  std::map<uint32_t, trace::FrameRecord> frames;
  std::set<uint32_t> named, with_line;

  void operator()(std::span<const trace::StringRecord> rows) {
    for (const trace::StringRecord& r : rows) {
      if (taken.strings.insert(r.id).second) texts.emplace(r.id, r.text.View());
    }
  }
  void operator()(std::span<const trace::ModuleRecord> rows) {
    for (const trace::ModuleRecord& r : rows) modules.emplace(r.id, r);
  }
  void operator()(std::span<const trace::FrameRecord> rows) {
    for (const trace::FrameRecord& r : rows) frames.emplace(r.id, r);
  }
  void operator()(std::span<const trace::SymbolRecord> rows) {
    for (const trace::SymbolRecord& r : rows) {
      named.insert(r.frame);
      if (r.line != 0) with_line.insert(r.frame);
    }
  }
  template <class R>
  void operator()(std::span<const R> /*rows*/) {}

  const std::string& Text(trace::StringId id) const {
    static const std::string nothing;
    const auto found = texts.find(id.value);
    return found == texts.end() ? nothing : found->second;
  }
};

using Writers = std::unordered_map<trace::ProcessKey, Writer, ProcessKeyHash>;

bool IsAboutCode(uint16_t kind) {
  using trace::RecordKind;
  const auto is = [kind](RecordKind one) { return kind == static_cast<uint16_t>(one); };
  return is(RecordKind::kModule) || is(RecordKind::kFrame) || is(RecordKind::kSymbol);
}

// The header of a whole chunk.
bool HeaderAt(std::string_view bytes, uint64_t at, trace::ChunkHeader* header) {
  if (at > bytes.size() || bytes.size() - at < trace::kChunkHeaderBytes) return false;
  const auto* const data = reinterpret_cast<const unsigned char*>(bytes.data());
  if (ReadHeader(data + at, header) != trace::HeaderStatus::kGood) return false;
  return bytes.size() - at - trace::kChunkHeaderBytes >= header->body_bytes;
}

// Every tracer gives its names lower numbers.
constexpr uint32_t kFirstName = 1u << 21;

// Of processes that write nothing more.
Writers ReadEndedWriters(std::string_view bytes) {
  Writers writers;
  std::set<const Writer*> ended;
  RowDecoder decoder;
  Unpacker unpacker;
  std::vector<unsigned char> unpacked;
  trace::ChunkHeader header;
  for (uint64_t at = 0; HeaderAt(bytes, at, &header);) {
    Writer& writer = writers[header.process];
    writer.next_sequence = std::max(writer.next_sequence, header.sequence + 1);
    if (header.kind == static_cast<uint16_t>(trace::RecordKind::kEnd)) ended.insert(&writer);
    ChunkAhead ahead(header, at);
    at = ahead.end();
    if (!IsAboutCode(header.kind)) continue;
    ahead.Open(bytes, unpacker, &unpacked);
    if (!ahead.body()) continue;
    decoder.Decode(Chunk{header, ahead.offset(), *ahead.body()}, [&writer](auto rows) { writer(rows); });
  }
  std::erase_if(writers, [&](const auto& entry) { return ended.count(&entry.second) == 0; });
  return writers;
}

Writers ReadWriters(std::string_view bytes, const std::string& path) {
  CheckStart(bytes, path);
  Writers writers;
  Reader reader(bytes);
  RowDecoder decoder;
  for (Chunk chunk; reader.Next(&chunk);) {
    Writer& writer = writers[chunk.header.process];
    writer.next_sequence = std::max(writer.next_sequence, chunk.header.sequence + 1);
    writer.is_collector = (chunk.header.flags & trace::kChunkCollector) != 0;
    const auto sink = [&writer](auto rows) { writer(rows); };
    if (!decoder.Decode(chunk, sink).is_good) reader.RejectOne();
  }
  CheckIsTrace(reader, bytes, path);
  return writers;
}

// Chunks of symbols, as more of what a process wrote. Each has its texts with it, under numbers that the process has
// not given out.
class SymbolChunks {
 public:
  SymbolChunks(const trace::ProcessKey& process, const Writer& writer)
      : process_(process), sequence_(writer.next_sequence), is_collector_(writer.is_collector) {
    if (!writer.taken.strings.empty()) next_text_ = std::max(next_text_, *writer.taken.strings.rbegin() + 1);
  }

  void Add(trace::SymbolRecord record, const std::string& name, const std::string& file) {
    if (rows_.size() == kMostRows || text_bytes_ > kMostTextBytes) Flush();
    record.name = IdOf(name);
    record.file = IdOf(file);
    rows_.push_back(record);
  }
  void Take(std::string* out) {
    Flush();
    out->append(bytes_);
  }

 private:
  static constexpr std::size_t kMostRows = 4096, kMostTextBytes = 1u << 20, kLongestText = 1u << 16;

  trace::StringId IdOf(const std::string& text) {
    if (text.empty()) return {};
    const auto [at, is_new] = ids_.try_emplace(text.substr(0, kLongestText), next_text_);
    if (is_new) {
      text_bytes_ += at->first.size();
      texts_.push_back({next_text_++, {at->first.data(), static_cast<uint32_t>(at->first.size())}});
    }
    return {at->second};
  }

  void Flush() {
    if (rows_.empty()) return;
    std::vector<unsigned char> chunk(trace::kChunkHeaderBytes + trace::kMaxBodyBytes);
    trace::ByteWriter body(chunk.data() + trace::kChunkHeaderBytes, trace::kMaxBodyBytes);
    trace::EncodeBlock(texts_.data(), static_cast<uint32_t>(texts_.size()), body);
    trace::EncodeBlock(rows_.data(), static_cast<uint32_t>(rows_.size()), body);
    trace::ChunkHeader header;
    header.kind = static_cast<uint16_t>(trace::RecordKind::kSymbol);
    header.record_count = static_cast<uint32_t>(rows_.size());
    header.body_bytes = header.unpacked_bytes = static_cast<uint32_t>(body.size());
    header.flags = is_collector_ ? trace::kChunkCollector : 0;
    header.process = process_;
    header.sequence = sequence_++;
    header.body_crc = trace::Crc32(chunk.data() + trace::kChunkHeaderBytes, body.size());
    trace::WriteHeader(header, chunk.data());
    bytes_.append(reinterpret_cast<const char*>(chunk.data()), trace::kChunkHeaderBytes + body.size());
    rows_.clear(), texts_.clear(), ids_.clear();
    text_bytes_ = 0;
  }

  const trace::ProcessKey process_;
  uint64_t sequence_;
  const bool is_collector_;
  uint32_t next_text_ = kFirstName;
  std::size_t text_bytes_ = 0;
  std::map<std::string, uint32_t> ids_;
  std::vector<trace::StringRecord> texts_;
  std::vector<trace::SymbolRecord> rows_;
  std::string bytes_;
};

class Finder {
 public:
  Finder(const DebugFileOptions& options, MissingSymbols* found) : options_(options), found_(*found) {}

  void Name(const trace::ProcessKey& process, const Writer& writer) {
    std::map<uint32_t, std::vector<const trace::FrameRecord*>> unknown;  // without a name or a line, by module
    for (const auto& [id, frame] : writer.frames) {
      const auto module = writer.modules.find(frame.module);
      const bool is_file = module != writer.modules.end() &&
                           module->second.module_kind == static_cast<uint8_t>(trace::ModuleKind::kFile);
      if (is_file && writer.with_line.count(id) == 0) unknown[frame.module].push_back(&frame);
    }
    if (unknown.empty()) return;
    SymbolChunks output(process, writer);
    for (const auto& [module, frames] : unknown) NameFrames(writer, writer.modules.at(module), frames, &output);
    output.Take(&found_.chunks);
  }

 private:
  // Several processes may have one file.
  MissingSymbols::File& FileOf(const std::string& path, const std::string& build_id) {
    const auto [at, is_new] = places_.try_emplace({path, build_id}, found_.files.size());
    if (is_new) found_.files.push_back({path, build_id});
    return found_.files[at->second];
  }

  const ElfImage* ImageOf(const std::string& path, const std::string& build_id) {
    const auto [at, is_new] = images_.try_emplace({path, build_id});
    if (is_new) at->second = FindDebugFile(path, build_id, options_);
    return at->second.get();
  }

  void NameFrames(const Writer& writer, const trace::ModuleRecord& module,
                  const std::vector<const trace::FrameRecord*>& frames, SymbolChunks* output) {
    const std::string &path = writer.Text(module.path), &build_id = writer.Text(module.build_id);
    MissingSymbols::File& file = FileOf(path, build_id);
    for (const trace::FrameRecord* frame : frames) file.frames += writer.named.count(frame->id) == 0;
    const ElfImage* const image = ImageOf(path, build_id);
    if (image == nullptr) return;
    std::vector<uint64_t> addresses;
    for (const trace::FrameRecord* frame : frames) addresses.push_back(frame->offset);
    const std::vector<FoundSymbol> symbols = FindSymbols(*image, addresses);
    const std::vector<SourceLine> lines = FindLines(*image, addresses);
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const bool has_name = writer.named.count(frames[i]->id) != 0;
      if (symbols[i].name.empty() || (has_name && lines[i].line == 0)) continue;
      trace::SymbolRecord record;
      record.frame = frames[i]->id;
      record.line = lines[i].line;
      record.function_offset = symbols[i].function;
      output->Add(record, symbols[i].name, lines[i].file);
      file.named += !has_name;
      file.lines += lines[i].line != 0;
    }
  }

  const DebugFileOptions& options_;
  MissingSymbols& found_;
  std::map<std::pair<std::string, std::string>, std::size_t> places_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<ElfImage>> images_;
};

}  // namespace

MissingSymbols FindMissingSymbols(std::string_view bytes, const std::string& path, const DebugFileOptions& options) {
  MissingSymbols found;
  Finder finder(options, &found);
  for (const auto& [process, writer] : ReadWriters(bytes, path)) finder.Name(process, writer);
  std::sort(found.files.begin(), found.files.end(),
            [](const MissingSymbols::File& a, const MissingSymbols::File& b) { return a.path < b.path; });
  return found;
}

std::string NameFramesOfEnded(std::string_view bytes, const DebugFileOptions& options) {
  MissingSymbols found;
  Finder finder(options, &found);
  for (const auto& [process, writer] : ReadEndedWriters(bytes)) finder.Name(process, writer);
  return std::move(found.chunks);
}

}  // namespace gprof
