#include "collect/host/python_modules.h"

namespace gprof {

uint32_t PythonModules::NumberOf(pid_t pid, const PythonReader& reader, const PythonFrame& frame, int64_t now_ns,
                                 uint32_t* next, Journal* journal) {
  const std::tuple key(pid, frame.code, frame.key);
  if (const auto known = numbers_.find(key); known != numbers_.end()) return known->second;
  PythonCode code;
  if (!reader.CodeOf(frame.code, &code)) return 0;
  if (code.file == "<shim>") return numbers_[key] = kInterpretersOwn;
  trace::ModuleRecord record;
  record.time_ns = static_cast<uint64_t>(now_ns);
  record.id = (*next)++;
  record.pid = static_cast<uint32_t>(pid);
  record.module_kind = static_cast<uint8_t>(trace::ModuleKind::kPythonCode);
  record.path = journal->Name(code.file);
  record.name = journal->Name(code.name);
  record.first_line = code.first_line;
  record.line_table = journal->Name(code.line_table);
  record.python_version = reader.version();
  journal->Add(record);
  return numbers_[key] = record.id;
}

}  // namespace gprof
