// The flat containers and the sort that the joins stand on.
#include "trace/load/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "random_trace.h"
#include "trace/builder/flat_index.h"
#include "trace/model/name_table.h"

namespace gprof {
namespace {

struct Item {
  uint64_t key = 0;
  uint32_t group = 0, place = 0;
  friend bool operator==(const Item& a, const Item& b) {
    return a.key == b.key && a.group == b.group && a.place == b.place;
  }
};

bool ByKey(const Item& a, const Item& b) { return a.key < b.key; }

std::vector<Item> Items(Random& random, std::size_t count, int disorder) {
  std::vector<Item> items(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t jitter = random.Below(1 + (uint64_t{1} << disorder));
    items[i] = {disorder > 20 ? random.Below(50) : i + jitter, static_cast<uint32_t>(random.Below(4)), i};
  }
  return items;
}

TEST(Order, SortsStably) {
  Random random(11);
  for (int disorder : {0, 1, 4, 8, 12, 30}) {
    for (std::size_t count : {0, 1, 2, 31, 32, 33, 64, 65, 1000, 5000}) {
      std::vector<Item> items = Items(random, count, disorder), expected = items;
      std::stable_sort(expected.begin(), expected.end(), ByKey);
      SortNearlySorted(items.begin(), items.end(), ByKey);
      ASSERT_TRUE(items == expected) << disorder << " " << count;
    }
  }
}

TEST(Order, SortsReversedAndInterleavedRuns) {
  std::vector<Item> items;
  for (uint32_t run = 0; run < 7; ++run) {
    for (uint32_t i = 0; i < 500; ++i) items.push_back({i * 7 + run, 0, run * 500 + i});
  }
  std::reverse(items.begin(), items.end());
  std::vector<Item> expected = items;
  std::stable_sort(expected.begin(), expected.end(), ByKey);
  SortNearlySorted(items.begin(), items.end(), ByKey);
  EXPECT_TRUE(items == expected);
}

// Few elements of one run between many of another, and the other way round; some are equal.
TEST(Order, MergesLongStretches) {
  Random random(14);
  for (int round = 0; round < 60; ++round) {
    const std::size_t few = random.Below(40), many = 500 + random.Below(3000);
    std::vector<Item> items;
    const auto add = [&](std::size_t count) {
      const std::size_t first = items.size();
      for (std::size_t i = 0; i < count; ++i)
        items.push_back({random.Below(1200), 0, static_cast<uint32_t>(first + i)});
      std::stable_sort(items.begin() + static_cast<std::ptrdiff_t>(first), items.end(), ByKey);
      for (std::size_t i = first; i < items.size(); ++i) items[i].place = static_cast<uint32_t>(i);
    };
    add(round % 2 == 0 ? few : many);
    const auto middle = static_cast<std::ptrdiff_t>(items.size());
    add(round % 2 == 0 ? many : few);
    std::vector<Item> expected = items;
    std::stable_sort(expected.begin(), expected.end(), ByKey);
    MergeSortedRuns(std::vector{items.begin(), items.begin() + middle, items.end()}, ByKey);
    ASSERT_TRUE(items == expected) << round;
  }
}

// Many runs, of any lengths and mostly some short ones behind a long one, that overlap by little or by all they have.
TEST(Order, MergesRunsOfAnyLengthsStably) {
  Random random(15);
  for (int round = 0; round < 100; ++round) {
    std::vector<Item> items;
    std::vector<std::size_t> begins;
    for (uint64_t run = 0; run < 2 + random.Below(30); ++run) {
      begins.push_back(items.size());
      const uint64_t first_key = 100 * random.Below(1 + run), count = random.Below(3) == 0 ? 700 : random.Below(40);
      for (uint64_t i = 0; i < count; ++i) {
        items.push_back({first_key + i * (count < 40 ? 20 : 1), 0, static_cast<uint32_t>(items.size())});
      }
    }
    std::vector<std::vector<Item>::iterator> runs;
    for (const std::size_t begin : begins) runs.push_back(items.begin() + static_cast<std::ptrdiff_t>(begin));
    runs.push_back(items.end());
    runs.erase(std::unique(runs.begin(), runs.end()), runs.end());  // those without an element
    std::vector<Item> expected = items;
    std::stable_sort(expected.begin(), expected.end(), ByKey);
    MergeSortedRuns(runs, ByKey);
    ASSERT_TRUE(items == expected) << round;
  }
}

TEST(Order, GroupsStably) {
  Random random(12);
  for (std::size_t count : {0, 1, 100, 3000}) {
    std::vector<Item> items = Items(random, count, 3), expected = items;
    const auto slices = GroupBy(items, 5, [](const Item& i) { return i.group; });
    std::stable_sort(expected.begin(), expected.end(), [](const Item& a, const Item& b) { return a.group < b.group; });
    EXPECT_TRUE(items == expected);
    ASSERT_EQ(slices.size(), 5u);
    for (uint32_t g = 0; g < 5; ++g) {
      for (uint32_t i = slices[g].first; i < slices[g].last; ++i) EXPECT_EQ(items[i].group, g);
      EXPECT_EQ(slices[g].first, g == 0 ? 0 : slices[g - 1].last);
    }
    EXPECT_EQ(slices[4].last, count);
    // What is grouped already stays.
    const auto again = GroupBy(items, 5, [](const Item& i) { return i.group; });
    EXPECT_TRUE(items == expected);
    for (uint32_t g = 0; g < 5; ++g) EXPECT_EQ(again[g].last, slices[g].last);
  }
}

TEST(FlatIndex, AgreesWithAMap) {
  Random random(13);
  FlatIndex index;
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> expected;
  EXPECT_EQ(index.Find(0, 0), kNone);
  for (uint32_t i = 0; i < 20000; ++i) {
    const uint64_t high = random.Below(3), low = random.Below(9000) << (random.Below(2) * 32);
    uint32_t& value = index(high, low);
    const auto [at, is_new] = expected.emplace(std::pair(high, low), i);
    ASSERT_EQ(value, is_new ? kNone : at->second);
    if (is_new) value = i;
  }
  EXPECT_EQ(index.size(), expected.size());
  for (const auto& [key, value] : expected) ASSERT_EQ(index.Find(key.first, key.second), value);
  EXPECT_EQ(index.Find(99, 1), kNone);
}

TEST(NameTable, KeepsEachTextOnce) {
  NameTable names;
  EXPECT_EQ(names.Intern("").value, 0u);
  std::map<std::string, uint32_t> ids;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3000; ++i) {
      const std::string text = "name " + std::to_string(i);
      const NameId id = names.Intern(text);
      ASSERT_EQ(ids.emplace(text, id.value).first->second, id.value);
      ASSERT_EQ(names.Text(id), text);
    }
  }
  EXPECT_EQ(names.size(), 3001u);
  const NameId own = names.AddUnique("name 1");
  EXPECT_NE(own, names.Intern("name 1"));
}

}  // namespace
}  // namespace gprof
