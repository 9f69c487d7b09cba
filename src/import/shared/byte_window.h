// The bytes of a text file from front to back: as they are, or unpacked by and by where gzip packed them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct z_stream_s;

namespace gprof {

class MemoryBudget;

class ByteWindow {
 public:
  static constexpr std::size_t kStepBytes = 4 << 20;
  // `packed` stays where it is: it is the whole file. At least `step_bytes` are unpacked at a time.
  // The buffer counts against `budget`, where there is one.
  explicit ByteWindow(std::string_view packed, std::size_t step_bytes = kStepBytes, MemoryBudget* budget = nullptr);
  ~ByteWindow();
  ByteWindow(const ByteWindow&) = delete;
  ByteWindow& operator=(const ByteWindow&) = delete;

  // What is there and was not consumed. Good until the next call of More.
  std::string_view bytes() const { return bytes_; }
  void Consume(std::size_t count) {
    bytes_.remove_prefix(count);
    consumed_ += count;
  }
  // Makes bytes() longer; false at the end. Throws Error for what no text unpacks to: one value of hundreds of
  // megabytes, or thousands of times the size of the file.
  bool More();

  uint64_t position() const { return consumed_; }  // of bytes() in the text
  uint64_t unpacked_bytes() const { return consumed_ + bytes_.size(); }
  // Not empty: why the text ends before its end.
  const std::string& damage() const { return damage_; }

 private:
  struct Closer {
    void operator()(z_stream_s* stream) const;
  };
  void Reserve(std::size_t capacity);
  std::size_t Unpack(char* to, std::size_t room);
  bool UnpackSome(char** to, char* end);
  void CheckSize() const;

  std::string_view packed_, bytes_;
  MemoryBudget* budget_;
  std::size_t file_bytes_;
  uint64_t consumed_ = 0;
  std::unique_ptr<z_stream_s, Closer> stream_;  // null: nothing (more) to unpack
  std::unique_ptr<char[]> buffer_;
  std::size_t step_bytes_, capacity_ = 0;
  std::string damage_;
};

}  // namespace gprof
