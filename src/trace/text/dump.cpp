#include "trace/text/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <unordered_map>

#include "trace/builder/flat_index.h"
#include "trace/file/typed_rows.h"
#include "trace/load/load.h"
#include "trace/text/record_text.h"

namespace gprof {
namespace {

template <class T>
void AppendNumber(T value, std::string* out) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out->append(digits, end);
}

// The field of `other` that `field` is in `record`.
template <class R, class T>
T SameFieldOf(const R& other, const R& record, const T& field) {
  const auto offset = reinterpret_cast<const char*>(&field) - reinterpret_cast<const char*>(&record);
  T value;
  std::memcpy(&value, reinterpret_cast<const char*>(&other) + offset, sizeof value);
  return value;
}

// Texts and shapes that were read so far, of all processes. The first definition of an id counts.
class Definitions {
 public:
  // False for the first chunk of a process.
  bool BeginChunk(const trace::ProcessKey& key) {
    const auto [at, is_new] = processes_.try_emplace(key, static_cast<uint32_t>(processes_.size()));
    process_ = at->second;
    return !is_new;
  }
  void Add(const trace::StringRecord& r) {
    uint32_t& index = string_ids_(process_, r.id);
    if (r.id == 0 || index != kNone) return;
    index = static_cast<uint32_t>(strings_.size());
    strings_.emplace_back(r.text.View());
  }
  void Add(const trace::KernelShapeRecord& r) {
    uint32_t& index = shape_ids_(process_, r.id);
    if (index != kNone) return;
    index = static_cast<uint32_t>(shapes_.size());
    shapes_.push_back(r);
  }
  const std::string* Find(trace::StringId id) const {
    const uint32_t index = string_ids_.Find(process_, id.value);
    return index == kNone ? nullptr : &strings_[index];
  }
  const trace::KernelShapeRecord* Find(trace::ShapeId id) const {
    const uint32_t index = shape_ids_.Find(process_, id.value);
    return index == kNone ? nullptr : &shapes_[index];
  }

 private:
  std::unordered_map<trace::ProcessKey, uint32_t, ProcessKeyHash> processes_;
  uint32_t process_ = 0;
  FlatIndex string_ids_, shape_ids_;
  std::vector<std::string> strings_;
  std::vector<trace::KernelShapeRecord> shapes_;
};

class Dumper {
 public:
  Dumper(const DumpOptions& options, const std::function<void(std::string_view)>& write)
      : options_(options), write_(write) {}

  void Run(std::string_view bytes) {
    CheckStart(bytes, options_.path);
    Reader reader(bytes);
    RowDecoder decoder;
    uint64_t unknown_records = 0;
    for (Chunk chunk; reader.Next(&chunk);) {
      BeginChunk(chunk.header);
      const BodyResult body = decoder.Decode(chunk, [&](auto rows) { TakeRows(rows); });
      unknown_records += body.unknown_records;
      if (!body.is_good) reader.RejectOne();
    }
    CheckIsTrace(reader, bytes, options_.path);
    TraceHealth health = reader.health();
    health.unknown_records += unknown_records;
    WriteHealth(health);
  }

 private:
  bool IsWanted(uint16_t kind) const {
    const auto& kinds = options_.kinds;
    return kinds.empty() || std::find(kinds.begin(), kinds.end(), static_cast<trace::RecordKind>(kind)) != kinds.end();
  }

  void BeginChunk(const trace::ChunkHeader& header) {
    const bool is_later = definitions_.BeginChunk(header.process);
    kind_ = header.kind;
    if (!options_.has_chunk_lines || !IsWanted(header.kind)) return;
    ChunkLine line;
    line.pid = header.process.pid;
    line.image = header.process.image;
    line.host = header.process.host;
    line.start_ticks = header.process.start_ticks;
    line.sequence = header.sequence;
    line.run = header.run;
    line.zstd = (header.flags & trace::kChunkZstd) != 0 ? 1 : 0;
    line.collector = (header.flags & trace::kChunkCollector) != 0 ? 1 : 0;
    line_ = fmt::format("{} kind={} pid={}", kChunkWord, KindName(header.kind), line.pid);  // pid 0 is not the default
    ChunkLine::Fields(line, [&](const trace::FieldInfo& info, const auto& v) {
      const std::string_view name = info.name;
      if (name == "pid") return;
      // A later chunk that says no number has the one after its predecessor's, not 0.
      if (name == "sequence" && v == 0 && is_later) {
        line_ += " sequence=0";
      } else {
        AppendField(info.name, v);
      }
    });
    write_(line_);
  }

  // Dictionary blocks belong to the records that name them; only a chunk of such a kind shows them.
  template <class R>
  void TakeRows(std::span<const R> rows) {
    if constexpr (trace::IsDictionary(R::kKind)) {
      for (const R& r : rows) definitions_.Add(r);
    }
    const bool is_entry = trace::IsDictionary(R::kKind) && static_cast<uint16_t>(R::kKind) != kind_;
    if (is_entry || !IsWanted(static_cast<uint16_t>(R::kKind))) return;
    static const R defaults;
    for (const R& r : rows) {
      line_ = R::kName;
      R::Fields(r, [&](const trace::FieldInfo& info, const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_arithmetic_v<T>) {
          AppendField(info.name, v, SameFieldOf(defaults, r, v));
        } else {
          AppendField(info.name, v);
        }
      });
      write_(line_);
    }
  }

  void AppendName(const char* name) {
    line_ += ' ';
    line_ += name;
    line_ += '=';
  }

  // What is not said reads as its default, which is not always 0.
  template <class T>
  void AppendField(const char* name, T value, T usual = 0) {
    if (value == usual && !options_.has_all_fields) return;
    AppendName(name);
    AppendNumber(value, &line_);
  }

  void AppendField(const char* name, trace::Text text) { AppendText(name, text.View()); }

  void AppendField(const char* name, trace::StringId id) {
    const std::string* text = definitions_.Find(id);
    if (id.value == 0 || text != nullptr) return AppendText(name, text == nullptr ? std::string_view() : *text);
    AppendName(name);
    line_ += '#';
    AppendNumber(id.value, &line_);
  }

  void AppendField(const char* name, trace::ShapeId id) {
    if (id.value == 0) return;
    const trace::KernelShapeRecord* shape = definitions_.Find(id);
    AppendName(name);
    if (shape == nullptr) {
      line_ += '#';
      return AppendNumber(id.value, &line_);
    }
    line_ += '{';
    const std::size_t begin = line_.size();
    trace::KernelShapeRecord::Fields(*shape, [&](const trace::FieldInfo& info, const auto& v) {
      if (std::string_view(info.name) != "id") AppendField(info.name, v);
    });
    if (line_.size() > begin) line_.erase(begin, 1);  // the space before the first field
    line_ += '}';
  }

  void AppendText(const char* name, std::string_view text) {
    if (text.empty() && !options_.has_all_fields) return;
    AppendName(name);
    AppendQuoted(text, &line_);
  }

  void WriteCount(std::string_view what, uint64_t count) {
    if (count != 0) write_(fmt::format("# {}: {}", what, count));
  }

  void WriteHealth(const TraceHealth& health) {
    WriteCount("damaged chunks", health.damaged_chunks);
    WriteCount("skipped bytes", health.skipped_bytes);
    WriteCount("missing chunks", health.missing_chunks);
    WriteCount("chunks read twice", health.duplicate_chunks);
    WriteCount("chunks of unknown kinds", health.unknown_chunks);
    WriteCount("records of unknown kinds", health.unknown_records);
    if (health.is_truncated) write_("# the file ends within a chunk");
  }

  const DumpOptions& options_;
  const std::function<void(std::string_view)>& write_;
  Definitions definitions_;
  uint16_t kind_ = 0;
  std::string line_;
};

}  // namespace

void DumpRecords(std::string_view bytes, const DumpOptions& options,
                 const std::function<void(std::string_view)>& write) {
  Dumper(options, write).Run(bytes);
}

}  // namespace gprof
