#include "tracer/python/python_functions.h"

#include <cstring>

#include "tracer/store/interned_names.h"

namespace gprof::tracer {
namespace {

char* PutUtf8(uint32_t c, char* out) {
  const auto put = [&](uint32_t byte) { *out++ = static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  }
  return out;
}

trace::StringId InternWide(const char* text, uint32_t width, std::size_t length) {
  char bytes[1024];
  char* end = bytes;
  for (std::size_t i = 0; i < length && end + 4 <= bytes + sizeof bytes; ++i) {
    uint32_t c = 0;
    std::memcpy(&c, text + i * width, width);
    end = PutUtf8(c, end);
  }
  return Names().Intern(bytes, static_cast<std::size_t>(end - bytes));
}

trace::StringId InternText(const Interpreter& python, const char* text) {
  const trace::PythonLayout& l = python.layout;
  if (text == nullptr || ReadAt<const char*>(text, l.object_type) != python.text_type) return {};
  const auto length = ReadAt<int64_t>(text, l.object_size);
  const uint32_t state = ReadAt<uint32_t>(text, l.text_state) >> l.text_state_at;
  const uint32_t width = state & 7;
  const bool is_compact = (state >> 3 & 1) != 0, is_ascii = (state >> 4 & 1) != 0;
  if (!is_compact || length <= 0) return {};
  const auto n = static_cast<std::size_t>(length);
  if (is_ascii) return Names().Intern(text + l.text_ascii, n);
  if (width != 1 && width != 2 && width != 4) return {};
  return InternWide(text + l.text_other, width, n);
}

trace::StringId InternBytes(const Interpreter& python, const char* bytes) {
  const trace::PythonLayout& l = python.layout;
  if (bytes == nullptr || ReadAt<const char*>(bytes, l.object_type) != python.bytes_type) return {};
  const auto size = ReadAt<int64_t>(bytes, l.object_size);
  if (size <= 0) return {};
  return Names().InternBytes(bytes + l.bytes_data, static_cast<std::size_t>(size));
}

void Add(const PythonFunctionRow& row, const RowSource& source) {
  trace::ModuleRecord r;
  r.time_ns = source.clock.ToNs(row.stamp);
  r.id = row.number;
  r.module_kind = static_cast<uint8_t>(trace::ModuleKind::kPythonCode);
  r.path = row.file;
  r.name = row.name;
  r.first_line = row.first_line;
  r.line_table = row.line_table;
  r.python_version = row.version;
  source.output->Add(r, source.cursor);
}

// Said twice where salvage goes on in between, which is as good as once.
void Add(const PythonStackRow& row, const RowSource& source) {
  source.output->Add(trace::FrameRecord{row.number, row.function, row.offset});
  source.output->Add(trace::StackRecord{row.number, row.parent, row.number, static_cast<uint8_t>(row.is_cut), 0},
                     source.cursor);
}

}  // namespace

bool IsHidden(const Interpreter& python, const char* code) {
  const trace::PythonLayout& l = python.layout;
  return ReadAt<int32_t>(code, l.code_first_line) <= 0 && ReadAt<int64_t>(code, l.object_size) <= 4 &&
         l.version >= 0x030c;
}

bool AppendFunction(const Interpreter& python, const char* code, uint32_t number, ThreadLog* log) {
  const trace::PythonLayout& l = python.layout;
  if (ReadAt<const char*>(code, l.object_type) != python.code_type) return false;
  PythonFunctionRow row{};
  row.header = RowHeaderOf<PythonFunctionRow>(RowType::kPythonFunction);
  row.number = number;
  row.stamp = Stamp();
  row.file = InternText(python, ReadAt<const char*>(code, l.code_file));
  row.name = InternText(python, ReadAt<const char*>(code, l.code_name));
  row.line_table = InternBytes(python, ReadAt<const char*>(code, l.code_line_table));
  row.first_line = ReadAt<uint32_t>(code, l.code_first_line);
  row.version = l.version;
  return Append(log, row);
}

void ConvertPythonRow(const RowHeader* row, const RowSource& source) {
  if (row->type == RowType::kPythonFunction) return Add(*reinterpret_cast<const PythonFunctionRow*>(row), source);
  Add(*reinterpret_cast<const PythonStackRow*>(row), source);
}

}  // namespace gprof::tracer
