// Where the fields of the records of the model are, so that NumPy can look at the vectors of Trace as they are in
// memory. Operations, calls and ranges are packed there: those are unpacked for it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gprof/trace.h"

namespace gprof::python {

struct Field {
  std::string name, format;  // NumPy's: "<i8"
  std::size_t offset = 0;
};

struct RecordView {
  std::string name;  // of the vector in Trace: "ops"
  std::vector<Field> fields;
  std::size_t record_bytes = 0, count = 0;
  const void* first = nullptr;
  std::shared_ptr<const void> owner{};  // of what is not a part of the trace
};

// Names of the vectors of a trace.
std::vector<std::string> RecordNames();

// One of them, pointing into the trace, or unpacked into memory of its own. Throws Error where there is none.
RecordView ViewOf(const Trace& trace, const std::string& name);

}  // namespace gprof::python
