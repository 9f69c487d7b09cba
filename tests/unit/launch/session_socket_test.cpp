#include "launch/session/session_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <thread>

#include "fake_arena.h"
#include "gprof/error.h"
#include "launch/salvage/salvage.h"
#include "launch/session/session.h"

namespace gprof {
namespace {

class SessionSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    folder_ = RunFolder::MakeIn({base_.path()}, "train", &why);
    ASSERT_TRUE(folder_) << why;
    salvager_ = std::make_unique<Salvager>(folder_->path(), SalvageOptions{});
    session_ = std::make_unique<Session>("train", folder_.get(), salvager_.get());
    const auto answer = [this](const std::string& request) -> Answer {
      requests_.push_back(request);
      return [this, request]() -> std::optional<std::string> {
        if (request == "wait" && !may_answer_) return std::nullopt;
        return "<" + request + ">";
      };
    };
    server_ = std::make_unique<SessionServer>(folder_->path(), answer, [this] { return session_->is_closed(); });
    found_ = FindSessions({base_.path()}).front();
    loop_ = std::thread([this] {
      while (!is_over_) {
        server_->Attend(MonotonicNs());
        usleep(500);
      }
    });
  }
  void TearDown() override { StopLoop(); }
  void StopLoop() {
    is_over_ = true;
    if (loop_.joinable()) loop_.join();
  }

  int Connect() const {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, (folder_->path() + "/socket").c_str());
    EXPECT_EQ(connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return socket;
  }

  std::string Ask(const std::string& request) const { return AskSession(found_, request, 60'000'000'000); }

  TemporaryFolder base_;
  std::unique_ptr<RunFolder> folder_;
  std::unique_ptr<Salvager> salvager_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<SessionServer> server_;
  FoundRun found_;
  std::vector<std::string> requests_;  // of the loop
  std::atomic<bool> may_answer_ = false, is_over_ = false;
  std::thread loop_;
};

TEST_F(SessionSocketTest, AnswersALineByALine) {
  EXPECT_EQ(found_.session, "train");
  EXPECT_EQ(Ask("hello"), "<hello>");
  EXPECT_EQ(Ask(""), "<>");
}

TEST_F(SessionSocketTest, OthersAreAnsweredWhileOneWaits) {
  std::string late;
  std::thread waiter([&] { late = Ask("wait"); });
  EXPECT_EQ(Ask("hello"), "<hello>");
  may_answer_ = true;
  waiter.join();
  EXPECT_EQ(late, "<wait>");
}

TEST_F(SessionSocketTest, ALineWithoutEndIsCutOff) {
  const int socket = Connect();
  const std::string text(1 << 20, 'x');
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t count = send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) break;
    sent += static_cast<std::size_t>(count);
  }
  char byte;
  EXPECT_LE(recv(socket, &byte, 1, 0), 0);
  close(socket);
  EXPECT_EQ(Ask("hello"), "<hello>");
}

TEST_F(SessionSocketTest, WhoHangsUpIsForgotten) {
  for (int i = 0; i < 100; ++i) {
    const int socket = Connect();
    (void)!write(socket, i % 2 == 0 ? "wait\n" : "half", i % 2 == 0 ? 5 : 4);
    close(socket);
    may_answer_ = i % 4 != 0;
  }
  may_answer_ = true;
  EXPECT_EQ(Ask("hello"), "<hello>");
}

TEST_F(SessionSocketTest, NobodyThereIsAnError) {
  StopLoop();
  server_->Close();
  EXPECT_TRUE(FindSessions({base_.path()}).empty());
  EXPECT_THROW(Ask("hello"), Error);
}

TEST(SessionSocket, FolderMayHaveALongName) {
  const TemporaryFolder base;
  const std::string deep = base.path() + "/" + std::string(120, 'd');
  std::filesystem::create_directory(deep);
  std::string why;
  const std::unique_ptr<RunFolder> folder = RunFolder::MakeIn({deep}, "train", &why);
  ASSERT_TRUE(folder) << why;
  SessionServer server(folder->path(), [](const std::string&) -> Answer {
    return []() -> std::optional<std::string> { return "here"; };
  });
  std::atomic<bool> is_over = false;
  std::thread loop([&] {
    while (!is_over) {
      server.Attend(MonotonicNs());
      usleep(500);
    }
  });
  EXPECT_EQ(AskSession(FindSessions({deep}).front(), "hello", 60'000'000'000), "here");
  is_over = true;
  loop.join();
}

}  // namespace
}  // namespace gprof
