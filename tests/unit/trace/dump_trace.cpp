// A trace on stdin or named, its text on stdout: dump without the command line program.
#include <cstdio>
#include <string>

#include "gprof/error.h"
#include "trace/file/mapped_file.h"
#include "trace/text/dump.h"

int main(int argc, char** argv) {
  try {
    gprof::DumpOptions options;
    options.path = argc > 1 ? argv[1] : "/dev/stdin";
    const gprof::MappedFile file(options.path);
    gprof::DumpRecords(file.bytes(), options, [](std::string_view line) {
      std::fwrite(line.data(), 1, line.size(), stdout);
      std::fputc('\n', stdout);
    });
    return std::fflush(stdout) == 0 ? 0 : 1;
  } catch (const gprof::Error& e) {
    std::fprintf(stderr, "dump_trace: %s\nhint: %s\n", e.what(), e.hint().c_str());
    return static_cast<int>(e.code());
  }
}
