// Reading a whole trace with something else than the builder: dump does.
#pragma once

#include <string>
#include <string_view>

#include "trace/file/reader.h"

namespace gprof {

// Throws Error when there was no chunk of ours in `bytes`, saying what the file is instead. `reader` has read it all.
void CheckIsTrace(const Reader& reader, std::string_view bytes, const std::string& path);

// Throws Error for what needs no reading to know: empty files, other formats.
void CheckStart(std::string_view bytes, const std::string& path);

// Throws Error for more records than the model can number.
void CheckSize(const RecordCounts& counts, const std::string& path);

}  // namespace gprof
