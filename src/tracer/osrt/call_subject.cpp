#include "tracer/osrt/call_subject.h"

#include "tracer/osrt/descriptors.h"
#include "tracer/osrt/wakers/epoll_sets.h"
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

uint32_t WriterOfReady(const pollfd* all, nfds_t count, uint64_t since_stamp) {
  for (nfds_t i = 0; i < count; ++i) {
    const uint32_t id = (all[i].revents & POLLIN) == 0 ? 0 : WriterOf(all[i].fd, since_stamp);
    if (id != 0) return id;
  }
  return 0;
}

uint32_t WriterOfReady(const fd_set* to_read, int count, uint64_t since_stamp) {
  if (to_read == nullptr) return 0;
  for (int i = 0; i < count && i < FD_SETSIZE; ++i) {
    const uint32_t id = FD_ISSET(i, to_read) ? WriterOf(i, since_stamp) : 0;
    if (id != 0) return id;
  }
  return 0;
}

uint32_t WriterOfReady(int set, const epoll_event* events, int count, uint64_t since_stamp) {
  for (int i = 0; i < count; ++i) {
    const bool has_data = (events[i].events & EPOLLIN) != 0;
    const int descriptor = has_data ? WatchedDescriptor(set, events[i].data.u64) : -1;
    const uint32_t id = descriptor < 0 ? 0 : WriterOf(descriptor, since_stamp);
    if (id != 0) return id;
  }
  return 0;
}

}  // namespace gprof::tracer
