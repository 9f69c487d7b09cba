// What `gprof-cli arrays` answers about a trace. It knows nothing of Python, so that one program serves every version
// of it: texts are bytes, structures are JSON, and arrays are the memory of a vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fleet/read_input.h"
#include "gprof/error.h"

namespace gprof::python {

class Answer {
 public:
  void Say(std::string words) { said_ = std::move(words); }
  void Fail(const Error& failure);

  // The number of the array.
  std::size_t Add(std::shared_ptr<const void> owner, const void* first, std::size_t bytes);
  template <class Item>
  std::size_t Add(std::vector<Item>&& items) {
    const auto owner = std::make_shared<const std::vector<Item>>(std::move(items));
    return Add(owner, owner->data(), owner->size() * sizeof(Item));
  }
  // Their lengths, and in the next array their bytes: names come from programs, and may be no UTF-8.
  std::size_t AddTexts(const std::vector<std::string>& texts);

  // A line of JSON with the lengths of all that follows: the text, the hint of an error, the arrays. `write` returns
  // whether anybody still reads.
  bool Write(const std::function<bool(std::string_view)>& write) const;

 private:
  std::string said_, hint_;
  std::string_view error_;  // its kind, or empty
  int code_ = 0;            // that a command would exit with
  int errno_ = 0;           // of a file
  std::vector<std::string_view> arrays_;
  std::vector<std::shared_ptr<const void>> owners_;
};

// A word and two numbers, which mean what the function says.
struct Question {
  std::string function, word;
  uint64_t count = 0;
  int64_t ns = 0;
};

class Answers {
 public:
  // What is known of the trace from its head, or why it cannot be read.
  Answer Open(const std::string& path);
  Answer To(const Question& question) const;

 private:
  std::optional<Input> input_;
};

}  // namespace gprof::python
