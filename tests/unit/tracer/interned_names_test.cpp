#include "tracer/store/interned_names.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace gprof::tracer {
namespace {

TEST(InternedNames, AForkedChildNamesAgainWhatItsParentNamed) {
  const auto names = std::make_unique<InternedNames>();
  const trace::StringId step = names->Intern("step");
  EXPECT_TRUE(names->MarkForChunk(step, 3));
  EXPECT_FALSE(names->MarkForChunk(step, 3));
  names->ResetAfterFork();
  EXPECT_EQ(names->Intern("step"), step);
  EXPECT_TRUE(names->MarkForChunk(step, 3));
}

}  // namespace
}  // namespace gprof::tracer
