// Databases for the importer of Nsight Systems. Anything but gprof::Error is a bug.
#pragma once

#include <string>
#include <string_view>

namespace gprof {

// Reads the bytes as an export, through a file of their own.
void FuzzSqlite(std::string_view bytes);

// The same for a database that is there.
void FuzzSqliteFile(const std::string& path);

}  // namespace gprof
