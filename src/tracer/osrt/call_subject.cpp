#include "tracer/osrt/call_subject.h"

#include "tracer/osrt/descriptors.h"
#include "tracer/store/interned_names.h"

namespace gprof::tracer {

uint64_t WhatOfDescriptor(int descriptor, uint64_t bytes, uint32_t error) {
  if (descriptor < 0) return PackWhat(OsDetail::kNothing, 0, error);
  const trace::StringId name = NameOfDescriptor(descriptor);
  if (bytes > 0xffffffffu) bytes = 0xffffffffu;
  if (name.value != 0) return PackWhat(OsDetail::kName, uint64_t{name.value} << 32 | bytes, error);
  const OsDetail detail = IsSocket(descriptor) ? OsDetail::kSocket : OsDetail::kDescriptor;
  return PackWhat(detail, uint64_t{static_cast<uint32_t>(descriptor) & 0xfffff} << 32 | bytes, error);
}

uint64_t WhatOfName(const char* text, uint32_t error) {
  return PackWhat(OsDetail::kName, uint64_t{Names().Intern(text).value} << 32, error);
}

int DescriptorOf(FILE* stream) { return stream == nullptr ? -1 : fileno_unlocked(stream); }

}  // namespace gprof::tracer
