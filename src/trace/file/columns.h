// Columns of a block, decoded one at a time and only where somebody asks for them: rows would be 90 bytes a record to
// write and to read again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "gprof/trace/record.h"
#include "gprof/trace/wire.h"

namespace gprof {

struct ColumnView {
  const unsigned char* data = nullptr;
  std::size_t size_bytes = 0;
  trace::Encoding encoding = trace::Encoding::kConstant;
  bool is_there = false;  // an older writer did not have every column
};

// Fills out[0 .. count) with the values as wire_detail::ToBits has them, zeros for a column that is not there. False:
// the column is damaged.
bool DecodeNumbers(const ColumnView& column, uint64_t* out, std::size_t count);
// The same as on a processor without instructions for it, so that tests see both.
bool DecodeNumbersPlainly(const ColumnView& column, uint64_t* out, std::size_t count);

// Values that are the same up to a place, where the next ones begin.
struct ColumnRun {
  uint64_t value = 0;
  uint32_t end = 0;
};
// As many a column has at most: each takes a byte for its length and one for its value.
inline std::size_t MostRuns(const ColumnView& column) { return column.size_bytes / 2; }
// A column of such runs, as they are in it: fills `runs`, which has room for `count` of them or for MostRuns. Returns
// how many there are, 0 for a column that is damaged. Only for Encoding::kRuns, and count > 0.
std::size_t DecodeRunList(const ColumnView& column, ColumnRun* runs, std::size_t count);

// All values are zero, for sure.
inline bool IsZero(const ColumnView& column) {
  if (!column.is_there) return true;
  return column.encoding == trace::Encoding::kConstant && column.size_bytes != 0 && column.data[0] == 0;
}

// Where the columns of a block of R lie.
template <class R>
class BlockColumns {
 public:
  static constexpr std::size_t kFields = trace::FieldCount<R>();

  // False: the block is damaged.
  bool Find(const trace::BlockView& block) {
    columns_ = {};
    trace::ByteReader in = block.columns;
    for (std::size_t k = 0; k < kFields && k < block.column_count; ++k) {
      const auto encoding = static_cast<trace::Encoding>(in.Byte());
      const uint64_t bytes = in.Varint();
      const unsigned char* at = bytes <= in.left() ? in.Bytes(static_cast<std::size_t>(bytes)) : nullptr;
      if (at == nullptr || in.failed()) return false;
      columns_[k] = {at, static_cast<std::size_t>(bytes), encoding, true};
    }
    return true;
  }

  const ColumnView& operator[](std::size_t k) const { return columns_[k]; }

  // The column of a field: Of(&R::start_ns).
  template <class T>
  const ColumnView& Of(T R::*member) const {
    R r;
    std::size_t k = 0, found = 0;
    R::Fields(r, [&](const trace::FieldInfo&, auto& field) {
      if (static_cast<const void*>(&field) == &(r.*member)) found = k;
      ++k;
    });
    return columns_[found];
  }

 private:
  std::array<ColumnView, kFields> columns_;
};

}  // namespace gprof
