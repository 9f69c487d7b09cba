#include "collect/symbols/missing_symbols.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "trace/file/typed_rows.h"
#include "trace/load/load.h"
#include "trace/write/chunk_writer.h"
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
  std::set<uint32_t> named;

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
    for (const trace::SymbolRecord& r : rows) named.insert(r.frame);
  }
  template <class R>
  void operator()(std::span<const R> /*rows*/) {}

  const std::string& Text(trace::StringId id) const {
    static const std::string kNone;
    const auto found = texts.find(id.value);
    return found == texts.end() ? kNone : found->second;
  }
};

using Writers = std::unordered_map<trace::ProcessKey, Writer, ProcessKeyHash>;

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

class Finder {
 public:
  Finder(const DebugFileOptions& options, MissingSymbols* found) : options_(options), found_(*found) {}

  void Name(const trace::ProcessKey& process, const Writer& writer) {
    std::map<uint32_t, std::vector<const trace::FrameRecord*>> nameless;  // by module
    for (const auto& [id, frame] : writer.frames) {
      const auto module = writer.modules.find(frame.module);
      const bool is_file = module != writer.modules.end() &&
                           module->second.module_kind == static_cast<uint8_t>(trace::ModuleKind::kFile);
      if (is_file && writer.named.count(id) == 0) nameless[frame.module].push_back(&frame);
    }
    Dictionary dictionary(&writer.taken);
    ChunkWriter output(&dictionary,
                       {.process = process, .sequence = writer.next_sequence, .is_collector = writer.is_collector});
    for (const auto& [module, frames] : nameless) NameFrames(writer, writer.modules.at(module), frames, &output);
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
                  const std::vector<const trace::FrameRecord*>& frames, ChunkWriter* output) {
    const std::string &path = writer.Text(module.path), &build_id = writer.Text(module.build_id);
    MissingSymbols::File& file = FileOf(path, build_id);
    file.frames += frames.size();
    const ElfImage* const image = ImageOf(path, build_id);
    if (image == nullptr) return;
    std::vector<uint64_t> addresses;
    for (const trace::FrameRecord* frame : frames) addresses.push_back(frame->offset);
    const std::vector<FoundSymbol> symbols = FindSymbols(*image, addresses);
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      if (symbols[i].name.empty()) continue;
      trace::SymbolRecord record;
      record.frame = frames[i]->id;
      record.name = output->dictionary().String(symbols[i].name);
      record.function_offset = symbols[i].function;
      output->Add(record);
      ++file.named;
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

}  // namespace gprof
