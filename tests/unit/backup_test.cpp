// Backups on the disk: the formats of the manifest and of the list of files, linking and copying, and signs of
// completeness.
#include <gtest/gtest.h>

#include <fstream>

#include "common/backup/backup_folder.h"
#include "common/backup/durable_file.h"
#include "common/backup/part_writer.h"
#include "common/backup/restore.h"

namespace tidemark::backup {
namespace {

namespace fs = std::filesystem;

class BackupTest : public ::testing::Test {
 protected:
  BackupTest() { fs::create_directories(source_); }
  ~BackupTest() override { fs::remove_all(top_); }

  static std::string made_top() {
    auto name = (fs::temp_directory_path() / "tidemark-backup-XXXXXX").string();
    return ::mkdtemp(name.data());
  }
  void write(const std::string& name, std::string_view bytes) const {
    fs::create_directories((source_ / name).parent_path());
    std::ofstream(source_ / name, std::ios::binary) << bytes;
  }
  static std::string read(const fs::path& path) { return read_file(path, 1 << 20).value_or("?"); }
  static Time at(int second) { return Time(std::chrono::seconds(1'763'876'700 + second)); }

  /// Backs up everything in the source; returns the backup's name.
  std::string back_up(int second, const std::string& owner = "me", std::size_t keep = 0) {
    auto backup = NewBackup::begin(backups_, at(second));
    EXPECT_TRUE(backup.has_value());
    auto writer = PartWriter::create(backup->path(), "table", backup->previous(owner));
    EXPECT_TRUE(writer.has_value());
    for (const auto& entry : fs::recursive_directory_iterator(source_)) {
      if (!entry.is_regular_file()) continue;
      EXPECT_TRUE(writer->add(entry.path(), fs::relative(entry.path(), source_).string()).has_value());
    }
    Manifest manifest{"1.0", owner, at(second), {writer->finish().value_or(Part())}};
    last_ = manifest.parts[0];
    EXPECT_TRUE(backup->finish(manifest).has_value());
    if (keep > 0) EXPECT_TRUE(backup->remove_older(keep, owner).has_value());
    return backup->name();
  }

  fs::path top_ = made_top();
  fs::path source_ = top_ / "source", backups_ = top_ / "backups", data_ = top_ / "data";
  Part last_;
};

TEST_F(BackupTest, AManifestReadsAsItWasWritten) {
  const Manifest manifest{"1.2.3", "me", at(0), {{"table", 1, std::string(64, 'a'), 2, 30, 1, 20, 4000}}};
  const auto read = decode_manifest(encode_manifest(manifest));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->owner, "me");
  EXPECT_EQ(read->made, at(0));
  ASSERT_EQ(read->parts.size(), 1U);
  EXPECT_EQ(read->parts[0].new_bytes, 20U);
  EXPECT_EQ(read->parts[0].held_us, 4000U);
}

TEST_F(BackupTest, EveryFlippedBitOfAManifestIsFound) {
  const auto text = encode_manifest({"1.2.3", "me", at(0), {{"table", 1, std::string(64, 'a'), 2, 30, 1, 20, 4000}}});
  for (std::size_t place = 0; place < text.size(); ++place) {
    if (std::isspace(static_cast<unsigned char>(text[place])) != 0) continue;
    auto changed = text;
    changed[place] = static_cast<char>(changed[place] ^ 1);
    EXPECT_FALSE(decode_manifest(changed).has_value()) << place;
  }
}

TEST_F(BackupTest, ANewerFormatIsRefusedAndNotMisread) {
  auto text = encode_manifest({"9", "me", at(0), {}});
  // As a newer version would write it, with a valid checksum.
  EXPECT_FALSE(decode_manifest(R"({"format":2,"sha256":"x"})").has_value());
  EXPECT_TRUE(decode_manifest(text).has_value());
}

TEST_F(BackupTest, AListWithAPathThatLeadsElsewhereIsDamaged) {
  const std::string sum(64, '0');
  EXPECT_TRUE(decode_list(sum + " 5 1 payloads/00/1\n").has_value());
  for (const auto* path : {"../up", "/etc/passwd", "a/../../b", "", "a/./b"}) {
    EXPECT_TRUE(decode_list(sum + " 5 1 " + path + "\n").failed_with(ErrorCode::kCorruption)) << path;
  }
  EXPECT_FALSE(decode_list(sum + " 5 1 cut").has_value());
  EXPECT_FALSE(decode_list("short 5 1 a\n").has_value());
}

TEST_F(BackupTest, ARestoreGivesBackWhatWasThere) {
  write("CURRENT", "now");
  write("payloads/0a/1", "bytes");
  const auto name = back_up(0);
  write("CURRENT2", "later");
  const auto restored = restore(backups_ / name, data_);
  ASSERT_TRUE(restored.has_value()) << restored.error().message;
  EXPECT_EQ(read(data_ / "table/CURRENT"), "now");
  EXPECT_EQ(read(data_ / "table/payloads/0a/1"), "bytes");
  EXPECT_EQ(read(data_ / "owner"), "me\n");
  EXPECT_FALSE(fs::exists(data_ / "table/CURRENT2"));
  EXPECT_FALSE(fs::exists(data_ / kRestoringName));
  EXPECT_NE(fs::hard_link_count(source_ / "CURRENT"), 1U);      // the backup has it by a link
  EXPECT_EQ(fs::hard_link_count(data_ / "table/CURRENT"), 1U);  // the restored file is a copy
}

TEST_F(BackupTest, WhatIsTheSameIsNotNew) {
  write("1.sst", std::string(1000, 'a'));
  back_up(0);
  EXPECT_EQ(last_.new_bytes, 1000U);
  write("2.sst", std::string(10, 'b'));
  const auto name = back_up(1);
  EXPECT_EQ(last_.bytes, 1010U);
  EXPECT_EQ(last_.new_bytes, 10U);
  EXPECT_TRUE(verify(backups_ / name, [](const auto& file, const auto&) { ADD_FAILURE() << file; }).has_value());
}

TEST_F(BackupTest, AFileThatWasReplacedByOneOfTheSameSizeIsNew) {
  write("1.sst", "before");
  back_up(0);
  const auto written = fs::last_write_time(source_ / "1.sst");
  fs::remove(source_ / "1.sst");
  write("1.sst", "behind");
  fs::last_write_time(source_ / "1.sst", written + std::chrono::microseconds(1));
  const auto name = back_up(1);
  EXPECT_EQ(last_.new_bytes, 6U);
  ASSERT_TRUE(restore(backups_ / name, data_));
  EXPECT_EQ(read(data_ / "table/1.sst"), "behind");
}

TEST_F(BackupTest, ARestoreWantsAnEmptyDirectory) {
  write("CURRENT", "now");
  const auto name = back_up(0);
  fs::create_directories(data_ / "lost+found");
  std::ofstream(data_ / "mine") << "mine";
  EXPECT_TRUE(restore(backups_ / name, data_).failed_with(ErrorCode::kConfigInvalid));
  EXPECT_EQ(read(data_ / "mine"), "mine");
  fs::remove(data_ / "mine");
  EXPECT_TRUE(restore(backups_ / name, data_).has_value());
}

TEST_F(BackupTest, ADamagedBackupIsNotRestored) {
  write("CURRENT", "now");
  const auto name = back_up(0);
  fs::remove(source_ / "CURRENT");
  std::fstream(backups_ / name / "table/CURRENT", std::ios::in | std::ios::out) << "X";
  const auto refused = restore(backups_ / name, data_);
  ASSERT_TRUE(refused.failed_with(ErrorCode::kCorruption));
  EXPECT_NE(refused.error().message.find("CURRENT has other bytes"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(data_));
  std::vector<std::string> found;
  ASSERT_TRUE(verify(backups_ / name, [&](const auto& file, const auto&) { found.push_back(file); }).has_value());
  EXPECT_EQ(found, std::vector<std::string>{"table/CURRENT"});
}

TEST_F(BackupTest, DataOfANewerVersionIsNotRestored) {
  for (const Part& part : {Part{"table", 99}, Part{"a-store-to-come", 1}}) {
    auto backup = NewBackup::begin(backups_, at(0));
    ASSERT_TRUE(backup.has_value());
    auto written = PartWriter::create(backup->path(), part.name, {})->finish();
    ASSERT_TRUE(written.has_value());
    written->format = part.format;
    ASSERT_TRUE(backup->finish({"99", "me", at(0), {*written}}).has_value());
    const auto refused = restore(backups_ / backup->name(), data_);
    ASSERT_TRUE(refused.failed_with(ErrorCode::kConfigInvalid)) << part.name;
    EXPECT_NE(refused.error().message.find("newer version"), std::string::npos);
    EXPECT_FALSE(fs::exists(data_));
    fs::remove_all(backups_ / backup->name());
  }
}

TEST_F(BackupTest, OnlyWhatIsFinishedIsListed) {
  write("CURRENT", "now");
  {
    const auto unfinished = NewBackup::begin(backups_, at(0));
    ASSERT_TRUE(unfinished.has_value());
    EXPECT_TRUE(NewBackup::begin(backups_, at(1)).failed_with(ErrorCode::kServerBusy));
    EXPECT_TRUE(list_backups(backups_)->empty());
  }
  fs::create_directories(backups_ / ".tidemark-20200101T000000.000Z.unfinished");  // its process died
  const auto name = back_up(2);
  EXPECT_FALSE(fs::exists(backups_ / ".tidemark-20200101T000000.000Z.unfinished"));
  ASSERT_EQ(list_backups(backups_)->size(), 1U);
  EXPECT_EQ(list_backups(backups_)->front().name, name);
  EXPECT_TRUE(list_backups(top_ / "absent").failed_with(ErrorCode::kNotFound));
}

TEST_F(BackupTest, AStoreThatDoesNotSeeTheDirectoryMakesNone) {
  write("CURRENT", "now");
  const auto backup = NewBackup::begin(backups_, at(0));
  ASSERT_TRUE(backup.has_value());
  const auto elsewhere = top_ / "elsewhere";
  const auto refused = PartWriter::create(elsewhere / backup->path().filename(), "table", {});
  ASSERT_TRUE(refused.failed_with(ErrorCode::kStorageFailure));
  EXPECT_NE(refused.error().message.find("do not see the same directory"), std::string::npos);
  EXPECT_FALSE(fs::exists(elsewhere));
}

TEST_F(BackupTest, EachAttemptHasADirectoryOfItsOwn) {
  const auto path_at = [this](int second) { return NewBackup::begin(backups_, at(second))->path(); };
  EXPECT_NE(path_at(0), path_at(0)) << "one that was left elsewhere is not taken for it";
}

TEST_F(BackupTest, WithoutTheFilesThatAPartNamesItIsNotComplete) {
  write("CURRENT", "now");
  auto backup = NewBackup::begin(backups_, at(0));
  ASSERT_TRUE(backup.has_value());
  auto writer = PartWriter::create(backup->path(), "table", {});
  ASSERT_TRUE(writer.has_value() && writer->add(source_ / "CURRENT", "CURRENT").has_value());
  const auto part = writer->finish();
  ASSERT_TRUE(part.has_value());
  fs::remove(backup->path() / "table/CURRENT");
  const auto refused = backup->finish({"1.0", "me", at(0), {*part}});
  ASSERT_TRUE(refused.failed_with(ErrorCode::kStorageFailure));
  EXPECT_NE(refused.error().message.find("table/CURRENT is missing"), std::string::npos);
  fs::remove(list_path(backup->path(), "table"));
  EXPECT_FALSE(backup->finish({"1.0", "me", at(0), {*part}}).has_value());
  EXPECT_TRUE(list_backups(backups_)->empty());
}

TEST_F(BackupTest, AClockThatWasSetBackDoesNotCostTheNewestBackup) {
  write("CURRENT", "now");
  const auto before = back_up(1);
  back_up(100);
  const auto ahead = back_up(101);
  const auto first = back_up(2, "me", 3);
  const auto names = [this] {
    std::vector<std::string> found;
    for (const auto& backup : *list_backups(backups_)) found.push_back(backup.name);
    return found;
  };
  EXPECT_EQ(names(), (std::vector{before, first, ahead}));
  const auto last = back_up(3, "me", 2);
  EXPECT_EQ(names(), (std::vector{first, last}));
}

TEST_F(BackupTest, OlderOnesOfThisOwnerAloneAreRemoved) {
  write("CURRENT", "now");
  const auto other = back_up(0, "somebody else");
  back_up(1);
  const auto middle = back_up(2);
  const auto last = back_up(3, "me", 2);
  std::vector<std::string> names;
  for (const auto& backup : *list_backups(backups_)) names.push_back(backup.name);
  EXPECT_EQ(names, (std::vector{other, middle, last}));
  EXPECT_TRUE(restore(backups_ / last, data_).has_value());
}

}  // namespace
}  // namespace tidemark::backup
