// Writes chunks offline: for assemble, for tests and for tools. (The tracer has a writer of its own, which may not
// allocate.)
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "gprof/trace/file.h"
#include "gprof/trace/record.h"
#include "gprof/trace/wire.h"
#include "trace/file/unpack.h"
#include "trace/write/dictionary.h"

namespace gprof {

struct ChunkWriterOptions {
  trace::ProcessKey process;
  uint64_t sequence = 0;                           // of the first chunk
  uint64_t run = 0;                                // of the file
  bool is_zstd = false;                            // compress bodies that get smaller by it
  bool is_collector = false;                       // the process is one of gprof-cli that looks at others
  uint32_t max_records = trace::kMaxChunkRecords;  // of a chunk
};

// Collects records of any kinds; Take makes one chunk of each kind, in the order in which the kinds were first added.
class ChunkWriter {
 public:
  // `dictionary` belongs to the process and outlives the writer.
  ChunkWriter(Dictionary* dictionary, const ChunkWriterOptions& options);

  template <class R>
  void Add(R r) {
    R::Fields(r, [&](const trace::FieldInfo&, auto& field) {
      if constexpr (std::is_same_v<std::decay_t<decltype(field)>, trace::Text>) KeepText(&field);
    });
    Want(R::kKind);
    rows_.template Of<R>().push_back(r);
  }

  // A chunk of this kind is written even without records.
  void Want(trace::RecordKind kind);

  // Appends the chunks to `out` and forgets the records. Throws Error for a record that no chunk can hold.
  void Take(std::string* out);

  const ChunkWriterOptions& options() const { return options_; }
  Dictionary& dictionary() { return *dictionary_; }

 private:
  template <class R>
  using Rows = std::vector<R>;

  static constexpr std::size_t kTooLarge = trace::kMaxBodyBytes + 1;

  void KeepText(trace::Text* text);
  template <class R>
  void TakeKind(std::string* out);
  // Writes the first of `rows`, as many as fit; returns how many.
  template <class R>
  std::size_t WriteChunk(const R* rows, std::size_t count, std::string* out);
  // The bytes of the body, or kTooLarge.
  template <class R>
  std::size_t EncodeBody(const R* rows, std::size_t count);
  template <class R>
  void CollectDictionary(const R* rows, std::size_t count);
  template <class R>
  void CollectEntries(const R& r);
  void CollectString(trace::StringId id);
  void CollectShape(trace::ShapeId id);
  void AppendChunk(trace::ChunkHeader header, const unsigned char* body, std::size_t size, std::string* out);

  Dictionary* dictionary_;
  ChunkWriterOptions options_;
  trace::ForEachType<Rows, trace::AllRecords> rows_;
  std::vector<trace::RecordKind> kinds_;  // in the order of their first record
  std::deque<std::string> texts_;
  std::vector<unsigned char> buffer_;  // a body
  Packer packer_;
  // Dictionary of the chunk being written.
  std::unordered_set<uint32_t> seen_strings_, seen_shapes_;
  std::vector<trace::StringRecord> strings_;
  std::vector<trace::KernelShapeRecord> shapes_;
};

}  // namespace gprof
