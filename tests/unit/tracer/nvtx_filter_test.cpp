// Which launches NVTX filters take, by the ranges that are open.
#include "tracer/counters/request/nvtx_filter.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "tracer/store/interned_names.h"

namespace gprof::tracer {

// What the filter asks of the process.
const RangeStack* PushedRanges() { return nullptr; }
uint32_t StartedRanges(OpenRange*, uint32_t) { return 0; }

namespace {

using Ranges = std::vector<std::string>;

// "domain@name", or a name of the default domain.
std::vector<OpenRange> Open(const Ranges& ranges) {
  std::vector<OpenRange> open;
  for (const std::string& text : ranges) {
    const std::size_t at = text.find('@');
    const bool has_domain = at != std::string::npos;
    open.push_back({has_domain ? Names().Intern(text.c_str(), at) : trace::StringId{},
                    Names().Intern(text.c_str() + (has_domain ? at + 1 : 0))});
  }
  return open;
}

bool Takes(const NvtxFilters& filters, const Ranges& pushed, const Ranges& started = {}) {
  const std::vector<OpenRange> stack = Open(pushed), others = Open(started);
  return filters.Takes(
      {stack.data(), static_cast<uint32_t>(stack.size()), others.data(), static_cast<uint32_t>(others.size())});
}

NvtxFilter* Add(NvtxFilters* filters, std::initializer_list<const char*> parts, bool excludes = false) {
  NvtxFilter* filter = filters->Add(excludes);
  filter->is_stack = true;
  for (const char* part : parts) {
    const std::string text = part;
    NvtxPart::Kind kind = NvtxPart::Kind::kRange;
    if (text == "+") kind = NvtxPart::Kind::kOne;
    if (text == "*") kind = NvtxPart::Kind::kAny;
    filter->parts[filter->part_count++] = {kind, part};
  }
  return filter;
}

TEST(NvtxFilter, WithoutFiltersEverythingIsTaken) { EXPECT_TRUE(Takes({}, {})); }

TEST(NvtxFilter, ARangeIsAnywhereInTheStack) {
  NvtxFilters filters;
  Add(&filters, {"b"});
  EXPECT_TRUE(Takes(filters, {"a", "b", "c"}));
  EXPECT_FALSE(Takes(filters, {"a", "bb", "x@b"}));
  EXPECT_FALSE(Takes(filters, {}, {"b"}));
}

TEST(NvtxFilter, RangesFollowEachOther) {
  NvtxFilters filters;
  Add(&filters, {"a", "b"});
  EXPECT_TRUE(Takes(filters, {"x", "a", "b", "y"}));
  EXPECT_FALSE(Takes(filters, {"a", "x", "b"}));
  EXPECT_FALSE(Takes(filters, {"b", "a"}));
  // Ranges of other domains lie in a stack of their own.
  EXPECT_TRUE(Takes(filters, {"a", "lib@x", "b"}));
}

TEST(NvtxFilter, Gaps) {
  NvtxFilters one, any;
  Add(&one, {"a", "+", "b"});
  EXPECT_FALSE(Takes(one, {"a", "b"}));
  EXPECT_TRUE(Takes(one, {"a", "x", "b"}));
  EXPECT_FALSE(Takes(one, {"a", "x", "y", "b"}));
  Add(&any, {"a", "*", "b"});
  EXPECT_TRUE(Takes(any, {"a", "b"}));
  EXPECT_TRUE(Takes(any, {"a", "x", "y", "b", "z"}));
  EXPECT_FALSE(Takes(any, {"b", "a"}));
}

// Of 256 ranges, seven gaps can be chosen in 10^13 ways.
TEST(NvtxFilter, ManyGapsInADeepStackTakeNoTime) {
  NvtxFilters filters;
  Add(&filters, {"a", "*", "a", "*", "a", "*", "a", "*", "a", "*", "a", "*", "a", "*", "b"});
  Ranges deep(RangeStack::kMost, "a");
  EXPECT_FALSE(Takes(filters, deep));
  deep.back() = "b";
  EXPECT_TRUE(Takes(filters, deep));
}

TEST(NvtxFilter, Ends) {
  NvtxFilters bottom, top, both;
  Add(&bottom, {"a"})->is_from_bottom = true;
  EXPECT_TRUE(Takes(bottom, {"a", "b"}));
  EXPECT_FALSE(Takes(bottom, {"b", "a"}));
  Add(&top, {"a"})->is_to_top = true;
  EXPECT_FALSE(Takes(top, {"a", "b"}));
  EXPECT_TRUE(Takes(top, {"b", "a"}));
  NvtxFilter* whole = Add(&both, {"a", "*", "b"});
  whole->is_from_bottom = whole->is_to_top = true;
  EXPECT_TRUE(Takes(both, {"a", "x", "b"}));
  EXPECT_FALSE(Takes(both, {"a", "b", "c"}));
}

TEST(NvtxFilter, Domains) {
  NvtxFilters filters;
  Add(&filters, {"a", "b"})->domain = "lib";
  EXPECT_TRUE(Takes(filters, {"lib@a", "x", "lib@b"}));
  EXPECT_FALSE(Takes(filters, {"a", "b", "other@a", "other@b"}));
}

TEST(NvtxFilter, Expressions) {
  NvtxFilters filters;
  NvtxFilter* filter = Add(&filters, {"^a[0-9]+$", "b"});
  filter->domain = "^l";
  filter->has_expressions = true;
  const char* bad = nullptr;
  ASSERT_TRUE(filters.Prepare(&bad));
  EXPECT_TRUE(Takes(filters, {"lib@a12", "lib@xbx"}));
  EXPECT_FALSE(Takes(filters, {"lib@a", "lib@b"}));
  EXPECT_FALSE(Takes(filters, {"a1", "b"}));
  NvtxFilters broken;
  Add(&broken, {"("})->has_expressions = true;
  EXPECT_FALSE(broken.Prepare(&bad));
  EXPECT_STREQ(bad, "(");
}

TEST(NvtxFilter, OpenRangesOfEitherKind) {
  NvtxFilters filters;
  Add(&filters, {"a", "b"})->is_stack = false;
  EXPECT_TRUE(Takes(filters, {"b"}, {"a"}));
  EXPECT_TRUE(Takes(filters, {}, {"b", "a"}));
  EXPECT_FALSE(Takes(filters, {"a"}, {"c"}));
}

TEST(NvtxFilter, OneThatIncludesAndNoneThatExcludes) {
  NvtxFilters filters;
  Add(&filters, {"a"});
  Add(&filters, {"b"});
  Add(&filters, {"c"}, true);
  EXPECT_TRUE(Takes(filters, {"a"}));
  EXPECT_TRUE(Takes(filters, {"b"}));
  EXPECT_FALSE(Takes(filters, {"a", "c"}));
  EXPECT_FALSE(Takes(filters, {"x"}));
  NvtxFilters without;
  Add(&without, {"c"}, true);
  EXPECT_TRUE(Takes(without, {}));
  EXPECT_FALSE(Takes(without, {"c"}));
}

TEST(NvtxFilter, PathOfALaunch) {
  const std::vector<OpenRange> stack = Open({"train", "lib@step"});
  const trace::Text path = Names().TextOf(PathOf({stack.data(), 2, nullptr, 0}));
  EXPECT_EQ(std::string(path.data, path.size), "train/lib@step");
  EXPECT_EQ(PathOf({}).value, 0u);
}

}  // namespace
}  // namespace gprof::tracer
