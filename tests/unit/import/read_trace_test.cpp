#include "import/read_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "database.h"
#include "gprof/error.h"
#include "trace/text/assemble.h"

namespace gprof {
namespace {

using namespace std::string_view_literals;
using testing::HasSubstr;

TEST(ReadTrace, TellsFormatsByTheirFirstBytes) {
  EXPECT_EQ(FormatOf("SQLite format 3\0 and so on"sv), TraceFormat::kSqlite);
  EXPECT_EQ(FormatOf("\x1F\x8B\x08"sv), TraceFormat::kGzip);
  EXPECT_EQ(FormatOf(" \n{\"traceEvents\": []}"), TraceFormat::kJson);
  EXPECT_EQ(FormatOf("\xEF\xBB\xBF[{}]"), TraceFormat::kJson);
  EXPECT_EQ(FormatOf(AssembleTrace("thread tid=1\n")), TraceFormat::kGprof);
  EXPECT_EQ(FormatOf("\x80\x04]."), TraceFormat::kPickle);
  EXPECT_EQ(FormatOf(""), TraceFormat::kUnknown);
  EXPECT_EQ(FormatOf("dear diary"), TraceFormat::kUnknown);
}

TEST(ReadTrace, ReadsWhateverTheNameIs) {
  const TestDatabase export_file(std::string(NewSchema()) + std::string(SmallCapture()), "run.trace");
  EXPECT_EQ(ReadTrace(export_file.path()).ops.size(), 3u);
  export_file.SetBytes(AssembleTrace("thread tid=1 name=\"main\"\nend time_ns=5 reason=1\n"));
  const Trace own = ReadTrace(export_file.path());
  EXPECT_EQ(own.threads.size(), 1u);
  EXPECT_EQ(own.recorder, "");
  EXPECT_FALSE(own.Lacks(Fact::kApiCalls));
}

std::string WhatOf(std::string_view name, std::string_view bytes, ExitCode code = ExitCode::kUnreadable) {
  const TestDatabase file("", name);
  file.SetBytes(bytes);
  try {
    ReadTrace(file.path());
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code);
    EXPECT_THAT(e.what(), HasSubstr(file.path()));
    return std::string(e.what()) + " | " + e.hint();
  }
  return "was read";
}

TEST(ReadTrace, SaysWhatToDoWithWhatItDoesNotRead) {
  EXPECT_THAT(WhatOf("a.nsys-rep", "\x01\x02\x03\x04"sv),
              testing::AllOf(HasSubstr("an Nsight Systems report"), HasSubstr("nsys export --type sqlite")));
  EXPECT_THAT(WhatOf("notes.txt", "dear diary\n"),
              testing::AllOf(HasSubstr("run.trace"), HasSubstr("Nsight Systems"), HasSubstr("Kineto")));
  EXPECT_THAT(WhatOf("noise", "\x01\xFE\xFF"sv), HasSubstr("Kineto"));
  EXPECT_THAT(WhatOf("a.runs.json", "{\n  \"schema\": \"gprof.runs/1\"}"), HasSubstr("gprof-cli document"));
  EXPECT_THAT(WhatOf("empty", ""), HasSubstr("empty"));
}

}  // namespace
}  // namespace gprof
