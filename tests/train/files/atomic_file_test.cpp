// Files are replaced as a whole or not at all, whatever the system answers. The linker sends the
// calls of write, fsync and rename through the functions below, which play a bad system.
#include "train/files/atomic_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "files/support.h"

namespace {

// What the system plays; 0: the call works.
struct Play {
  bool interrupted_and_short = false;
  long write_fails_after = -1;  // bytes, then ENOSPC
  int fsync_error = 0, folder_fsync_error = 0, rename_error = 0;
  bool interrupt_next = true;
  long written = 0;
  int fsync_calls = 0;
} play;

}  // namespace

extern "C" {
ssize_t __real_write(int number, const void* bytes, size_t count);
int __real_fsync(int number);
int __real_rename(const char* from, const char* to);

ssize_t __wrap_write(int number, const void* bytes, size_t count) {
  if (play.interrupted_and_short) {
    play.interrupt_next = !play.interrupt_next;
    if (!play.interrupt_next) {
      errno = EINTR;
      return -1;
    }
    count = count > 3 ? 3 : count;
  }
  if (play.write_fails_after >= 0) {
    if (play.written >= play.write_fails_after) {
      errno = ENOSPC;
      return -1;
    }
    count = std::min(count, static_cast<size_t>(play.write_fails_after - play.written));
  }
  const ssize_t written = __real_write(number, bytes, count);
  play.written += written;
  return written;
}

int __wrap_fsync(int number) {
  ++play.fsync_calls;
  struct stat status;
  ::fstat(number, &status);
  errno = S_ISDIR(status.st_mode) ? play.folder_fsync_error : play.fsync_error;
  return errno != 0 ? -1 : __real_fsync(number);
}

int __wrap_rename(const char* from, const char* to) {
  errno = play.rename_error;
  return errno != 0 ? -1 : __real_rename(from, to);
}
}

namespace bnns::train::impl {
namespace {

using test::expect_error;
using test::read_bytes;
using test::TemporaryFolder;
using test::write_bytes;
using Names = std::vector<std::string>;

class AtomicFile : public ::testing::Test {
 protected:
  AtomicFile() { play = {}; }
  ~AtomicFile() override { play = {}; }

  // Writing over an existing file fails and leaves it, and nothing else, in the folder.
  void expect_failure(const std::vector<std::string>& pieces) {
    write_bytes(folder_ / "model", "old");
    expect_error([&] { write_file_atomically(folder_ / "model", std::string(100000, 'n')); },
                 Error::Kind::file, pieces);
    play = {};
    EXPECT_EQ(read_bytes(folder_ / "model"), "old");
    EXPECT_EQ(folder_.names(), Names{"model"});
  }

  TemporaryFolder folder_;
};

// While it lives, a root process has the rights of nobody.
class AsNobody {
 public:
  AsNobody() : root_(::geteuid() == 0) {
    if (root_ && ::seteuid(65534) != 0) std::abort();
  }
  ~AsNobody() {
    if (root_ && ::seteuid(0) != 0) std::abort();
  }

 private:
  bool root_;
};

TEST_F(AtomicFile, WritesPartsInOrderAndFlushesFileAndFolder) {
  const std::string first = "one ", second, third(300000, 'x');
  const std::vector<std::span<const std::byte>> parts = {std::as_bytes(std::span(first)),
                                                         std::as_bytes(std::span(second)),
                                                         std::as_bytes(std::span(third))};
  write_file_atomically(folder_ / "new", parts);
  EXPECT_EQ(read_bytes(folder_ / "new"), first + third);
  EXPECT_EQ(play.fsync_calls, 2);
  write_file_atomically(folder_ / "new", "");
  EXPECT_EQ(read_bytes(folder_ / "new"), "");
  EXPECT_EQ(folder_.names(), Names{"new"});
}

TEST_F(AtomicFile, GoesOnAfterInterruptsAndShortWrites) {
  play.interrupted_and_short = true;
  write_file_atomically(folder_ / "f", "0123456789");
  EXPECT_EQ(read_bytes(folder_ / "f"), "0123456789");
}

TEST_F(AtomicFile, ANewFileHasThePermissionsOfTheUmaskAndAnOldOneKeepsItsOwn) {
  const mode_t before = ::umask(027);
  write_file_atomically(folder_ / "f", "1");
  ::umask(before);
  using std::filesystem::perms;
  const auto permissions = [&] { return std::filesystem::status(folder_ / "f").permissions(); };
  EXPECT_EQ(permissions(), static_cast<perms>(0640));
  std::filesystem::permissions(folder_ / "f", static_cast<perms>(0600));
  write_file_atomically(folder_ / "f", "2");
  EXPECT_EQ(permissions(), static_cast<perms>(0600));
}

TEST_F(AtomicFile, KeepsASymbolicLink) {
  std::filesystem::create_directory(folder_ / "sub");
  write_bytes(folder_ / "sub/file", "old");
  std::filesystem::create_symlink("sub/file", folder_ / "link");
  write_file_atomically(folder_ / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  EXPECT_EQ(read_bytes(folder_ / "sub/file"), "new");
  EXPECT_EQ(folder_.names(), (Names{"link", "sub"}));
}

TEST_F(AtomicFile, WritesANameOfTheLargestLengthAndIntoTheCurrentFolder) {
  const std::string name(255, 'n');
  write_file_atomically(folder_ / name, "long");
  EXPECT_EQ(read_bytes(folder_ / name), "long");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  write_file_atomically("here", "current");
  std::filesystem::current_path(before);
  EXPECT_EQ(read_bytes(folder_ / "here"), "current");
}

TEST_F(AtomicFile, AFullDiskLeavesTheOldFile) {
  play.write_fails_after = 5000;
  expect_failure({"model", "cannot write", "No space left"});
  play.write_fails_after = 0;
  expect_failure({"No space left"});
}

TEST_F(AtomicFile, ALimitOfTheFileSizeLeavesTheOldFile) {
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  write_bytes(folder_ / "model", "old");
  std::string text;
  try {
    write_file_atomically(folder_ / "model", std::string(100000, 'n'));
  } catch (const Error& error) {
    text = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(text.find("File too large"), std::string::npos) << text;
  EXPECT_EQ(read_bytes(folder_ / "model"), "old");
  EXPECT_EQ(folder_.names(), Names{"model"});
}

TEST_F(AtomicFile, AFailingFlushOrRenameLeavesTheOldFile) {
  play.fsync_error = EIO;
  expect_failure({"model", "cannot flush", "Input/output error"});
  play.rename_error = EACCES;
  expect_failure({"model", "cannot rename", "Permission denied"});
}

TEST_F(AtomicFile, AFolderThatCannotBeFlushedIsReportedAfterTheFileIsComplete) {
  play.folder_fsync_error = EIO;
  expect_error([&] { write_file_atomically(folder_ / "f", "new"); }, Error::Kind::file,
               {"folder could not be flushed"});
  EXPECT_EQ(read_bytes(folder_ / "f"), "new");
  play.folder_fsync_error = EINVAL;  // a file system without this call
  write_file_atomically(folder_ / "f", "newer");
  EXPECT_EQ(read_bytes(folder_ / "f"), "newer");
}

TEST_F(AtomicFile, RefusesAReadOnlyFolder) {
  using std::filesystem::perms;
  write_bytes(folder_ / "model", "old");
  std::filesystem::permissions(folder_ / "model", static_cast<perms>(0666));
  std::filesystem::permissions(folder_.path(), static_cast<perms>(0555));
  {
    const AsNobody nobody;
    expect_error([&] { write_file_atomically(folder_ / "model", "new"); }, Error::Kind::file,
                 {"model", "cannot create a file in folder", "Permission denied"});
    expect_error([&] { write_file_atomically(folder_ / "other", "new"); }, Error::Kind::file,
                 {"other", "Permission denied"});
  }
  std::filesystem::permissions(folder_.path(), static_cast<perms>(0755));
  EXPECT_EQ(read_bytes(folder_ / "model"), "old");
  EXPECT_EQ(folder_.names(), Names{"model"});
}

TEST_F(AtomicFile, RefusesAReadOnlyFile) {
  using std::filesystem::perms;
  write_bytes(folder_ / "model", "old");
  std::filesystem::permissions(folder_ / "model", static_cast<perms>(0444));
  std::filesystem::permissions(folder_.path(), static_cast<perms>(0777));
  {
    const AsNobody nobody;
    expect_error([&] { write_file_atomically(folder_ / "model", "new"); }, Error::Kind::file,
                 {"model", "cannot write", ":"});
  }
  EXPECT_EQ(read_bytes(folder_ / "model"), "old");
}

TEST_F(AtomicFile, RefusesPathsThatAreNoFile) {
  expect_error([&] { write_file_atomically(folder_.path(), "x"); }, Error::Kind::file,
               {folder_.path().string(), "it is a folder"});
  expect_error([&] { write_file_atomically(folder_ / "missing/f", "x"); }, Error::Kind::file,
               {"missing/f", "No such file or directory"});
  expect_error([&] { write_file_atomically(folder_ / "", "x"); }, Error::Kind::file,
               {"no name of a file"});
  expect_error([&] { write_file_atomically("", "x"); }, Error::Kind::file, {"no name of a file"});
  expect_error([&] { write_file_atomically("/dev/full", "x"); }, Error::Kind::file,
               {"/dev/full", "no regular file"});
  expect_error([&] { write_file_atomically(folder_ / std::string(256, 'n'), "x"); },
               Error::Kind::file, {"File name too long"});
  write_bytes(folder_ / "file", "old");
  expect_error([&] { write_file_atomically(folder_ / "file/f", "x"); }, Error::Kind::file,
               {"file/f", "Not a directory"});
  EXPECT_EQ(folder_.names(), Names{"file"});
}

}  // namespace
}  // namespace bnns::train::impl
