// The check reports each kind of damage to the rows and files of a blob store, and no undamaged data; also where there
// is more than it looks at in one step.
#include "blob_store/storage/blob_check.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/support/blob_service_fixture.h"
#include "tests/support/damage.h"

namespace tidemark::blob_store {
namespace {

using kv::edit_row;
using kv::erase_row;
using kv::kGarbage;
using kv::put_row;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Blobs in a row and in a file, of blocks, with a snapshot and with tags; staged blocks and a ledger.
class BlobCheck : public BlobServiceTest {
 protected:
  void SetUp() override {
    BlobServiceTest::SetUp();
    put("row", content(1000));
    put("file", content(600'000));
    stage("blocks", "AAAA", content(300));
    stage("blocks", "BBBB", content(400));
    ASSERT_TRUE(run(service_.put_block_list(ref("blocks"),
                                            {{BlockSource::kLatest, "AAAA"}, {BlockSource::kLatest, "BBBB"}}, {}, {})));
    stage("later", "AAAA", content(500));
    snapshot("row");
    ASSERT_TRUE(run(service_.set_tags(ref("row"), {{"team", "a"}}, {})));
    ASSERT_TRUE(run(service_.open_operation("acc", "op", 1)));
    run_background();
    ASSERT_THAT(check(), IsEmpty());
  }
  std::vector<std::string> check(std::size_t at_once = kReferencesAtOnce) { return kv::told(checked(at_once)); }
  std::uint64_t generation() { return service_.get_container({"acc", "box"})->generation; }
  std::string blob(const std::string& name) { return blob_keys::blob(generation(), name); }
  std::uint64_t id_of(const std::string& name) { return records::kBlob.decode(**engine_->get(blob(name)))->content.id; }
  std::filesystem::path file() { return *files_.paths().begin(); }
  static std::string of(const char* what, std::uint64_t id) { return std::string(what) + std::to_string(id); }
};

TEST_F(BlobCheck, TellsRecordsThatCannotBeRead) {
  for (const char kind : {'C', 'K', 'X', 'R', 'U'}) {
    const auto key = *keys_of(kind).begin();
    const auto value = **engine_->get(key);
    put_row(*engine_, key, kGarbage);
    EXPECT_THAT(check(), Contains(HasSubstr("record: cannot be read"))) << kind;
    put_row(*engine_, key, value);
    ASSERT_THAT(check(), IsEmpty()) << kind;
  }
  put_row(*engine_, *keys_of('L').begin(), kGarbage);
  EXPECT_THAT(check(), ElementsAre("record: the ledger cannot be read"));
}

TEST_F(BlobCheck, TellsABlobThatCannotBeReadAndWhatItHad) {
  put_row(*engine_, blob("file"), kGarbage);
  EXPECT_THAT(check(), Contains(HasSubstr("record: cannot be read")));
  EXPECT_THAT(check(), Contains("stray: is a payload that nothing refers to"));
}

TEST_F(BlobCheck, TellsABlobOfNoContainer) {
  put_row(*engine_, blob_keys::blob(98, "lost"), records::kBlob.encode(Blob{}));
  EXPECT_THAT(check(), ElementsAre("reference: belongs to no container"));
}

TEST_F(BlobCheck, TellsABlobWithoutContent) {
  edit_row(*engine_, blob("file"), records::kBlob, [](auto& blob) { blob.content.id = 0; });
  EXPECT_THAT(check(), ElementsAre("reference: has no content", "stray: is a payload that nothing refers to"));
}

TEST_F(BlobCheck, TellsAGapInABlob) {
  const auto key = kv::keys_under(*engine_, blob_keys::extents(id_of("blocks")).lower).at(1);
  const auto payload = records::kExtent.decode(**engine_->get(key))->payload;
  erase_row(*engine_, key);
  EXPECT_THAT(check(),
              ElementsAre("reference: has bytes up to 300 instead of 700", "stray: a row that nothing refers to"));
  erase_row(*engine_, blob_keys::payload(payload));
  EXPECT_THAT(check(), ElementsAre("reference: has bytes up to 300 instead of 700"));
}

TEST_F(BlobCheck, TellsATagThatIsNotInTheIndex) {
  erase_row(*engine_, *keys_of('T').begin());
  EXPECT_THAT(check(), ElementsAre("reference: has a tag that is not in the index of tags"));
}

TEST_F(BlobCheck, TellsOwnersThatAreMiscounted) {
  const auto key = blob_keys::references(id_of("row"));
  put_row(*engine_, key, records::encode_number(7));
  EXPECT_THAT(check(), ElementsAre("figure: is counted to have 8 owners, and has 2"));
  erase_row(*engine_, key);
  EXPECT_THAT(check(), ElementsAre("figure: is counted to have 1 owners, and has 2"));
}

TEST_F(BlobCheck, TellsCountedOwnersOfNothing) {
  put_row(*engine_, blob_keys::references(id_of("row") - 2), records::encode_number(1));
  erase_row(*engine_, blob("row"));
  for (const auto& key : keys_of('S')) erase_row(*engine_, key);
  EXPECT_THAT(check(), Contains("figure: has counted owners, and none"));
  EXPECT_THAT(check(), Contains("stray: a row that nothing refers to"));
}

TEST_F(BlobCheck, TellsRowPayloadsThatAreDamagedOrTooShort) {
  const auto key = blob_keys::payload(id_of("row"));
  auto sealed = **engine_->get(key);
  sealed.back() ^= 1;
  put_row(*engine_, key, sealed);
  EXPECT_THAT(check(), ElementsAre("payload: its bytes do not have their checksum"));
  put_row(*engine_, key, seal_chunk(id_of("row"), 0, "short"));
  EXPECT_THAT(check(), ElementsAre("payload: has 5 bytes, fewer than are referred to"));
}

TEST_F(BlobCheck, TellsFilesThatAreDamagedMissingOrNobodys) {
  const auto path = file();
  const auto whole = std::filesystem::file_size(path);
  {
    std::fstream bytes(path, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(300'000);
    bytes.put('\x55');
    bytes.seekp(300'001);
    bytes.put('\x55');
  }
  EXPECT_THAT(check(), ElementsAre("payload: only its first 262144 bytes have their checksums, of 600000"));
  std::filesystem::resize_file(path, whole / 3);
  EXPECT_THAT(check(), Contains(HasSubstr("payload: only its first")));
  std::filesystem::remove(path);
  EXPECT_THAT(check(), ElementsAre("payload: is missing"));
}

TEST_F(BlobCheck, TellsARowOfNoKnownKind) {
  put_row(*engine_, "!", "");
  EXPECT_THAT(check(), ElementsAre("stray: is of a kind that this version does not know"));
}

/// The report is the same, with each finding once, however few references are compared at a time.
TEST_F(BlobCheck, FindsTheSameInSlices) {
  for (int i = 0; i < 60; ++i) put("small" + std::to_string(i), content(100));
  for (int i = 0; i < 10; ++i) put("large" + std::to_string(i), content(300'000));
  for (int i = 0; i < 20; ++i) snapshot("small" + std::to_string(i));
  run_background();
  ASSERT_THAT(check(6), IsEmpty());

  erase_row(*engine_, blob("small30"));
  erase_row(*engine_, blob("large3"));
  erase_row(*engine_, blob_keys::references(id_of("small7")));
  put_row(*engine_, blob_keys::payload(id_of("small40")), seal_chunk(id_of("small40"), 0, "x"));
  const PayloadFiles& files = files_;
  std::filesystem::remove(files.directory() / PayloadFiles::name_of(id_of("large5")));
  const auto all_at = [&](std::size_t at_once) {
    std::vector<std::string> out;
    for (const auto& finding : checked(at_once).findings) out.push_back(finding.where + ": " + finding.what);
    std::ranges::sort(out);
    return out;
  };
  const auto at_once = all_at(kReferencesAtOnce);
  EXPECT_EQ(at_once.size(), 5U);
  EXPECT_EQ(all_at(20), at_once);
  EXPECT_EQ(all_at(6), at_once);
}

/// Indivisible work takes no room: the owners of one content are counted, not listed.
TEST_F(BlobCheck, ManyOwnersOfOneContentAreOneEntry) {
  for (int i = 0; i < 200; ++i) snapshot("file");
  EXPECT_THAT(check(1), IsEmpty());
  put_row(*engine_, blob_keys::references(id_of("file")), records::encode_number(1));
  EXPECT_THAT(check(1), ElementsAre("figure: is counted to have 2 owners, and has 201"));
}

}  // namespace
}  // namespace tidemark::blob_store
