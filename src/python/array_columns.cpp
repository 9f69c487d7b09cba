#include "python/array_columns.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

namespace gprof::python {
namespace {

// Columns of text: told apart from numbers where a table has no row, or no row with a value.
// clang-format off
constexpr std::string_view kTextColumns[] = {
    "algorithm", "build_id", "caches", "capture_mode", "category_name", "chip", "clocks", "command_line", "communicator_name", "construct",
    "datatype", "destination_memory", "device_uuid", "direction", "domain", "end", "entry_kind", "file", "function", "host", "kernel", "key",
    "level", "library", "managed_kind", "mangled_name", "memory", "message", "metric", "metric_kind", "metric_set", "model", "module_kind", "name",
    "nvtx", "nvtx_path", "object_kind", "operation", "origin", "overhead_kind", "path", "place", "protocol", "reason", "replay", "sample_kind", "schema",
    "scope", "short_name", "source", "source_file", "source_memory", "stack", "status", "style", "sync_kind", "text", "tracer_version", "unit", "uuid",
    "waker_stack"};
// clang-format on

ColumnType UsualType(const RecordTable& table, std::string_view name) {
  if (name.starts_with("is_")) return ColumnType::kTruth;
  // A number in other tables: the handle of a CUDA event.
  const bool is_word = name == "event" && table.name == "nvtx_payload";
  if (name == "value" && (table.name == "metric_block" || table.name == "counter_values")) return ColumnType::kReal;
  const bool is_text = std::find(std::begin(kTextColumns), std::end(kTextColumns), name) != std::end(kTextColumns);
  return is_word || is_text ? ColumnType::kText : ColumnType::kInteger;
}

const char* FormatOf(ColumnType type) {
  switch (type) {
    case ColumnType::kInteger:
      return "<i8";
    case ColumnType::kUnsigned:
      return "<u8";
    case ColumnType::kReal:
      return "<f8";
    case ColumnType::kTruth:
      return "?";
    case ColumnType::kText:
      break;
  }
  return "<i4";
}

class ColumnWriter : public RowWriter {
 public:
  explicit ColumnWriter(const RecordTable& table) {
    for (const std::string_view name : table.columns) builders_.emplace_back(name, UsualType(table, name));
  }
  void Integer(int64_t value) override { Next().Integer(value); }
  void Unsigned(uint64_t value) override { Next().Unsigned(value); }
  void Real(double value) override { Next().Real(value); }
  void Truth(bool value) override { Next().Truth(value); }
  void Text(std::string_view value) override { Next().Text(value); }
  void Nothing() override { Next().Nothing(); }
  void EndRow() override {
    ++rows_;
    next_ = 0;
  }
  Columns Finish() {
    Columns columns{rows_, {}};
    for (ColumnBuilder& builder : builders_) columns.columns.push_back(builder.Finish());
    return columns;
  }

 private:
  ColumnBuilder& Next() { return builders_[next_++]; }

  std::vector<ColumnBuilder> builders_;
  std::size_t next_ = 0;
  uint64_t rows_ = 0;
};

}  // namespace

void ColumnBuilder::Append(uint64_t bits, bool is_missing) {
  if (is_constant_ && count_ > 0 && (bits != bits_.front() || is_missing != (missing_count_ > 0))) {
    bits_.resize(count_, bits_.front());
    missing_.assign(count_, missing_count_ > 0 ? 1 : 0);
    is_constant_ = false;
  }
  if (!is_constant_ || count_ == 0) bits_.push_back(bits);
  if (!is_constant_) missing_.push_back(is_missing ? 1 : 0);
  missing_count_ += is_missing ? 1 : 0;
  ++count_;
}

template <class F>
void ColumnBuilder::Change(const F& change) {
  std::transform(bits_.begin(), bits_.end(), bits_.begin(), change);
}

// A payload is whole in one row and real in the next: the column becomes what holds both.
void ColumnBuilder::Become(ColumnType type) {
  if (type == type_) return;
  const ColumnType before = std::exchange(type_, type);
  if (!has_value_) return;
  if (type == ColumnType::kReal) {
    Change([before](uint64_t bits) {
      const double value =
          before == ColumnType::kUnsigned ? static_cast<double>(bits) : static_cast<double>(static_cast<int64_t>(bits));
      return std::bit_cast<uint64_t>(value);
    });
  } else if (type == ColumnType::kText) {
    Change([&](uint64_t bits) { return CodeOf(std::to_string(static_cast<int64_t>(bits))); });
  }
}

void ColumnBuilder::Integer(int64_t value) {
  if (type_ == ColumnType::kText) return Text(std::to_string(value));
  if (type_ == ColumnType::kReal) return Real(static_cast<double>(value));
  if (type_ == ColumnType::kUnsigned) {
    if (value < 0) return Real(static_cast<double>(value));
  } else {
    Become(ColumnType::kInteger);
  }
  has_value_ = true;
  has_negative_ |= value < 0;
  Append(static_cast<uint64_t>(value), false);
}

void ColumnBuilder::Unsigned(uint64_t value) {
  if (type_ == ColumnType::kText) return Text(std::to_string(value));
  if (type_ == ColumnType::kReal) return Real(static_cast<double>(value));
  const bool is_large = value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (is_large && has_negative_) return Real(static_cast<double>(value));
  if (is_large) {
    Become(ColumnType::kUnsigned);
  } else if (type_ != ColumnType::kUnsigned) {
    Become(ColumnType::kInteger);
  }
  has_value_ = true;
  Append(value, false);
}

void ColumnBuilder::Real(double value) {
  if (type_ == ColumnType::kText) return Text(std::to_string(value));
  Become(ColumnType::kReal);
  has_value_ = true;
  Append(std::bit_cast<uint64_t>(value), false);
}

void ColumnBuilder::Truth(bool value) {
  has_value_ = true;
  Append(value ? 1 : 0, false);
}

uint64_t ColumnBuilder::CodeOf(std::string_view text) {
  if (last_code_ < texts_.size() && texts_[last_code_] == text) return last_code_;
  auto found = codes_.find(text);
  if (found == codes_.end()) {
    found = codes_.emplace(std::string(text), static_cast<uint32_t>(texts_.size())).first;
    texts_.emplace_back(text);
  }
  return last_code_ = found->second;
}

void ColumnBuilder::Text(std::string_view value) {
  Become(ColumnType::kText);
  has_value_ = true;
  Append(CodeOf(value), false);
}

void ColumnBuilder::Nothing() { Append(0, true); }

template <class Item, class F>
std::vector<unsigned char> ColumnBuilder::Items(const F& item) const {
  std::vector<unsigned char> bytes(bits_.size() * sizeof(Item));
  for (std::size_t i = 0; i < bits_.size(); ++i) {
    const bool is_missing = is_constant_ ? missing_count_ > 0 : missing_[i] != 0;
    const Item value = item(bits_[i], is_missing);
    std::memcpy(bytes.data() + i * sizeof(Item), &value, sizeof value);
  }
  return bytes;
}

FinishedColumn ColumnBuilder::Finish() {
  FinishedColumn column;
  column.name = name_;
  column.type = type_;
  column.format = FormatOf(type_);
  column.is_constant = is_constant_ && count_ > 0;
  if (missing_count_ > 0) column.missing = is_constant_ ? std::vector<unsigned char>{1} : missing_;
  // What stands where there is no value: -1, or NaN, or no text. Whoever has to know asks for what is missing.
  if (type_ == ColumnType::kInteger) {
    column.items =
        Items<int64_t>([](uint64_t bits, bool is_missing) { return is_missing ? -1 : static_cast<int64_t>(bits); });
  } else if (type_ == ColumnType::kUnsigned) {
    column.items = Items<uint64_t>([](uint64_t bits, bool) { return bits; });
  } else if (type_ == ColumnType::kReal) {
    column.items = Items<double>([](uint64_t bits, bool is_missing) {
      return is_missing ? std::numeric_limits<double>::quiet_NaN() : std::bit_cast<double>(bits);
    });
  } else if (type_ == ColumnType::kTruth) {
    column.items = Items<uint8_t>([](uint64_t bits, bool) { return static_cast<uint8_t>(bits); });
  } else {
    column.items =
        Items<int32_t>([](uint64_t bits, bool is_missing) { return is_missing ? -1 : static_cast<int32_t>(bits); });
  }
  column.texts = std::move(texts_);
  return column;
}

Columns ColumnsOf(const Trace& trace, const std::string& kind) {
  ExportOptions options;
  options.kind = kind;
  RecordContext context(trace, options);
  const RecordTable& table = TablesOfKind(kind).front();
  ColumnWriter writer(table);
  table.write(context, writer);
  return writer.Finish();
}

}  // namespace gprof::python
