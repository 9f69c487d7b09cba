// The functions that gprof_cli/_core.py calls by ctypes. They know nothing of Python, so that one file serves every
// version of it: texts are bytes, structures are JSON, and arrays are buffers that live as long as the answer they came
// with.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/facts/recording/unknown_facts.h"
#include "base/machine/parallel.h"
#include "fleet/partial/partial_file.h"
#include "fleet/read_input.h"
#include "fleet/summarize/summarize_ranks.h"
#include "fleet/verdict/fleet_verdict.h"
#include "gprof/version.h"
#include "import/read_trace.h"
#include "python/array_columns.h"
#include "python/layouts.h"
#include "python/pages.h"
#include "trace/file/mapped_file.h"

#define GPROF_CALLED_BY_PYTHON extern "C" __attribute__((visibility("default")))

// As _core.py declares them.
extern "C" {
struct GprofBuffer {
  const void* first;
  std::size_t bytes;
};
struct GprofAnswer {
  const char* text;
  std::size_t text_bytes;
  const char* hint;  // of an error
  std::size_t hint_bytes;
  const GprofBuffer* buffers;
  std::size_t buffer_count;
  int32_t error;   // ErrorKind; then `text` is what failed
  int32_t code;    // that a command would exit with
  int32_t number;  // errno of a file
};
}

namespace gprof::python {
namespace {

enum ErrorKind : int32_t { kNone, kError, kFile, kNotFound, kInput };

struct Answer : GprofAnswer {
  Answer() : GprofAnswer{} {}

  // The number of the buffer.
  std::size_t Add(std::shared_ptr<const void> owner, const void* first, std::size_t bytes) {
    owners_.push_back(std::move(owner));
    buffers_.push_back({first, bytes});
    return buffers_.size() - 1;
  }
  template <class Item>
  std::size_t Add(std::vector<Item>&& items) {
    const auto owner = std::make_shared<const std::vector<Item>>(std::move(items));
    return Add(owner, owner->data(), owner->size() * sizeof(Item));
  }
  // Their lengths, and in the next buffer their bytes: names come from programs, and may be no UTF-8.
  std::size_t AddTexts(const std::vector<std::string>& texts) {
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
  void Say(std::string words) { said_ = std::move(words); }
  void Fail(const Error& failure) {
    const auto* of_file = dynamic_cast<const FileError*>(&failure);
    error = failure.code() == ExitCode::kUnreadable ? kInput : kError;
    if (of_file != nullptr) error = of_file->number() == ENOENT ? kNotFound : kFile;
    number = of_file != nullptr ? of_file->number() : 0;
    code = static_cast<int32_t>(failure.code());
    said_ = failure.what();
    hint_ = failure.hint();
  }
  Answer* Finish() {
    text = said_.data();
    text_bytes = said_.size();
    hint = hint_.data();
    hint_bytes = hint_.size();
    buffers = buffers_.data();
    buffer_count = buffers_.size();
    return this;
  }

 private:
  std::string said_, hint_;
  std::vector<GprofBuffer> buffers_;
  std::vector<std::shared_ptr<const void>> owners_;
};

// What is asked about a trace, or results in its place: a word and two numbers, which mean what the function says.
struct Question {
  const Input* input;
  std::string word;
  uint64_t count;
  int64_t ns;
};

// Nothing is thrown into C.
GprofAnswer* Answered(const std::function<void(Answer*)>& work) noexcept {
  auto answer = std::make_unique<Answer>();
  try {
    work(answer.get());
  } catch (const Error& failure) {
    answer->Fail(failure);
  } catch (const std::exception& failure) {
    answer->Fail(Error(ExitCode::kBug, failure.what()));
  }
  return answer.release()->Finish();
}

// [[name, meaning, [column, ...]], ...]
void Kinds(const Question&, Answer* answer) {
  nlohmann::json kinds = nlohmann::json::array();
  for (const RecordTable& table : AllRecordTables()) kinds.push_back({table.name, table.meaning, table.columns});
  answer->Say(kinds.dump());
}

void ReportOf(const Question& question, Answer* answer) {
  AnalysisOptions options;
  options.max_rows = static_cast<uint32_t>(question.count);
  options.min_gap_ns = question.ns;
  options.step = question.word;
  RefuseOptionsOfRecords(*question.input, options);
  answer->Say(python::ReportOf(*question.input, options));
}

// {rows, columns: [{name, format, is_constant, items, missing, texts}, ...]}: the last three are buffers, or null.
void ColumnsOfKind(const Question& question, Answer* answer) {
  Columns made = ColumnsOf(RequireRecords(*question.input, "a table of records"), question.word);
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

// {count, bytes, names, formats, offsets, items}: bytes of a record; items is a buffer.
nlohmann::json Described(const RecordView& view, Answer* answer) {
  nlohmann::json names = nlohmann::json::array(), formats = names, offsets = names;
  for (const Field& field : view.fields) {
    names.push_back(field.name);
    formats.push_back(field.format);
    offsets.push_back(field.offset);
  }
  return {{"count", view.count}, {"bytes", view.record_bytes},
          {"names", names},      {"formats", formats},
          {"offsets", offsets},  {"items", answer->Add(view.owner, view.first, view.count * view.record_bytes)}};
}

// {name: as described}, null for those of Unpacked().
void Records(const Question& question, Answer* answer) {
  const Trace& trace = RequireRecords(*question.input, "an array of records");
  nlohmann::json all = nlohmann::json::object();
  for (const RecordView& view : RecordViews(trace)) all[view.name] = Described(view, answer);
  for (const std::string& name : PackedNames()) all[name] = nullptr;
  answer->Say(all.dump());
}

void Unpacked(const Question& question, Answer* answer) {
  const Trace& trace = RequireRecords(*question.input, "an array of records");
  answer->Say(Described(Unpack(trace, question.word), answer).dump());
}

std::vector<std::string_view> LackingFacts(const TraceHead& trace) {
  std::vector<std::string_view> keys;
  ForEachFact(trace.lacks, [&](Fact fact) { keys.push_back(InfoOf(fact).key); });
  return keys;
}

// {recorder, ...} of what is small.
void About(const Question& question, Answer* answer) {
  const TraceHead& trace = HeadOf(*question.input);
  answer->AddTexts({trace.path, trace.recorder, python::Summary(*question.input)});
  answer->Say(nlohmann::json({{"start_ns", trace.start_ns},
                              {"end_ns", trace.end_ns},
                              {"is_complete", trace.health.IsComplete()},
                              {"texts", trace.strings.size()},
                              {"lacks", LackingFacts(trace)}})
                  .dump());
}

void TextOfName(const Question& question, Answer* answer) {
  answer->Say(std::string(HeadOf(*question.input).strings[question.count]));
}

// The partial of the trace `word`, made by no more than `count` threads; of one that cannot be read it says why.
void PartialOf(const Question& question, Answer* answer) {
  const CoreLimit limit(question.count);
  try {
    answer->Say(WritePartial(SummarizeRanks(ReadTrace(question.word))));
  } catch (const Error& error) {
    answer->Say(WritePartial({UnreadableRank(question.word, error.what())}));
  }
}

// The partial of a trace that a worker died of.
void Abandoned(const Question& question, Answer* answer) {
  answer->Say(WritePartial({UnreadableRank(question.word, "its worker was killed each time")}));
}

void UnionOf(const GprofBuffer* partials, std::size_t count, Answer* answer) {
  std::vector<NamedBytes> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    inputs.push_back(
        {"partial " + std::to_string(i), {static_cast<const char*>(partials[i].first), partials[i].bytes}});
  }
  std::string merged;
  MergePartials(inputs, [&merged](std::string_view piece) { merged += piece; });
  answer->Say(std::move(merged));
}

void PageOf(const Question& question, Answer* answer) { answer->Say(Page(*question.input, question.count)); }

struct Function {
  std::string_view name;
  void (*answer)(const Question&, Answer*);
};
constexpr Function kFunctions[] = {
    {"kinds", Kinds},
    {"about", About},
    {"report", ReportOf},
    {"columns", ColumnsOfKind},
    {"records", Records},
    {"unpacked", Unpacked},
    {"card", [](const Question& question, Answer* answer) { answer->Say(Card(*question.input)); }},
    {"page", PageOf},
    {"text", TextOfName},
    {"partial", PartialOf},
    {"abandoned", Abandoned},
    {"open_file", [](const Question& question, Answer*) { OpenFile(question.word); }},
};

}  // namespace
}  // namespace gprof::python

GPROF_CALLED_BY_PYTHON const char* gprof_version() { return gprof::kVersion; }

// The trace, or null: then the answer says why.
GPROF_CALLED_BY_PYTHON void* gprof_open(const char* path, GprofAnswer** answer) {
  std::unique_ptr<gprof::Input> input;
  *answer = gprof::python::Answered([&](auto*) { input = std::make_unique<gprof::Input>(gprof::ReadInput(path)); });
  return input.release();
}

// No buffer of its records may be looked at any more.
GPROF_CALLED_BY_PYTHON void gprof_close(void* trace) { delete static_cast<gprof::Input*>(trace); }

GPROF_CALLED_BY_PYTHON GprofAnswer* gprof_ask(const void* trace, const char* function, const char* word, uint64_t count,
                                              int64_t ns) {
  using gprof::python::kFunctions;
  return gprof::python::Answered([&](gprof::python::Answer* answer) {
    const gprof::python::Question question{static_cast<const gprof::Input*>(trace), word, count, ns};
    for (const auto& known : kFunctions) {
      if (known.name == function) return known.answer(question, answer);
    }
  });
}

// The union of partials.
GPROF_CALLED_BY_PYTHON GprofAnswer* gprof_merge(const GprofBuffer* partials, size_t count) {
  return gprof::python::Answered([&](auto* answer) { gprof::python::UnionOf(partials, count, answer); });
}

// What `gprof-cli ranks --format json` prints of a partial.
GPROF_CALLED_BY_PYTHON GprofAnswer* gprof_judge(const GprofBuffer* partial, uint32_t rows) {
  return gprof::python::Answered([&](auto* answer) {
    auto ranks = gprof::ReadPartial({static_cast<const char*>(partial->first), partial->bytes}, "partial");
    answer->Say(gprof::VerdictJson(gprof::JudgeFleet(&ranks, rows)));
  });
}

// Nor any of its buffers.
GPROF_CALLED_BY_PYTHON void gprof_free(GprofAnswer* answer) { delete static_cast<gprof::python::Answer*>(answer); }
