// Writes the table of record kinds into docs/trace-format.md: format_table FILE. Without a name it prints the table.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "format_table.h"

int main(int argc, char** argv) {
  if (argc < 2) return std::fputs(gprof::FormatTable().c_str(), stdout) < 0 ? 1 : 0;
  std::ifstream in(argv[1], std::ios::binary);
  const std::string page{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::string updated = gprof::WithTable(page);
  if (updated.empty()) {
    std::fprintf(stderr, "format_table: '%s' has no markers for the table\n", argv[1]);
    return 1;
  }
  in.close();
  return std::ofstream(argv[1], std::ios::binary) << updated ? 0 : 1;
}
