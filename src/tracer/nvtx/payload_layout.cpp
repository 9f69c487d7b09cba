#include "tracer/nvtx/payload_layout.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace gprof::tracer {
namespace {

constexpr uint64_t kArrayMask = 7u << 4;
constexpr uint64_t kMessageMask = 3u << 10;
constexpr uint64_t kElsewhere = NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE | NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE;

struct TypeBytes {
  uint8_t first, last;  // numbers of types, both included
  uint8_t bytes;
};
// The program is in this process, so its C types are ours.
constexpr TypeBytes kTypeBytes[] = {
    {NVTX_PAYLOAD_ENTRY_TYPE_CHAR, NVTX_PAYLOAD_ENTRY_TYPE_UCHAR, sizeof(char)},
    {NVTX_PAYLOAD_ENTRY_TYPE_SHORT, NVTX_PAYLOAD_ENTRY_TYPE_USHORT, sizeof(short)},
    {NVTX_PAYLOAD_ENTRY_TYPE_INT, NVTX_PAYLOAD_ENTRY_TYPE_UINT, sizeof(int)},
    {NVTX_PAYLOAD_ENTRY_TYPE_LONG, NVTX_PAYLOAD_ENTRY_TYPE_ULONG, sizeof(long)},
    {NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG, NVTX_PAYLOAD_ENTRY_TYPE_ULONGLONG, sizeof(long long)},
    {NVTX_PAYLOAD_ENTRY_TYPE_INT8, NVTX_PAYLOAD_ENTRY_TYPE_UINT8, 1},
    {NVTX_PAYLOAD_ENTRY_TYPE_INT16, NVTX_PAYLOAD_ENTRY_TYPE_UINT16, 2},
    {NVTX_PAYLOAD_ENTRY_TYPE_INT32, NVTX_PAYLOAD_ENTRY_TYPE_UINT32, 4},
    {NVTX_PAYLOAD_ENTRY_TYPE_INT64, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, 8},
    {NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, sizeof(float)},
    {NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, sizeof(double)},
    {NVTX_PAYLOAD_ENTRY_TYPE_LONGDOUBLE, NVTX_PAYLOAD_ENTRY_TYPE_LONGDOUBLE, sizeof(long double)},
    {NVTX_PAYLOAD_ENTRY_TYPE_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, sizeof(std::size_t)},
    {NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS, NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS, sizeof(void*)},
    {NVTX_PAYLOAD_ENTRY_TYPE_WCHAR, NVTX_PAYLOAD_ENTRY_TYPE_WCHAR, sizeof(wchar_t)},
    {NVTX_PAYLOAD_ENTRY_TYPE_CHAR8, NVTX_PAYLOAD_ENTRY_TYPE_CHAR8, 1},
    {NVTX_PAYLOAD_ENTRY_TYPE_CHAR16, NVTX_PAYLOAD_ENTRY_TYPE_CHAR16, 2},
    {NVTX_PAYLOAD_ENTRY_TYPE_CHAR32, NVTX_PAYLOAD_ENTRY_TYPE_CHAR32, 4},
    {NVTX_PAYLOAD_ENTRY_TYPE_BYTE, NVTX_PAYLOAD_ENTRY_TYPE_BYTE, 1},
    {NVTX_PAYLOAD_ENTRY_TYPE_INT128, NVTX_PAYLOAD_ENTRY_TYPE_UINT128, 16},
    {NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16, 2},
    {NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32, 4},
    {NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64, 8},
    {NVTX_PAYLOAD_ENTRY_TYPE_FLOAT128, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT128, 16},
    {NVTX_PAYLOAD_ENTRY_TYPE_BF16, NVTX_PAYLOAD_ENTRY_TYPE_BF16, 2},
    {NVTX_PAYLOAD_ENTRY_TYPE_TF32, NVTX_PAYLOAD_ENTRY_TYPE_TF32, 4},
    {NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY, NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB, 4},
    {NVTX_PAYLOAD_ENTRY_TYPE_SCOPE_ID, NVTX_PAYLOAD_ENTRY_TYPE_SCOPE_ID, 8},
    {NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT32, NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT32, 4},
    {NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT64, NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT64, 8},
    {NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT32, NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT32, 4},
    {NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT64, NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT64, 8},
    {NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8, 1},
    {NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF16, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF16, 2},
    {NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32, 4},
    {NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE,
     sizeof(void*)}};

bool IsString(uint64_t type) {
  return type >= NVTX_PAYLOAD_ENTRY_TYPE_CSTRING && type <= NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32;
}

uint64_t AlignUp(uint64_t at, uint64_t alignment) { return (at + alignment - 1) / alignment * alignment; }

}  // namespace

uint32_t BytesOfType(uint64_t type) {
  for (const TypeBytes& row : kTypeBytes) {
    if (type >= row.first && type <= row.last) return row.bytes;
  }
  return 0;
}

Extent ExtentOf(const nvtxPayloadSchemaEntry_t& entry, const Extent& nested) {
  constexpr uint64_t kMaxAlignment = 16, kLargest = 1u << 30;
  if ((entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_POINTER) != 0) return {sizeof(void*), sizeof(void*)};
  if ((entry.flags & kElsewhere) != 0) return {};
  const uint64_t type_bytes = BytesOfType(entry.type);
  const uint64_t one = type_bytes != 0 ? type_bytes : nested.bytes;
  const uint64_t alignment = type_bytes != 0 ? std::min(type_bytes, kMaxAlignment) : nested.alignment;
  const uint64_t array = entry.flags & kArrayMask;
  if (array == 0 && !IsString(entry.type)) return {one, alignment};
  const bool is_fixed = array == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE || array == 0;
  if (!is_fixed || entry.arrayOrUnionDetail == 0 || entry.arrayOrUnionDetail > kLargest) return {};
  return {one * entry.arrayOrUnionDetail, alignment};
}

Walk::Walk(uint64_t schema_type, uint64_t pack_alignment)
    : is_union_(schema_type == NVTX_PAYLOAD_SCHEMA_TYPE_UNION ||
                schema_type == NVTX_PAYLOAD_SCHEMA_TYPE_UNION_WITH_INTERNAL_SELECTOR),
      is_fixed_(schema_type != NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC),
      pack_alignment_(pack_alignment) {}

uint64_t Walk::Place(const nvtxPayloadSchemaEntry_t& entry, const Extent& extent) {
  uint64_t alignment = extent.alignment;
  if (pack_alignment_ != 0) alignment = std::min(alignment, pack_alignment_);
  uint64_t at = entry.offset;
  if (at == 0 && !is_union_ && is_fixed_) at = AlignUp(end_, alignment);
  is_fixed_ = is_fixed_ && extent.bytes != 0;
  end_ = std::max(end_, at + extent.bytes);
  alignment_ = std::max(alignment_, alignment);
  return at;
}

Extent Walk::Whole() const { return {is_fixed_ ? AlignUp(end_, alignment_) : 0, alignment_}; }

MessageForm MessageFormOf(const nvtxPayloadSchemaEntry_t& entry) {
  if ((entry.flags & kMessageMask) != NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE) return MessageForm::kNone;
  if (entry.type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE) return MessageForm::kRegistered;
  const bool is_utf8 =
      entry.type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING || entry.type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8;
  if (!is_utf8 || (entry.flags & kElsewhere) != 0) return MessageForm::kNone;
  if ((entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_POINTER) != 0) return MessageForm::kPointer;
  const uint64_t array = entry.flags & kArrayMask;
  const bool is_inside = array == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED ||
                         (array <= NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE && entry.arrayOrUnionDetail > 0);
  return is_inside ? MessageForm::kInside : MessageForm::kNone;
}

}  // namespace gprof::tracer
