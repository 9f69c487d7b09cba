// gprof-cli arrays: a trace for other languages, which ask for what they want of it. docs/commands/arrays.md
#include <CLI/CLI.hpp>
#include <cstddef>
#include <iostream>
#include <limits>
#include <string>

#include "cli/commands/commands.h"
#include "cli/talk.h"
#include "python/answers.h"

namespace gprof::cli {
namespace {

// "FUNCTION COUNT NS BYTES", a newline, and a word of so many bytes.
bool ReadQuestion(std::istream& in, python::Question* question) {
  constexpr std::size_t kLongestWord = 1 << 20;
  std::size_t bytes = 0;
  if (!(in >> question->function >> question->count >> question->ns >> bytes) || bytes > kLongestWord) return false;
  in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  question->word.resize(bytes);
  return static_cast<bool>(in.read(question->word.data(), static_cast<std::streamsize>(bytes)));
}

class Arrays : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("TRACE", path_, "trace to answer about; the first answer says what it is")->type_name("");
  }

  int Run() override {
    python::Answers answers;
    if (!path_.empty() && !answers.Open(path_).Write(WriteResult)) return CodeOf(ExitCode::kGood);
    python::Question question;
    while (ReadQuestion(std::cin, &question) && answers.To(question).Write(WriteResult)) continue;
    return CodeOf(ExitCode::kGood);
  }

 private:
  std::string path_;
};

}  // namespace

std::unique_ptr<Command> MakeArrays() { return std::make_unique<Arrays>(); }

}  // namespace gprof::cli
