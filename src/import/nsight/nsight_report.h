// Reports of Nsight Systems (.nsys-rep): read by way of the SQLite export that nsys itself makes of them.
#pragma once

#include <functional>
#include <string>

#include "gprof/trace.h"

namespace gprof {

bool IsNsightReport(const std::string& path);

// Lets ReadTrace run `nsys export`, which may take minutes: `say` is told before. Without this call such reports are
// refused with the line to type, as a library starts no programs.
void AllowNsysExport(std::function<void(const std::string&)> say);

// Takes the export beside the report where there is one that is not older, and makes one in $TMPDIR otherwise, which is
// removed when it has been read. Throws Error where nsys is missing or fails.
Trace ReadNsightReport(const std::string& path);

}  // namespace gprof
