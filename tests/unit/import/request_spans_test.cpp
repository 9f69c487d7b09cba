#include "import/spans/request_spans.h"

#include <gtest/gtest.h>

#include <string>

#include "gprof/error.h"

namespace gprof {
namespace {

std::string Attribute(const std::string& key, const std::string& value) {
  return R"({"key":")" + key + R"(","value":)" + value + "}";
}

std::string SpanText(const std::string& start, const std::string& attributes) {
  return R"({"name":"llm_request","startTimeUnixNano":)" + start + R"(,"endTimeUnixNano":"1700000000500000001",)" +
         R"("attributes":[)" + attributes + "]}";
}

std::string Document(const std::string& spans, const std::string& scopes = "scopeSpans") {
  return R"({"resourceSpans":[{"resource":{},")" + scopes + R"(":[{"spans":[)" + spans + "]}]}]}\n";
}

const std::string kId = Attribute("gen_ai.request.id", R"({"stringValue":"a\"b"})");

TEST(RequestSpans, HaveWhatTheEngineMeasuredToTheNanosecond) {
  const std::string text =
      Document(SpanText(R"("1700000000000000001")",
                        kId + "," + Attribute("gen_ai.latency.time_to_first_token", R"({"doubleValue":0.123456789})") +
                            "," + Attribute("gen_ai.latency.time_in_queue", R"({"intValue":"0"})") + "," +
                            Attribute("gen_ai.usage.prompt_tokens", R"({"intValue":"512"})") + "," +
                            Attribute("gen_ai.usage.completion_tokens", R"({"intValue":8})")));
  const RequestSpans read = RequestSpansOf(text, "f");
  ASSERT_EQ(read.spans.size(), 1u);
  const RequestSpan& span = read.spans.front();
  EXPECT_EQ(span.request, "a\"b");
  EXPECT_EQ(span.start_unix_ns, 1700000000000000001);
  EXPECT_EQ(span.first_token_ns, 123456789);
  EXPECT_EQ(span.queue_ns, 0);
  EXPECT_EQ(span.end_ns, 500000000) << "by the span, where no attribute tells";
  EXPECT_EQ(span.prompt_tokens, 512);
  EXPECT_EQ(span.output_tokens, 8);
  EXPECT_FALSE(read.is_cut);
}

TEST(RequestSpans, AreOfSeveralDocumentsInOrder) {
  const std::string latency = "," + Attribute("gen_ai.latency.e2e", R"({"doubleValue":1})");
  const std::string rid = Attribute("rid", R"({"stringValue":"b"})");
  const std::string text = Document(SpanText("9", kId + latency)) +
                           Document(SpanText("5", rid + latency), "instrumentationLibrarySpans") +
                           Document(SpanText("7", kId)) + R"({"resourceMetrics":[]})";
  const RequestSpans read = RequestSpansOf(text, "f");
  ASSERT_EQ(read.spans.size(), 2u);
  EXPECT_EQ(read.spans[0].request, "b");
  EXPECT_EQ(read.spans[1].start_unix_ns, 9);
  EXPECT_EQ(read.other_spans, 1u) << "it has no latency";
}

TEST(RequestSpans, NumbersThatAreNoneAreNotKnown) {
  for (const char* value : {"-0.5", "NaN", "1e300", "null", "\"x\""}) {
    const std::string text = Document(
        SpanText("5", kId + "," + Attribute("gen_ai.latency.e2e", R"({"doubleValue":1})") + "," +
                          Attribute("gen_ai.latency.time_in_queue", R"({"doubleValue":)" + std::string(value) + "}")));
    EXPECT_FALSE(RequestSpansOf(text, "f").spans.front().queue_ns) << value;
  }
}

TEST(RequestSpans, AFileThatWasCutHasThoseBefore) {
  const std::string whole =
      Document(SpanText("9", kId + "," + Attribute("gen_ai.latency.e2e", R"({"doubleValue":1})")));
  const RequestSpans read = RequestSpansOf(whole + whole.substr(0, whole.size() - 9), "f");
  EXPECT_TRUE(read.is_cut);
  EXPECT_EQ(read.spans.size(), 1u);
  EXPECT_THROW(RequestSpansOf(whole.substr(0, whole.size() - 9), "f"), Error);
}

TEST(RequestSpans, RefuseWhatIsNoSuchFile) {
  for (const char* text :
       {"", "{}", "[", "[1]", R"({"resourceSpans":5})", R"({"resourceSpans":[5]})",
        R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[7]}]}]}]})", R"({"resourceSpans":[]})"}) {
    EXPECT_THROW(RequestSpansOf(text, "f"), Error) << text;
  }
  EXPECT_THROW(ReadRequestSpans("/nowhere/at/all.json"), Error);
}

}  // namespace
}  // namespace gprof
