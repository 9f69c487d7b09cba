#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "gprof/error.h"
#include "launch/calibrate/machine_calibration.h"

namespace gprof {
namespace {

MachineCalibration Some(const std::string& gpu, int64_t measured_unix_s) {
  return {
      ThisHost(),
      gpu,
      "580.159",
      measured_unix_s,
      {{trace::RecordedOperation::kLaunch, 1, 700, 900, 200}, {trace::RecordedOperation::kGraphNode, 4, 350, 400, 0}}};
}

class CalibrationTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "gprof-calibration-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
    setenv("XDG_STATE_HOME", (path + "/state").c_str(), 1);
    unsetenv("GPROF_CALIBRATION");
  }
  void TearDown() override {
    unsetenv("XDG_STATE_HOME");
    unsetenv("GPROF_CALIBRATION");
    std::filesystem::remove_all(folder_);
  }
  // As a driver of that version shows a GPU of that model.
  std::string Proc(const std::string& model, const std::string& driver = "580.159") const {
    const std::filesystem::path gpu = folder_ / "proc/driver/nvidia/gpus/0000:00:04.0";
    std::filesystem::create_directories(gpu);
    std::ofstream(folder_ / "proc/driver/nvidia/version")
        << "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  " << driver << "  Release Build\n";
    std::ofstream(gpu / "information") << "Model: \t\t " << model << "\nIRQ: 1\n";
    return (folder_ / "proc").string();
  }
  std::filesystem::path folder_;
};

TEST_F(CalibrationTest, TextAndBack) {
  const MachineCalibration read =
      ParseCalibration("unknown word\ncost nonsense 1 2 3 4\ncost launch 1 2\n" + ToText(Some("NVIDIA H200", 7)));
  EXPECT_EQ(read.machine, ThisHost());
  EXPECT_EQ(read.gpu, "NVIDIA H200");
  EXPECT_EQ(read.driver, "580.159");
  EXPECT_EQ(read.measured_unix_s, 7);
  ASSERT_EQ(read.costs.size(), 2u);
  EXPECT_EQ(CostLine(read.costs[0]), "launch 1 700 900 200");
  EXPECT_EQ(CostLine(read.costs[1]), "graph_node 4 350 400 0");
}

TEST_F(CalibrationTest, TheNewestOfThisMachineAndItsGpus) {
  const std::string proc = Proc("NVIDIA H200");
  EXPECT_EQ(FindCalibration(proc), "");
  const std::string of_gpu = SaveCalibration(Some("NVIDIA H200", 10));
  SaveCalibration(Some("NVIDIA A100/80", 20));
  MachineCalibration of_other = Some("NVIDIA H200", 30);
  of_other.machine = "elsewhere";
  SaveCalibration(of_other);
  EXPECT_EQ(FindCalibration(proc), of_gpu);
  EXPECT_EQ(SaveCalibration(Some("NVIDIA H200", 40)), of_gpu);  // takes the place of the one before
  // Where the driver does not tell the models, the newest of the machine counts.
  EXPECT_EQ(FindCalibration(folder_.string() + "/nowhere"), of_gpu);
}

TEST_F(CalibrationTest, AnotherDriverMakesItVoid) {
  const std::string path = SaveCalibration(Some("NVIDIA H200", 10));
  EXPECT_EQ(FindCalibration(Proc("NVIDIA H200", "590.48.01")), "");
  EXPECT_EQ(FindCalibration(Proc("NVIDIA H200")), path);
  EXPECT_EQ(ThisDriver(Proc("NVIDIA H200", "590.48.01")), "590.48.01");
}

TEST_F(CalibrationTest, TheVariableNamesAnother) {
  SaveCalibration(Some("NVIDIA H200", 10));
  const std::string named = (folder_ / "mine.txt").string();
  setenv("GPROF_CALIBRATION", named.c_str(), 1);
  EXPECT_EQ(SaveCalibration(Some("NVIDIA H200", 10)), named);
  EXPECT_EQ(FindCalibration(Proc("NVIDIA A100")), named);
  setenv("GPROF_CALIBRATION", "", 1);
  EXPECT_EQ(FindCalibration(Proc("NVIDIA H200")), "");
}

TEST_F(CalibrationTest, WhatCannotBeWrittenIsSaid) {
  setenv("GPROF_CALIBRATION", "/proc/nothing/here.txt", 1);
  EXPECT_THROW(SaveCalibration(Some("NVIDIA H200", 10)), Error);
}

}  // namespace
}  // namespace gprof
