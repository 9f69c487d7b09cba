// How many workers of a DataLoader there were, by the names of their threads, and how many would do.
#include "analysis/facts/host/loader_workers.h"

#include <gtest/gtest.h>

#include "trace_maker.h"

namespace gprof::test {
namespace {

// The program is on the machine "box" with 4 cores.
class LoaderWorkersTest : public testing::Test {
 protected:
  LoaderWorkersTest() {
    maker_.trace().processes[0].host = maker_.Name("box");
    maker_.trace().processes[0].cores = 4;
  }
  void AddWorker(int64_t start_ns, int64_t end_ns, std::string_view host = "box") {
    const uint32_t process = maker_.AddProcess(next_pid_, start_ns);
    maker_.trace().processes[process].end_ns = end_ns;
    maker_.trace().processes[process].host = maker_.Name(host);
    maker_.AddThread(process, next_pid_++, "pt_data_worker");
  }
  LoaderWorkers Count() { return LoaderWorkersOf(maker_.Finish()); }

  TraceMaker maker_;
  uint32_t next_pid_ = 1000;
};

TEST_F(LoaderWorkersTest, ThoseOfOneTimeAreCounted) {
  AddWorker(0, 100), AddWorker(10, 90), AddWorker(100, 200), AddWorker(100, 100);
  const LoaderWorkers workers = Count();
  EXPECT_EQ(workers.at_once, 2);
  EXPECT_EQ(workers.started, 4);
  EXPECT_EQ(workers.cores, 4);
  EXPECT_EQ(workers.StartedAnew(), "4 DataLoader workers were started, at most 2 at a time");
}

TEST_F(LoaderWorkersTest, KeptOnesAreStartedOnce) {
  AddWorker(0, 100), AddWorker(10, 100);
  EXPECT_EQ(Count().StartedAnew(), "");
}

// The thread that pins memory is one of the program itself.
TEST_F(LoaderWorkersTest, TheProgramIsNoWorker) {
  maker_.AddThread(0, 77, "pt_data_pin");
  const LoaderWorkers workers = Count();
  EXPECT_EQ(workers.at_once, 0);
  EXPECT_EQ(workers.cores, 4);
}

TEST_F(LoaderWorkersTest, MachinesAreCountedApart) {
  AddWorker(0, 100), AddWorker(0, 100, "other"), AddWorker(0, 100, "other");
  const LoaderWorkers workers = Count();
  EXPECT_EQ(workers.at_once, 2);
  EXPECT_EQ(workers.cores, 0);
}

TEST(LoaderWorkers, MoreThanCoresCannotKeepUp) {
  EXPECT_EQ((LoaderWorkers{.cores = 4}.KeepUp(3.2)), "about 4 workers would keep up, each on a core of its own.");
  EXPECT_EQ((LoaderWorkers{.cores = 4}.KeepUp(4.1)), "about 5 workers would keep up, but the program has 4 cores.");
  EXPECT_EQ(LoaderWorkers{}.KeepUp(4.1), "about 5 workers would keep up, each on a core of its own.");
}

}  // namespace
}  // namespace gprof::test
