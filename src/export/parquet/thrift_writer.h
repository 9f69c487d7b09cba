// Structs as Parquet has them in its headers: Thrift's compact protocol, as much of it as they take.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gprof {

class ThriftWriter {
 public:
  void Integer32(int field, int32_t value) {
    Header(field, kInteger32);
    ZigZag(value);
  }
  void Integer64(int field, int64_t value) {
    Header(field, kInteger64);
    ZigZag(value);
  }
  void Byte(int field, uint8_t value) {
    Header(field, kByte);
    bytes_.push_back(static_cast<char>(value));
  }
  void Truth(int field, bool value) { Header(field, value ? kTrue : kFalse); }
  void Text(int field, std::string_view value) {
    Header(field, kBinary);
    AppendText(value);
  }

  // What is written until End() is in the struct.
  void Begin(int field) {
    Header(field, kStruct);
    Push();
  }
  void End() {
    bytes_.push_back(0);
    last_field_ = outer_.back();
    outer_.pop_back();
  }

  // Followed by as many elements: structs between BeginElement() and End(), or values.
  void StructList(int field, size_t size) { List(field, size, kStruct); }
  void IntegerList(int field, size_t size) { List(field, size, kInteger32); }
  void TextList(int field, size_t size) { List(field, size, kBinary); }
  void BeginElement() { Push(); }
  void IntegerElement(int32_t value) { ZigZag(value); }
  void TextElement(std::string_view value) { AppendText(value); }

  // Of the outermost struct, which has no Begin().
  std::string Finish() {
    bytes_.push_back(0);
    return std::move(bytes_);
  }

 private:
  enum Type : uint8_t {
    kTrue = 1,
    kFalse = 2,
    kByte = 3,
    kInteger32 = 5,
    kInteger64 = 6,
    kBinary = 8,
    kList = 9,
    kStruct = 12
  };

  void Push() {
    outer_.push_back(last_field_);
    last_field_ = 0;
  }
  // Fields come in rising order, at most 15 apart.
  void Header(int field, Type type) {
    bytes_.push_back(static_cast<char>((field - last_field_) << 4 | type));
    last_field_ = field;
  }
  void List(int field, size_t size, Type type) {
    Header(field, kList);
    if (size < 15) {
      bytes_.push_back(static_cast<char>(size << 4 | type));
      return;
    }
    bytes_.push_back(static_cast<char>(0xF0 | type));
    Varint(size);
  }
  void AppendText(std::string_view value) {
    Varint(value.size());
    bytes_ += value;
  }
  void ZigZag(int64_t value) { Varint(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63)); }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
  std::vector<int> outer_;
  int last_field_ = 0;
};

}  // namespace gprof
