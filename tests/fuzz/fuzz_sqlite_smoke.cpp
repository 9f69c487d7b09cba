// A short run that is the same every time: bytes of a database changed, and values of its tables.
//   fuzz_sqlite_smoke          the test
//   fuzz_sqlite_smoke FOLDER   writes seeds for fuzz_sqlite
#include <cstdio>
#include <fstream>
#include <string>

#include "database.h"
#include "random_trace.h"
#include "sqlite_target.h"

namespace gprof {
namespace {

constexpr int kByteRounds = 150, kValueRounds = 150;

// Small pages: more of the file is structure.
std::string SeedSql(std::string_view schema) {
  return "PRAGMA page_size=512;" + std::string(schema) + std::string(SmallCapture());
}

// clang-format off
constexpr std::string_view kCells[] = {
    "CUPTI_ACTIVITY_KIND_KERNEL.start", "CUPTI_ACTIVITY_KIND_KERNEL.end", "CUPTI_ACTIVITY_KIND_KERNEL.deviceId",
    "CUPTI_ACTIVITY_KIND_KERNEL.contextId", "CUPTI_ACTIVITY_KIND_KERNEL.streamId", "CUPTI_ACTIVITY_KIND_KERNEL.gridX",
    "CUPTI_ACTIVITY_KIND_KERNEL.correlationId", "CUPTI_ACTIVITY_KIND_KERNEL.globalPid",
    "CUPTI_ACTIVITY_KIND_KERNEL.demangledName", "CUPTI_ACTIVITY_KIND_MEMCPY.start", "CUPTI_ACTIVITY_KIND_MEMCPY.bytes",
    "CUPTI_ACTIVITY_KIND_MEMCPY.copyKind", "CUPTI_ACTIVITY_KIND_RUNTIME.start", "CUPTI_ACTIVITY_KIND_RUNTIME.end",
    "CUPTI_ACTIVITY_KIND_RUNTIME.globalTid", "CUPTI_ACTIVITY_KIND_RUNTIME.correlationId",
    "CUPTI_ACTIVITY_KIND_RUNTIME.nameId", "NVTX_EVENTS.start", "NVTX_EVENTS.end", "NVTX_EVENTS.eventType",
    "NVTX_EVENTS.text", "NVTX_EVENTS.globalTid", "StringIds.value"};
// clang-format on
// clang-format off
constexpr std::string_view kValues[] = {
    "NULL", "0", "-1", "1", "9223372036854775807", "-9223372036854775808", "4294967295", "4294967296", "1e300", "0.5",
    "'text'", "x'00ff'", "576460752303423488", "-5000", "75", "33", "60", "34", "98", "11", "10", "zeroblob(100000)",
    "printf('%.*c', 100000, 'x')"};
// clang-format on

std::string RandomUpdate(Random& random) {
  const std::string cell(kCells[random.Below(std::size(kCells))]);
  const std::size_t dot = cell.find('.');
  return "UPDATE OR IGNORE " + cell.substr(0, dot) + " SET " + cell.substr(dot + 1) + " = " +
         std::string(kValues[random.Below(std::size(kValues))]) +
         " WHERE rowid % 2 = " + std::to_string(random.Below(2)) + ";";
}

void Run() {
  Random random(2026);
  for (const std::string_view schema : {NewSchema(), OldSchema()}) {
    const TestDatabase seed(SeedSql(schema));
    const std::string bytes = seed.Bytes();
    for (int round = 0; round < kByteRounds / 2; ++round) {
      std::string mutated = bytes;
      for (uint64_t n = 1 + random.Below(8); n > 0; --n) {
        mutated[random.Below(mutated.size())] = static_cast<char>(random.Next());
      }
      if (random.Below(4) == 0) mutated.resize(random.Below(mutated.size()));
      FuzzSqlite(mutated);
    }
    for (int round = 0; round < kValueRounds / 2; ++round) {
      std::string sql = "BEGIN;";
      for (uint64_t n = 1 + random.Below(5); n > 0; --n) sql += RandomUpdate(random);
      seed.SetBytes(bytes);
      seed.Run(sql + "COMMIT;");
      FuzzSqliteFile(seed.path());
    }
  }
}

}  // namespace
}  // namespace gprof

int main(int argc, char** argv) {
  if (argc > 1) {
    int number = 0;
    for (const std::string_view schema : {gprof::NewSchema(), gprof::OldSchema()}) {
      std::ofstream(std::string(argv[1]) + "/seed" + std::to_string(number++), std::ios::binary)
          << gprof::TestDatabase(gprof::SeedSql(schema)).Bytes();
    }
    return 0;
  }
  gprof::Run();
  std::puts("fuzz_sqlite_smoke: done");
  return 0;
}
