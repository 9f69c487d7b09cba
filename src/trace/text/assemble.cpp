#include "trace/text/assemble.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>

#include "gprof/error.h"
#include "trace/file/reader.h"
#include "trace/text/record_text.h"
#include "trace/write/chunk_writer.h"

namespace gprof {
namespace {

constexpr uint32_t kDefaultPid = 1;

// Reads one line from left to right.
class LineParser {
 public:
  LineParser(std::string_view line, std::size_t number) : line_(line), number_(number) {}

  [[noreturn]] void Fail(const std::string& why) const {
    throw Error(ExitCode::kUnreadable, fmt::format("line {}: {}", number_, why),
                "docs/trace-format.md describes the text form; 'gprof-cli dump' writes it");
  }

  std::string_view Word() {
    SkipBlanks();
    const std::size_t begin = at_;
    while (at_ < line_.size() && IsWordChar(line_[at_])) ++at_;
    return line_.substr(begin, at_ - begin);
  }

  bool IsAtEnd() {
    SkipBlanks();
    return at_ >= line_.size();
  }

  // Takes `name=`; the value follows.
  std::string_view Name() {
    const std::string_view name = Word();
    if (name.empty() || !TakeChar('=')) Fail(fmt::format("expected name=value at '{}'", line_.substr(at_)));
    return name;
  }

  bool TakeChar(char c) {
    if (at_ >= line_.size() || line_[at_] != c) return false;
    ++at_;
    return true;
  }

  template <class T>
  T Number(std::string_view name) {
    T value{};
    const std::string_view digits = Word();
    const bool is_hex = digits.size() > 2 && digits[0] == '0' && digits[1] == 'x';
    const char* begin = digits.data() + (is_hex ? 2 : 0);
    const char* end = digits.data() + digits.size();
    const auto [stop, status] = std::from_chars(begin, end, value, is_hex ? 16 : 10);
    if (status == std::errc::result_out_of_range) {
      Fail(fmt::format("{}={} is out of range ({} to {})", name, digits, +std::numeric_limits<T>::min(),
                       +std::numeric_limits<T>::max()));
    }
    if (status != std::errc() || stop != end) Fail(fmt::format("{}= needs a number, not '{}'", name, digits));
    return value;
  }

  void Quoted(std::string_view name, std::string* text) {
    if (const char* wrong = ReadQuoted(line_, &at_, text)) Fail(fmt::format("{}: {}", name, wrong));
  }

 private:
  static bool IsWordChar(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  }
  void SkipBlanks() {
    while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t' || line_[at_] == '\r')) ++at_;
  }

  std::string_view line_;
  std::size_t number_;
  std::size_t at_ = 0;
};

template <class R>
std::string FieldNames() {
  std::string names;
  R r;
  R::Fields(r, [&](const trace::FieldInfo& info, auto&) { names += fmt::format(" {}", info.name); });
  return names;
}

std::string KindNames() {
  std::string names;
  trace::ForEachKind([&](auto* r) { names += fmt::format(" {}", r->kName); });
  return names;
}

class Assembler {
 public:
  // `reserved`: ids that strings and shapes without an id of their own must not get.
  explicit Assembler(const ReservedIds* reserved) : reserved_(reserved) {}

  void Run(std::string_view text) {
    std::size_t number = 0;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      TakeLine(LineParser(text.substr(0, end), ++number));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    EndChunk();
  }

  std::string Take() { return std::move(out_); }
  const ReservedIds& used() const { return used_; }

 private:
  struct ProcessState {
    std::unique_ptr<Dictionary> dictionary;
    uint64_t next_sequence = 0;
  };

  void TakeLine(LineParser line) {
    if (line.IsAtEnd() || line.TakeChar('#')) return;
    const std::string_view word = line.Word();
    if (word == kChunkWord) return BeginChunk(line);
    trace::RecordKind kind{};
    if (!FindKind(word, &kind)) {
      line.Fail(fmt::format("no record kind '{}'; there are{} and {}", word, KindNames(), kChunkWord));
    }
    if (writer_ == nullptr) Open(ChunkLine{kDefaultPid}, false);
    trace::ForEachKind([&](auto* null_record) {
      using R = std::decay_t<decltype(*null_record)>;
      if (R::kKind == kind) TakeRecord<R>(line);
    });
  }

  void BeginChunk(LineParser& line) {
    EndChunk();
    ChunkLine chunk;
    chunk.pid = kDefaultPid;
    bool has_sequence = false;
    std::optional<trace::RecordKind> kind;
    while (!line.IsAtEnd()) {
      const std::string_view name = line.Name();
      if (name == "kind") {
        const std::string_view word = line.Word();
        if (!FindKind(word, &kind.emplace())) line.Fail(fmt::format("no record kind '{}'", word));
        continue;
      }
      has_sequence = has_sequence || name == "sequence";
      if (!SetField(name, &chunk, line)) {
        line.Fail(fmt::format("a chunk line has no field '{}'; there are kind{}", name, FieldNames<ChunkLine>()));
      }
    }
    Open(chunk, has_sequence);
    if (kind.has_value()) writer_->Want(*kind);
  }

  void Open(const ChunkLine& chunk, bool has_sequence) {
    ChunkWriterOptions options;
    options.process.pid = chunk.pid;
    options.process.host = chunk.host;
    options.process.start_ticks = chunk.start_ticks;
    options.process.image = chunk.image;
    options.run = chunk.run;
    options.is_zstd = chunk.zstd != 0;
    options.is_collector = chunk.collector != 0;
    process_ = &processes_[options.process];
    if (process_->dictionary == nullptr) process_->dictionary = std::make_unique<Dictionary>(reserved_);
    options.sequence = has_sequence ? chunk.sequence : process_->next_sequence;
    writer_ = std::make_unique<ChunkWriter>(process_->dictionary.get(), options);
  }

  void EndChunk() {
    if (writer_ == nullptr) return;
    writer_->Take(&out_);
    process_->next_sequence = writer_->options().sequence;
    writer_.reset();
  }

  template <class R>
  void TakeRecord(LineParser& line) {
    R r;
    while (!line.IsAtEnd()) {
      const std::string_view name = line.Name();
      if (!SetField(name, &r, line)) {
        line.Fail(fmt::format("{} has no field '{}'; there are{}", R::kName, name, FieldNames<R>()));
      }
    }
    if constexpr (std::is_same_v<R, trace::StringRecord>) used_.strings.insert(r.id);
    if constexpr (std::is_same_v<R, trace::KernelShapeRecord>) used_.shapes.insert(r.id);
    writer_->Add(r);
  }

  // False: there is no such field.
  template <class R>
  bool SetField(std::string_view name, R* r, LineParser& line) {
    bool is_found = false;
    R::Fields(*r, [&](const trace::FieldInfo& info, auto& field) {
      if (is_found || name != info.name) return;
      is_found = true;
      Read(name, line, &field);
    });
    return is_found;
  }

  template <class T>
  void Read(std::string_view name, LineParser& line, T* value) {
    *value = line.Number<T>(name);
  }

  void Read(std::string_view name, LineParser& line, trace::Text* text) {
    line.Quoted(name, &bytes_);
    *text = {bytes_.data(), static_cast<uint32_t>(bytes_.size())};  // the writer keeps a copy
  }

  void Read(std::string_view name, LineParser& line, trace::StringId* id) {
    if (line.TakeChar('#')) {
      id->value = line.Number<uint32_t>(name);
      used_.strings.insert(id->value);
      return;
    }
    line.Quoted(name, &text_);
    *id = process_->dictionary->String(text_);
  }

  void Read(std::string_view name, LineParser& line, trace::ShapeId* id) {
    if (line.TakeChar('#')) {
      id->value = line.Number<uint32_t>(name);
      used_.shapes.insert(id->value);
      return;
    }
    if (!line.TakeChar('{')) line.Fail(fmt::format("{}= needs {{field=value …}} or #number", name));
    trace::KernelShapeRecord shape;
    while (!line.TakeChar('}')) {
      if (line.IsAtEnd()) line.Fail(fmt::format("{}={{ without its }}", name));
      if (line.TakeChar('}')) break;
      const std::string_view field = line.Name();
      if (field == "id" || !SetField(field, &shape, line)) {
        line.Fail(
            fmt::format("{} has no field '{}'; there are{}", name, field, FieldNames<trace::KernelShapeRecord>()));
      }
    }
    *id = process_->dictionary->Shape(shape);
  }

  const ReservedIds* reserved_;
  ReservedIds used_;
  std::string out_;
  std::string text_;   // of the last string
  std::string bytes_;  // of the record's field of bytes: a string behind it must not change it
  std::unordered_map<trace::ProcessKey, ProcessState, ProcessKeyHash> processes_;
  ProcessState* process_ = nullptr;
  std::unique_ptr<ChunkWriter> writer_;
};

}  // namespace

std::string AssembleTrace(std::string_view text) {
  // Ids written as #12 may come anywhere, so a first pass finds them before the second one gives out the others.
  Assembler finder(nullptr);
  finder.Run(text);
  if (finder.used().strings.empty() && finder.used().shapes.empty()) return finder.Take();
  Assembler assembler(&finder.used());
  assembler.Run(text);
  return assembler.Take();
}

}  // namespace gprof
