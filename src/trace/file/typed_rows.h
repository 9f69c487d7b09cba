// Blocks of a chunk as typed rows: the one place that goes from a kind number to a record type.
#pragma once

#include <span>
#include <vector>

#include "gprof/trace/record.h"
#include "gprof/trace/wire.h"
#include "trace/file/reader.h"

namespace gprof {

// What came out of the body of a chunk.
struct BodyResult {
  bool is_good = true;           // every block was whole
  uint64_t unknown_records = 0;  // in blocks of kinds that this build does not know
};

class RowDecoder {
 public:
  // Calls sink(std::span<const R>) for every block, in order. Strings point into the chunk. A block that is damaged
  // ends the chunk: nothing behind it can be trusted. A sink with TakeBlock(block, const R*) gets blocks of R as they
  // are, and answers whether they are good.
  template <class Sink>
  BodyResult Decode(const Chunk& chunk, Sink&& sink) {
    BodyResult result;
    trace::ByteReader body = chunk.body;
    trace::BlockView block;
    uint64_t entries_left = 2 * trace::kMaxChunkRecords, records_left = trace::kMaxChunkRecords;
    while (result.is_good && NextBlock(body, &block)) {
      const bool is_entry = IsDictionary(static_cast<trace::RecordKind>(block.kind));
      uint64_t& budget = is_entry ? entries_left : records_left;
      // Without this a body of a few bytes a block could ask for billions of records.
      result.is_good = block.record_count <= budget;
      if (!result.is_good) break;
      budget -= block.record_count;
      DecodeBlock(block, sink, &result);
    }
    result.is_good = result.is_good && !body.failed();
    return result;
  }

 private:
  template <class Sink>
  void DecodeBlock(const trace::BlockView& block, Sink& sink, BodyResult* result) {
    bool is_known = false;
    trace::ForEachKind([&](auto* null_record) {
      using R = std::decay_t<decltype(*null_record)>;
      if (static_cast<uint16_t>(R::kKind) != block.kind) return;
      is_known = true;
      if constexpr (requires { sink.TakeBlock(block, static_cast<const R*>(nullptr)); }) {
        result->is_good = sink.TakeBlock(block, static_cast<const R*>(nullptr));
      } else {
        auto& rows = rows_.template Of<R>();
        rows.assign(block.record_count, R{});
        result->is_good = trace::DecodeBlock(block, rows.data());
        if (result->is_good) sink(std::span<const R>(rows));
      }
    });
    if (!is_known) result->unknown_records += block.record_count;
  }

  template <class R>
  using Rows = std::vector<R>;
  trace::ForEachType<Rows, trace::AllRecords> rows_;  // kept between chunks: no allocation once warm
};

}  // namespace gprof
