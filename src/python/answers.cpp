#include "python/answers.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <nlohmann/json.hpp>
#include <variant>

#include "analysis/facts/recording/unknown_facts.h"
#include "fleet/partial/partial_file.h"
#include "fleet/summarize/summarize_ranks.h"
#include "gprof/version.h"
#include "python/array_columns.h"
#include "python/layouts.h"
#include "python/pages.h"
#include "trace/file/mapped_file.h"

namespace gprof::python {
namespace {

// {rows, columns: [{name, format, is_constant, items, missing, texts}, ...]}: the last three are arrays, or null.
void ColumnsOfKind(const Input& input, const Question& question, Answer* answer) {
  Columns made = ColumnsOf(RequireRecords(input, "a table of records"), question.word);
  nlohmann::json columns = nlohmann::json::array();
  for (FinishedColumn& column : made.columns) {
    nlohmann::json described = {{"name", column.name}, {"format", column.format}, {"is_constant", column.is_constant}};
    described["items"] = answer->Add(std::move(column.items));
    described["missing"] = nullptr;
    described["texts"] = nullptr;
    if (!column.missing.empty()) described["missing"] = answer->Add(std::move(column.missing));
    if (column.type == ColumnType::kText) described["texts"] = answer->AddTexts(column.texts);
    columns.push_back(std::move(described));
  }
  answer->Say(nlohmann::json({{"rows", made.rows}, {"columns", columns}}).dump());
}

// {count, bytes, names, formats, offsets, items}: bytes of a record; items is an array.
void RecordsOfName(const Input& input, const Question& question, Answer* answer) {
  const RecordView view = ViewOf(RequireRecords(input, "an array of records"), question.word);
  nlohmann::json names = nlohmann::json::array(), formats = names, offsets = names;
  for (const Field& field : view.fields) {
    names.push_back(field.name);
    formats.push_back(field.format);
    offsets.push_back(field.offset);
  }
  const std::size_t items = answer->Add(view.owner, view.first, view.count * view.record_bytes);
  answer->Say(nlohmann::json({{"count", view.count},
                              {"bytes", view.record_bytes},
                              {"names", names},
                              {"formats", formats},
                              {"offsets", offsets},
                              {"items", items}})
                  .dump());
}

void ReportOfTrace(const Input& input, const Question& question, Answer* answer) {
  AnalysisOptions options;
  options.max_rows = static_cast<uint32_t>(question.count);
  options.min_gap_ns = question.ns;
  options.step = question.word;
  RefuseOptionsOfRecords(input, options);
  answer->Say(ReportOf(input, options));
}

void TextOfName(const Input& input, const Question& question, Answer* answer) {
  const auto& texts = HeadOf(input).strings;
  if (question.count < texts.size()) answer->Say(std::string(texts[question.count]));
}

struct Function {
  std::string_view name;
  void (*answer)(const Input&, const Question&, Answer*);
};
constexpr Function kOfTraces[] = {
    {"report", ReportOfTrace},
    {"columns", ColumnsOfKind},
    {"records", RecordsOfName},
    {"text", TextOfName},
    {"card", [](const Input& input, const Question&, Answer* answer) { answer->Say(Card(input)); }},
    {"page",
     [](const Input& input, const Question& question, Answer* answer) { answer->Say(Page(input, question.count)); }},
};

// {version, kinds: [[name, meaning, [column, ...]], ...], records: [name, ...]}, the same of every trace.
nlohmann::json AboutAll() {
  nlohmann::json kinds = nlohmann::json::array();
  for (const RecordTable& table : AllRecordTables()) kinds.push_back({table.name, table.meaning, table.columns});
  return {{"version", kVersion}, {"kinds", kinds}, {"records", RecordNames()}};
}

std::vector<std::string_view> LackingFacts(const TraceHead& trace) {
  std::vector<std::string_view> keys;
  ForEachFact(trace.lacks, [&](Fact fact) { keys.push_back(InfoOf(fact).key); });
  return keys;
}

// The same, and what of a trace is small; the texts that programs gave are arrays.
void AboutTrace(const Input& input, Answer* answer) {
  const TraceHead& trace = HeadOf(input);
  answer->AddTexts({trace.path, trace.recorder, Summary(input)});
  nlohmann::json about = AboutAll();
  about.update({{"start_ns", trace.start_ns},
                {"end_ns", trace.end_ns},
                {"is_complete", trace.health.IsComplete()},
                {"texts", trace.strings.size()},
                {"lacks", LackingFacts(trace)}});
  answer->Say(about.dump());
}

void AnswerWithoutTrace(const Question& question, Answer* answer) {
  if (question.function == "about") {
    answer->Say(AboutAll().dump());
  } else if (question.function == "abandoned") {  // the partial of a trace that a worker died of
    answer->Say(WritePartial({UnreadableRank(question.word, "its worker was killed each time")}));
  } else if (question.function == "open_file") {
    OpenFile(question.word);
  } else {
    throw Error(ExitCode::kUsage, "'" + question.function + "' is no question about nothing, or no question at all",
                "docs/commands/arrays.md lists them");
  }
}

// A question that fails is answered as well.
Answer Answered(const std::function<void(Answer*)>& work) {
  Answer answer;
  try {
    work(&answer);
  } catch (const Error& failure) {
    answer.Fail(failure);
  } catch (const std::exception& failure) {
    answer.Fail(Error(ExitCode::kBug, failure.what()));
  }
  return answer;
}

}  // namespace

void Answer::Fail(const Error& failure) {
  const auto* of_file = dynamic_cast<const FileError*>(&failure);
  error_ = failure.code() == ExitCode::kUnreadable ? "input" : "other";
  if (of_file != nullptr) error_ = of_file->number() == ENOENT ? "not_found" : "file";
  errno_ = of_file != nullptr ? of_file->number() : 0;
  code_ = static_cast<int>(failure.code());
  said_ = failure.what();
  hint_ = failure.hint();
  arrays_.clear();
}

std::size_t Answer::Add(std::shared_ptr<const void> owner, const void* first, std::size_t bytes) {
  owners_.push_back(std::move(owner));
  arrays_.emplace_back(static_cast<const char*>(first), bytes);
  return arrays_.size() - 1;
}

std::size_t Answer::AddTexts(const std::vector<std::string>& texts) {
  std::vector<uint64_t> lengths;
  std::vector<char> bytes;
  for (const std::string& one : texts) {
    lengths.push_back(one.size());
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  const std::size_t first = Add(std::move(lengths));
  Add(std::move(bytes));
  return first;
}

bool Answer::Write(const std::function<bool(std::string_view)>& write) const {
  std::vector<std::size_t> lengths;
  for (const std::string_view array : arrays_) lengths.push_back(array.size());
  const nlohmann::json line = {{"text", said_.size()}, {"hint", hint_.size()}, {"arrays", lengths},
                               {"error", error_},      {"code", code_},        {"errno", errno_}};
  if (!write(line.dump() + "\n" + said_ + hint_)) return false;
  return std::all_of(arrays_.begin(), arrays_.end(), [&](std::string_view array) { return write(array); });
}

Answer Answers::Open(const std::string& path) {
  return Answered([&](Answer* answer) {
    input_ = ReadInput(path);
    AboutTrace(*input_, answer);
  });
}

Answer Answers::To(const Question& question) const {
  return Answered([&](Answer* answer) {
    const auto* const function = std::find_if(std::begin(kOfTraces), std::end(kOfTraces), [&](const Function& known) {
      return input_ && known.name == question.function;
    });
    if (function == std::end(kOfTraces)) return AnswerWithoutTrace(question, answer);
    function->answer(*input_, question, answer);
  });
}

}  // namespace gprof::python
