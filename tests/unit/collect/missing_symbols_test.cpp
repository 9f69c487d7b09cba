#include "collect/symbols/missing_symbols.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "fake_run.h"
#include "gprof/error.h"
#include "gprof/trace.h"
#include "trace/write/chunk_writer.h"
#include "trace/write/dictionary.h"
#include "unwind/address_space.h"
#include "unwind/symbols.h"

namespace gprof {

// Has a name that nothing else has.
__attribute__((noinline)) int FunctionWithoutName(int value) {
  asm volatile("" : "+r"(value));
  return value + 1;
}

namespace {

constexpr trace::ProcessKey kCollector = {1, 2, 3, 0};

// The library that this program is, as a trace has it that was recorded elsewhere.
struct Stripped {
  std::string build_id;
  uint64_t offset = 0;

  Stripped() {
    CodeFiles files;
    const std::optional<AddressSpace> space = AddressSpace::Of(getpid(), &files);
    const auto address = reinterpret_cast<uint64_t>(&FunctionWithoutName);
    const CodeMapping* const mapping = space->Find(address);
    build_id = mapping->file->Image()->build_id();
    offset = address - mapping->Bias();
  }

  std::string Trace() const {
    Dictionary dictionary;
    std::string bytes;
    ChunkWriter writer(&dictionary, {.process = kCollector, .is_collector = true});
    trace::ModuleRecord module;
    module.id = 1;
    module.module_kind = static_cast<uint8_t>(trace::ModuleKind::kFile);
    module.path = dictionary.String("/elsewhere/app");
    module.build_id = dictionary.String(build_id);
    writer.Add(module);
    writer.Add(trace::FrameRecord{1, 1, offset + 1});
    writer.Add(trace::FrameRecord{2, 1, uint64_t{1} << 40});  // of nothing
    writer.Add(trace::FrameRecord{3, 1, offset + 2});
    trace::SymbolRecord known;
    known.frame = 3;
    known.name = dictionary.String("known");
    writer.Add(known);
    writer.Take(&bytes);
    return bytes;
  }
};

class MissingSymbolsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (stripped_.build_id.empty()) GTEST_SKIP() << "this program has no build id";
    setenv("DEBUGINFOD_CACHE_PATH", (folder_.path() + "/cache").c_str(), 1);
  }

  // Puts this program where the symbols of the library are looked for.
  void Link(const std::string& path) {
    for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
      mkdir(path.substr(0, at).c_str(), 0700);
    }
    ASSERT_EQ(symlink("/proc/self/exe", path.c_str()), 0) << path;
  }

  void ExpectNamed(const DebugFileOptions& options) {
    const std::string bytes = stripped_.Trace();
    const MissingSymbols found = FindMissingSymbols(bytes, "run.trace", options);
    ASSERT_EQ(found.files.size(), 1u);
    EXPECT_EQ(found.files[0].path, "/elsewhere/app");
    EXPECT_EQ(found.files[0].frames, 2u);
    EXPECT_EQ(found.files[0].named, 1u);
    const std::string whole = bytes + found.chunks;
    const Trace trace = LoadTraceFromMemory(whole, "run.trace");
    EXPECT_EQ(trace.health.missing_chunks + trace.health.duplicate_chunks + trace.health.damaged_chunks, 0u);
    ASSERT_EQ(trace.symbols.size(), 2u);
    EXPECT_EQ(trace.Text(trace.symbols[0].name), "_ZN5gprof19FunctionWithoutNameEi");
    EXPECT_EQ(trace.symbols[0].function_offset, stripped_.offset);
    EXPECT_EQ(trace.Text(trace.symbols[1].name), "known");
    EXPECT_EQ(trace.Text(trace.modules[0].path), "/elsewhere/app");
    EXPECT_EQ(FindMissingSymbols(whole, "run.trace", options).chunks, "");
  }

  const Stripped stripped_;
  TemporaryFolder folder_;
};

TEST_F(MissingSymbolsTest, AreFoundInAFolder) {
  Link(DebugFileIn(folder_.path() + "/debug", stripped_.build_id));
  ExpectNamed({{folder_.path() + "/nothing", folder_.path() + "/debug"}});
}

TEST_F(MissingSymbolsTest, AreFoundInTheCacheOfDebuginfod) {
  Link(folder_.path() + "/cache/" + stripped_.build_id + "/debuginfo");
  ExpectNamed({});
}

TEST_F(MissingSymbolsTest, AreFetched) {
  const std::string program = folder_.path() + "/debuginfod-find";
  Link(folder_.path() + "/fetched");
  std::ofstream(program) << "#!/bin/sh\n[ \"$1 $2\" = 'debuginfo " << stripped_.build_id << "' ] && echo "
                         << folder_.path() << "/fetched\n";
  ASSERT_EQ(chmod(program.c_str(), 0700), 0);
  setenv("PATH", (folder_.path() + ":" + std::getenv("PATH")).c_str(), 1);
  ExpectNamed({{}, true});
}

TEST_F(MissingSymbolsTest, AreNotTakenFromAnotherBuild) {
  Stripped other = stripped_;
  other.build_id[0] = other.build_id[0] == '0' ? '1' : '0';
  Link(DebugFileIn(folder_.path() + "/debug", other.build_id));
  const MissingSymbols found = FindMissingSymbols(other.Trace(), "run.trace", {{folder_.path() + "/debug"}});
  EXPECT_EQ(found.chunks, "");
  ASSERT_EQ(found.files.size(), 1u);
  EXPECT_EQ(found.files[0].named, 0u);
  other.build_id = "../../etc";
  EXPECT_EQ(FindMissingSymbols(other.Trace(), "run.trace", {{folder_.path() + "/debug"}}).chunks, "");
}

TEST_F(MissingSymbolsTest, RefuseWhatIsNoTrace) {
  EXPECT_THROW(FindMissingSymbols("not a trace", "run.trace", {}), Error);
}

}  // namespace
}  // namespace gprof
