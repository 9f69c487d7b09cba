// Functions of Python, and places in them, as rows of a thread.
#pragma once

#include <cstdint>

#include "tracer/python/interpreter.h"
#include "tracer/store/log_rows.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {

struct PythonFunctionRow {
  RowHeader header;
  uint32_t number;  // of its module record
  uint64_t stamp;
  trace::StringId file, name, line_table;
  uint32_t first_line;
  uint32_t version, unused;
};

// A stack: the place that the innermost frame is at, and the stack that called it.
struct PythonStackRow {
  RowHeader header;
  uint32_t number;  // of its stack record and its frame record
  uint32_t parent;
  uint32_t function;
  uint32_t offset;  // bytes into the instructions
  uint32_t is_cut;
};

// False: there is no room, or it is no code object.
bool AppendFunction(const Interpreter& python, const char* code, uint32_t number, ThreadLog* log);
// Code that the interpreter puts between two frames: Python itself does not show it either.
bool IsHidden(const Interpreter& python, const char* code);
// [writer thread, or salvage]
void ConvertPythonRow(const RowHeader* row, const RowSource& source);

}  // namespace gprof::tracer
