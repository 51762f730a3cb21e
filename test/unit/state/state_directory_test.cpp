// Which failures of a write the state directory is blamed for.
#include "sample_record.hpp"

#include "support/directory.hpp"
#include "support/names.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/state/attachment_store.hpp>
#include <rdmanet/state/state_directory.hpp>

#include <catch2/catch.hpp>

#include <sys/resource.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

using namespace rdmanet;
using rdmanet::test::Directory;
using rdmanet::test::Names;
using state::DirectoryError;
namespace fs = std::filesystem;

namespace {

/// The process can open no more files until the end of the scope.
class NoDescriptors {
public:
    NoDescriptors() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        rlimit none = before_;
        none.rlim_cur = 0;
        ::setrlimit(RLIMIT_NOFILE, &none);
    }
    NoDescriptors(const NoDescriptors&) = delete;
    NoDescriptors& operator=(const NoDescriptors&) = delete;
    ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

std::string blamed_for(int errno_value) {
    try {
        state::require_other_cause("/run/rdmanet", base::SystemError("create /run/rdmanet/x", errno_value));
    } catch (const DirectoryError& error) {
        return error.what();
    }
    return {};
}

template <class Act>
std::string blamed_by(const Act& act) {
    try {
        act();
    } catch (const DirectoryError& error) {
        return error.what();
    }
    return {};
}

base::Deadline soon() {
    return base::Deadline::in(std::chrono::seconds{5});
}

} // namespace

TEST_CASE("the state directory is blamed for what its file system refuses, and each reason has its fix") {
    for (const auto& [errno_value, fix] : {std::pair(EIO, "dmesg"),
                                           {ENOSPC, "free"},
                                           {EDQUOT, "quota"},
                                           {EROFS, "findmnt"},
                                           {EACCES, "root"},
                                           {EPERM, "root"},
                                           {ENOTDIR, "directory"},
                                           {EISDIR, "directory"},
                                           {ELOOP, "symbolic link"}}) {
        INFO(fix);
        CHECK_THAT(blamed_for(errno_value),
                   Names("state directory /run/rdmanet", "/run/rdmanet/x", base::errno_text(errno_value), fix));
    }
    for (const int errno_value : {EMFILE, ENFILE, ENOMEM, ENOLCK, ENOENT, EINTR})
        CHECK(blamed_for(errno_value).empty());
}

TEST_CASE("what stands in the place of a file of the state directory is named, and to be removed") {
    const Directory directory;
    const state::AttachmentStore store(directory.path());
    const auto save = [&] { store.save(state::sample_record()); };
    const auto lock = [&] { (void)store.lock(state::sample_record().key, soon()); };
    fs::create_symlink("/dev/null", directory.path() + "/lock");
    CHECK_THAT(blamed_by(lock), Names(directory.path() + "/lock", "remove the symbolic link"));
    fs::remove(directory.path() + "/lock");
    fs::create_directory(directory.path() + "/lock");
    CHECK_THAT(blamed_by(lock), Names(directory.path() + "/lock", "remove the directory"));
    std::ofstream(directory.path() + "/attachments") << "";
    CHECK_THAT(blamed_by(save), Names(directory.path() + "/attachments/...", "remove the file"));
    fs::create_directory(directory.path() + "/rdma-names.json");
    CHECK_THAT(blamed_by([&] { store.waiting_names().save({}, "boot"); }),
               Names(directory.path() + "/rdma-names.json", "remove the directory"));
}

TEST_CASE("the state directory is not blamed if a process has too many open files") {
    const Directory directory;
    const state::AttachmentStore store(directory.path());
    const NoDescriptors none;
    CHECK_THROWS_AS(store.lock(state::sample_record().key, soon()), base::SystemError);
    CHECK_THROWS_AS(store.save(state::sample_record()), base::SystemError);
    CHECK_THROWS_AS(store.waiting_names().save({{.device = "d", .name = "n"}}, "boot"), base::SystemError);
}
