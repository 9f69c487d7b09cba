// The records of a trace as flat tables, one for each kind: what csv and jsonl write.
//
// Rows stand for themselves: what a record refers to (thread, device, launching call, NVTX path) is in its row.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "export/export.h"
#include "gprof/trace.h"

namespace gprof {

// Takes the values of a row in the order of the columns.
class RowWriter {
 public:
  virtual ~RowWriter() = default;
  virtual void Integer(int64_t value) = 0;
  virtual void Unsigned(uint64_t value) = 0;
  virtual void Real(double value) = 0;
  virtual void Truth(bool value) = 0;
  virtual void Text(std::string_view value) = 0;  // valid UTF-8
  virtual void Nothing() = 0;                     // not known, or there is none
  virtual void EndRow() = 0;
};

class RecordContext;

struct RecordTable {
  std::string_view name;  // the word for --kind, and the name of the file
  std::string_view meaning;
  std::span<const std::string_view> columns;
  void (*write)(RecordContext&, RowWriter&) = nullptr;
};

std::span<const RecordTable> AllRecordTables();

// What rows need of the trace beyond their record; made once for all tables.
class RecordContext {
 public:
  RecordContext(const Trace& trace, const ExportOptions& options);
  ~RecordContext();
  RecordContext(const RecordContext&) = delete;
  RecordContext& operator=(const RecordContext&) = delete;

  const Trace& trace() const { return trace_; }
  ExportProgress& progress() { return progress_; }
  std::string_view Clean(NameId name) const;
  // Names of a kernel, demangled; the short one is what reports show.
  std::string_view KernelName(NameId mangled);
  std::string_view ShortKernelName(NameId mangled);
  // Empty where the category has no name.
  std::string_view CategoryName(uint32_t domain, uint32_t category) const;

 private:
  struct Names;
  const Trace& trace_;
  ExportProgress progress_;
  std::unique_ptr<Names> names_;
};

// The tables that are asked for, all for an empty `kind`. Throws Error for an unknown kind.
std::span<const RecordTable> TablesOfKind(const std::string& kind);

}  // namespace gprof
