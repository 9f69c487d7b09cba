// Loops on several threads.
#include "base/machine/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace gprof {
namespace {

TEST(Parallel, EveryNumberComesOnce) {
  for (const std::size_t threads : {1, 2, 3, 16, 40}) {
    for (const std::size_t count : {0, 1, 2, 15, 1000}) {
      std::vector<std::atomic<int>> seen(count);
      ForEachSideBySide(count, threads, [&](std::size_t i) { ++seen[i]; });
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(seen[i], 1) << i << " of " << count << " on " << threads;
    }
  }
}

TEST(Parallel, CoresCanBeLeftToOthers) {
  const std::size_t all = UsableCores();
  {
    const CoreLimit none(0);
    EXPECT_EQ(UsableCores(), 1u);
    const CoreLimit more(all + 1);
    EXPECT_EQ(UsableCores(), 1u);
    std::size_t elsewhere = 0;
    std::thread([&] { elsewhere = UsableCores(); }).join();
    EXPECT_EQ(elsewhere, all);
  }
  EXPECT_EQ(UsableCores(), all);
}

// None goes on before all three are there, so that each is on a thread of its own.
TEST(Parallel, HelpersHaveTheLimitOfWhomTheyHelp) {
  std::vector<std::size_t> cores(3);
  std::atomic<int> here{0};
  const auto note = [&](std::size_t i) {
    for (++here; here < 3;) std::this_thread::yield();
    cores[i] = UsableCores();
  };
  const std::size_t all = UsableCores();
  {
    const CoreLimit limit(1);
    ForEachSideBySide(3, 3, note);
  }
  EXPECT_EQ(cores, std::vector<std::size_t>(3, 1));
  here = 0;
  ForEachSideBySide(3, 3, note);
  EXPECT_EQ(cores, std::vector<std::size_t>(3, all));
}

TEST(Parallel, OneThreadGoesInOrder) {
  std::string order;
  ForEachSideBySide(5, 1, [&](std::size_t i) { order += std::to_string(i); });
  EXPECT_EQ(order, "01234");
}

TEST(Parallel, LoopsMayBeWithinLoops) {
  std::atomic<std::size_t> sum{0};
  for (int round = 0; round < 200; ++round) {
    ForEachSideBySide(6, 4, [&](std::size_t i) {
      ForEachSideBySide(
          5, 4, [&](std::size_t k) { ForEachSideBySide(3, 2, [&](std::size_t n) { sum += 100 * i + 10 * k + n; }); });
    });
  }
  EXPECT_EQ(sum, 200u * (100 * 15 * 15 + 10 * 10 * 18 + 3 * 30));
}

// As analyses do that wait for a fact which one of them makes: the loop that makes it has helpers all the same.
TEST(Parallel, ALoopHasHelpersWhileAllOthersWaitForIt) {
  std::mutex mutex;
  std::condition_variable changed;
  int met = 0;
  bool is_made = false;
  const auto wait_for = [&](auto&& is_so) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(60), is_so);
  };
  const auto change = [&](auto&& how) {
    const std::lock_guard lock(mutex);
    how();
    changed.notify_all();
  };
  ForEachSideBySide(4, 4, [&](std::size_t i) {
    if (i > 0) return void(wait_for([&] { return is_made; }));
    ForEachSideBySide(2, 2, [&](std::size_t) {
      change([&] { ++met; });
      EXPECT_TRUE(wait_for([&] { return met == 2; })) << "one thread did both";
    });
    change([&] { is_made = true; });
  });
  EXPECT_TRUE(is_made);
}

TEST(Parallel, LoopsMayBeOfSeveralThreads) {
  std::atomic<std::size_t> sum{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 300; ++round) {
        std::size_t own = 0;
        std::vector<std::size_t> parts(7);
        ForEachSideBySide(parts.size(), 3, [&](std::size_t i) { parts[i] = i; });
        for (const std::size_t part : parts) own += part;  // all are done by now
        sum += own;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(sum, 4u * 300 * 21);
}

// A child has none of the threads of its parent, and may begin while another one of those has a loop.
TEST(Parallel, LoopsGoOnInAChild) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer does not allow a child to start threads";
#endif
  const auto sum_is_right = [] {
    std::atomic<std::size_t> sum{0};
    ForEachSideBySide(100, 4, [&](std::size_t i) { sum += i; });
    return sum == 4950;
  };
  std::atomic<bool> is_over{false};
  std::jthread other([&] {
    while (!is_over) sum_is_right();
  });
  for (int child = 0; child < 30; ++child) {
    const pid_t pid = fork();
    if (pid == 0) {
      alarm(60);  // ends it where it waits for ever
      bool is_right = true;
      for (int round = 0; round < 20; ++round) is_right = is_right && sum_is_right();
      _exit(is_right ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  is_over = true;
}

// On one thread and on several: the first failure, after all was done.
TEST(Parallel, TheFirstFailureIsThrown) {
  for (const std::size_t threads : {1, 4}) {
    std::atomic<int> done{0};
    try {
      ForEachSideBySide(50, threads, [&](std::size_t i) {
        ++done;
        if (i % 20 == 19) throw std::runtime_error(std::to_string(i));
      });
      FAIL();
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "19");
    }
    EXPECT_EQ(done, 50);
  }
}

}  // namespace
}  // namespace gprof
