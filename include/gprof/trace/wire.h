// Rows to columns and back, derived from the Fields() of record.h.
//
// A chunk's body is a sequence of blocks, each
//     varint kind, varint records, varint columns, varint bytes, columns
// and a column is
//     byte encoding, varint bytes, data
// Columns come in the order of Fields(). A reader skips blocks and columns that it does not know by their length; a
// column that is missing leaves the field's default.
#pragma once

#include <cstring>

#include "gprof/trace/bytes.h"
#include "gprof/trace/file.h"
#include "gprof/trace/record.h"

namespace gprof::trace {

enum class Encoding : uint8_t {
  kConstant = 0,   // one varint, the value of every record
  kVarint = 1,     // one varint a record
  kDelta = 2,      // zigzag varint of the difference to the record before, the first to 0
  kRuns = 3,       // (varint count, varint value) until the records are used up
  kDeltaRuns = 4,  // (varint count, zigzag varint difference): counters that step evenly
  kText = 5,       // (varint length, bytes) a record
};

namespace wire_detail {

template <class T>
constexpr uint64_t ToBits(const T& v) {
  if constexpr (std::is_signed_v<T>) {
    return ZigZag(v);
  } else {
    return v;
  }
}

template <class T>
constexpr T FromBits(uint64_t bits) {
  if constexpr (std::is_same_v<T, StringId> || std::is_same_v<T, ShapeId>) {
    return T{static_cast<uint32_t>(bits)};
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(UnZigZag(bits));
  } else {
    return static_cast<T>(bits);
  }
}

// What a field is in memory. Ids are the numbers that they hold.
enum class Stored : uint8_t { kByte, kU32, kU64, kI32, kI64, kText };

template <class T>
constexpr Stored StoredAs() {
  if constexpr (std::is_same_v<T, Text>) return Stored::kText;
  if constexpr (std::is_same_v<T, StringId> || std::is_same_v<T, ShapeId>) return Stored::kU32;
  if constexpr (sizeof(T) == 1) return Stored::kByte;
  if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? Stored::kI32 : Stored::kU32;
  return std::is_signed_v<T> ? Stored::kI64 : Stored::kU64;
}

// f(a number of the type)
template <class F>
auto WithNumber(Stored stored, F&& f) {
  switch (stored) {
    case Stored::kByte:
      return f(uint8_t{});
    case Stored::kU32:
      return f(uint32_t{});
    case Stored::kU64:
      return f(uint64_t{});
    case Stored::kI32:
      return f(int32_t{});
    default:
      return f(int64_t{});
  }
}

// A field in the records of a kind. What follows is compiled for each type of numbers, and not for each kind.
struct FieldPlace {
  std::size_t offset;
  Stored stored;
};

template <class R>
struct FieldPlaces {
  FieldPlace fields[FieldCount<R>()];
  explicit FieldPlaces(const R& row) {
    FieldPlace* next = fields;
    R::Fields(row, [&](const FieldInfo&, const auto& field) {
      const auto* const at = reinterpret_cast<const unsigned char*>(&field);
      *next++ = {static_cast<std::size_t>(at - reinterpret_cast<const unsigned char*>(&row)),
                 StoredAs<std::decay_t<decltype(field)>>()};
    });
  }
};

// Where a column lies in an array of records.
struct Column {
  const unsigned char* first;
  std::size_t stride;
  std::size_t count;
};

template <class T>
inline T At(const Column& c, std::size_t i) {
  T v;
  std::memcpy(&v, c.first + i * c.stride, sizeof v);
  return v;
}

inline int64_t Difference(uint64_t a, uint64_t b) { return static_cast<int64_t>(a - b); }

struct Plan {
  Encoding encoding;
  std::size_t bytes;
};

// Most columns of most chunks hold one value, and saying so is an order of magnitude cheaper than measuring encodings.
template <class T>
bool IsConstant(const Column& c) {
  const T first = At<T>(c, 0);
  std::size_t i = 1;
  while (i < c.count && At<T>(c, i) == first) ++i;
  return i == c.count;
}

template <class T>
Plan PlanColumn(const Column& c) {
  if (IsConstant<T>(c)) return {Encoding::kConstant, VarintBytes(ToBits(At<T>(c, 0)))};
  std::size_t plain = 0, delta = 0, runs = 0, delta_runs = 0;
  uint64_t before = 0, run_length = 0, step_length = 0;
  int64_t step = 0;
  for (std::size_t i = 0; i < c.count; ++i) {
    const uint64_t v = ToBits(At<T>(c, i));
    const int64_t d = Difference(v, before);
    plain += VarintBytes(v);
    delta += VarintBytes(ZigZag(d));
    if (i > 0 && v == before) {
      ++run_length;
    } else {
      if (i > 0) runs += VarintBytes(run_length) + VarintBytes(before);
      run_length = 1;
    }
    if (i > 0 && d == step) {
      ++step_length;
    } else {
      if (i > 0) delta_runs += VarintBytes(step_length) + VarintBytes(ZigZag(step));
      step = d;
      step_length = 1;
    }
    before = v;
  }
  runs += VarintBytes(run_length) + VarintBytes(before);
  delta_runs += VarintBytes(step_length) + VarintBytes(ZigZag(step));
  Plan best{Encoding::kVarint, plain};
  if (delta < best.bytes) best = {Encoding::kDelta, delta};
  if (runs < best.bytes) best = {Encoding::kRuns, runs};
  if (delta_runs < best.bytes) best = {Encoding::kDeltaRuns, delta_runs};
  return best;
}

template <class T>
void WriteColumn(const Column& c, Encoding encoding, ByteWriter& out) {
  uint64_t before = 0, length = 0;
  int64_t step = 0;
  for (std::size_t i = 0; i < c.count; ++i) {
    const uint64_t v = ToBits(At<T>(c, i));
    switch (encoding) {
      case Encoding::kConstant:
        return out.Varint(v);
      case Encoding::kVarint:
        out.Varint(v);
        break;
      case Encoding::kDelta:
        out.Varint(ZigZag(Difference(v, before)));
        break;
      case Encoding::kRuns:
        if (i > 0 && v != before) {
          out.Varint(length);
          out.Varint(before);
          length = 0;
        }
        ++length;
        break;
      case Encoding::kDeltaRuns: {
        const int64_t d = Difference(v, before);
        if (i > 0 && d != step) {
          out.Varint(length);
          out.Varint(ZigZag(step));
          length = 0;
        }
        step = d;
        ++length;
        break;
      }
      case Encoding::kText:
        return;
    }
    before = v;
  }
  if (encoding == Encoding::kRuns || encoding == Encoding::kDeltaRuns) {
    out.Varint(length);
    out.Varint(encoding == Encoding::kRuns ? before : ZigZag(step));
  }
}

inline std::size_t TextColumnBytes(const Column& c) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < c.count; ++i) {
    const Text t = At<Text>(c, i);
    bytes += VarintBytes(t.size) + t.size;
  }
  return bytes;
}

inline void WriteTextColumn(const Column& c, ByteWriter& out) {
  for (std::size_t i = 0; i < c.count; ++i) {
    const Text t = At<Text>(c, i);
    out.Varint(t.size);
    out.Bytes(t.data, t.size);
  }
}

inline Plan PlanAny(Stored stored, const Column& c) {
  if (stored == Stored::kText) return {Encoding::kText, TextColumnBytes(c)};
  return WithNumber(stored, [&](auto number) { return PlanColumn<decltype(number)>(c); });
}

inline void WriteAny(Stored stored, const Column& c, const Plan& plan, ByteWriter& out) {
  out.Byte(static_cast<uint8_t>(plan.encoding));
  out.Varint(plan.bytes);
  if (stored == Stored::kText) return WriteTextColumn(c, out);
  WithNumber(stored, [&](auto number) { WriteColumn<decltype(number)>(c, plan.encoding, out); });
}

// Fills the field of `count` records, `stride` bytes apart. False: the data do not hold that many values.
template <class T>
bool ReadNumbers(ByteReader in, Encoding encoding, unsigned char* first, std::size_t stride, std::size_t count) {
  const auto store = [&](std::size_t i, uint64_t bits) {
    const T v = FromBits<T>(bits);
    std::memcpy(first + i * stride, &v, sizeof v);
  };
  if (encoding == Encoding::kConstant) {
    const uint64_t v = in.Varint();
    for (std::size_t i = 0; i < count; ++i) store(i, v);
  } else if (encoding == Encoding::kVarint) {
    for (std::size_t i = 0; i < count; ++i) store(i, in.Varint());
  } else if (encoding == Encoding::kDelta) {
    uint64_t v = 0;
    for (std::size_t i = 0; i < count; ++i) store(i, v += static_cast<uint64_t>(UnZigZag(in.Varint())));
  } else if (encoding == Encoding::kRuns || encoding == Encoding::kDeltaRuns) {
    uint64_t v = 0;
    for (std::size_t i = 0; i < count;) {
      const uint64_t length = in.Varint();
      const uint64_t value = in.Varint();
      if (in.failed() || length == 0 || length > count - i) return false;
      const bool is_delta = encoding == Encoding::kDeltaRuns;
      const uint64_t step = is_delta ? static_cast<uint64_t>(UnZigZag(value)) : 0;
      for (uint64_t k = 0; k < length; ++k) store(i++, v = is_delta ? v + step : value);
    }
  } else {
    return false;
  }
  return !in.failed();
}

inline bool ReadTexts(ByteReader in, unsigned char* first, std::size_t stride, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const uint64_t size = in.Varint();
    const unsigned char* at = size <= kMaxBodyBytes ? in.Bytes(static_cast<std::size_t>(size)) : nullptr;
    if (at == nullptr || in.failed()) return false;
    const Text t{reinterpret_cast<const char*>(at), static_cast<uint32_t>(size)};
    std::memcpy(first + i * stride, &t, sizeof t);
  }
  return true;
}

// `plans` is room for as many as there are fields.
inline void EncodeColumns(const unsigned char* rows, std::size_t stride, std::size_t count, const FieldPlace* fields,
                          std::size_t field_count, Plan* plans, ByteWriter& out) {
  std::size_t bytes = 0;
  for (std::size_t k = 0; k < field_count; ++k) {
    plans[k] = PlanAny(fields[k].stored, {rows + fields[k].offset, stride, count});
    bytes += 1 + VarintBytes(plans[k].bytes) + plans[k].bytes;
  }
  out.Varint(count);
  out.Varint(field_count);
  out.Varint(bytes);
  for (std::size_t k = 0; k < field_count; ++k)
    WriteAny(fields[k].stored, {rows + fields[k].offset, stride, count}, plans[k], out);
}

}  // namespace wire_detail

// Appends a block with `count` (> 0) records.
template <class R>
void EncodeBlock(const R* rows, std::size_t count, ByteWriter& out) {
  const wire_detail::FieldPlaces<R> places(rows[0]);
  wire_detail::Plan plans[FieldCount<R>()];
  out.Varint(static_cast<uint64_t>(R::kKind));
  wire_detail::EncodeColumns(reinterpret_cast<const unsigned char*>(rows), sizeof(R), count, places.fields,
                             FieldCount<R>(), plans, out);
}

struct BlockView {
  uint16_t kind = 0;
  uint32_t record_count = 0;
  uint32_t column_count = 0;
  ByteReader columns;
};

// Takes the next block off `body`. False: the body is used up or damaged (then body.failed()).
inline bool NextBlock(ByteReader& body, BlockView* block) {
  if (body.left() == 0) return false;
  const uint64_t kind = body.Varint();
  const uint64_t records = body.Varint();
  const uint64_t columns = body.Varint();
  const uint64_t bytes = body.Varint();
  const bool sane =
      !body.failed() && kind <= 0xFFFF && records <= kMaxChunkRecords && columns <= 255 && bytes <= body.left();
  const unsigned char* at = body.Bytes(sane ? static_cast<std::size_t>(bytes) : body.left() + 1);
  if (at == nullptr) return false;
  block->kind = static_cast<uint16_t>(kind);
  block->record_count = static_cast<uint32_t>(records);
  block->column_count = static_cast<uint32_t>(columns);
  block->columns = ByteReader(at, static_cast<std::size_t>(bytes));
  return true;
}

namespace wire_detail {

inline bool DecodeColumns(const BlockView& block, unsigned char* rows, std::size_t stride, const FieldPlace* fields,
                          std::size_t field_count) {
  ByteReader in = block.columns;
  for (std::size_t k = 0; k < field_count && k < block.column_count; ++k) {
    const auto encoding = static_cast<Encoding>(in.Byte());
    const uint64_t bytes = in.Varint();
    const unsigned char* at = bytes <= in.left() ? in.Bytes(static_cast<std::size_t>(bytes)) : nullptr;
    if (at == nullptr || in.failed()) return false;
    const ByteReader data(at, static_cast<std::size_t>(bytes));
    unsigned char* const first = rows + fields[k].offset;
    const bool is_good =
        fields[k].stored == Stored::kText
            ? encoding == Encoding::kText && ReadTexts(data, first, stride, block.record_count)
            : WithNumber(fields[k].stored, [&](auto number) {
                return ReadNumbers<decltype(number)>(data, encoding, first, stride, block.record_count);
              });
    if (!is_good) return false;
  }
  return true;
}

}  // namespace wire_detail

// Fills rows[0 .. record_count). The rows must hold their defaults. False: the block is damaged.
template <class R>
bool DecodeBlock(const BlockView& block, R* rows) {
  if (block.record_count == 0) return true;
  const wire_detail::FieldPlaces<R> places(rows[0]);
  return wire_detail::DecodeColumns(block, reinterpret_cast<unsigned char*>(rows), sizeof(R), places.fields,
                                    FieldCount<R>());
}

}  // namespace gprof::trace
