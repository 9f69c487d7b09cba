#include "tracer/store/caller_stack.h"

namespace gprof::tracer {

constinit std::atomic<StackReader> stack_reader{nullptr};
constinit std::atomic<NativeStackReader> native_stack_reader{nullptr};

namespace {
constinit std::atomic<uint32_t> last_number{0};
}

uint32_t NewStackNumber() { return last_number.fetch_add(1, std::memory_order_relaxed) + 1; }

}  // namespace gprof::tracer
