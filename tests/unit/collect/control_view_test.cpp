#include "collect/run/control_view.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_run.h"

namespace gprof {
namespace {

class ControlViewTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string path = folder_.path() + "/" + trace::kControlFile;
    Write(path, std::string(sizeof(trace::ControlPage), '\0'));
    const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
    void* const at = mmap(nullptr, sizeof *page_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    ASSERT_NE(at, MAP_FAILED);
    page_ = static_cast<trace::ControlPage*>(at);
  }
  void TearDown() override { munmap(page_, sizeof *page_); }

  TemporaryFolder folder_;
  trace::ControlPage* page_ = nullptr;
};

TEST_F(ControlViewTest, AFileThatIsNoControlPageIsRefused) {
  EXPECT_FALSE(ControlView::Open(folder_.path()));
  EXPECT_FALSE(ControlView::Open(folder_.path() + "/none"));
}

TEST_F(ControlViewTest, ReadsWhatIsNew) {
  page_->magic = trace::kControlMagic;
  const std::unique_ptr<ControlView> view = ControlView::Open(folder_.path());
  ASSERT_TRUE(view);
  ControlOrder order;
  EXPECT_FALSE(view->Read(&order));
  page_->wish.store(static_cast<uint32_t>(trace::CaptureWish::kRecord));
  page_->output_device.store(3);
  page_->output_inode.store(4);
  std::string("/tmp/run.trace").copy(page_->output, sizeof page_->output);
  page_->epoch.store(2);
  ASSERT_TRUE(view->Read(&order));
  EXPECT_EQ(order.epoch, 2u);
  EXPECT_EQ(order.wish, trace::CaptureWish::kRecord);
  EXPECT_EQ(order.output.path, "/tmp/run.trace");
  EXPECT_EQ(order.output.device, 3u);
  EXPECT_EQ(order.output.inode, 4u);
  EXPECT_FALSE(view->Read(&order));
}

TEST_F(ControlViewTest, APageThatIsBeingWrittenForEverIsLeft) {
  page_->magic = trace::kControlMagic;
  page_->epoch.store(3);
  const std::unique_ptr<ControlView> view = ControlView::Open(folder_.path());
  ControlOrder order;
  EXPECT_FALSE(view->Read(&order));
  EXPECT_EQ(order.epoch, 0u);
}

TEST_F(ControlViewTest, TellsTheEndOfTheRun) {
  page_->magic = trace::kControlMagic;
  const std::unique_ptr<ControlView> view = ControlView::Open(folder_.path());
  EXPECT_FALSE(view->RunHasEnded());
  page_->run_has_ended.store(1);
  EXPECT_TRUE(view->RunHasEnded());
}

}  // namespace
}  // namespace gprof
