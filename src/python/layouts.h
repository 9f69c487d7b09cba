// Where the fields of the records of the model are, so that NumPy can look at the vectors of Trace as they are.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gprof/trace.h"

namespace gprof::python {

struct Field {
  std::string name, format;  // NumPy's: "<i8"
  std::size_t offset = 0;
};

struct RecordView {
  std::string name;          // of the vector in Trace: "ops"
  std::vector<Field> fields;
  std::size_t record_bytes = 0, count = 0;
  const void* first = nullptr;
};

// All of them, pointing into the trace.
std::vector<RecordView> RecordViews(const Trace& trace);

}  // namespace gprof::python
