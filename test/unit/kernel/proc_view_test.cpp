#include <rdmanet/kernel/proc_view.hpp>

#include "support/directory.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

namespace rdmanet::kernel {
namespace {

namespace fs = std::filesystem;

/// A fake procfs for a process with these numbers, from the procfs's PID namespace to its own.
struct ViewedProc : rdmanet::test::Directory {
    ViewedProc(const std::string& numbers, const std::string& own, const std::string& first) {
        write("self/status", "Name:\tx\nNStgid:\t9\nNSpid:" + numbers + "\nNSpgid:\t9\t9\t9\n");
        link("self/ns/pid", "pid:[" + own + "]");
        link("1/ns/pid", "pid:[" + first + "]");
        write("1/stat", "1 (in) it (x) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 77 0 0 0\n");
    }

    /// Reading it fails.
    void make_unreadable(const std::string& name) const {
        remove(name);
        make(name);
    }
    [[nodiscard]] ProcView view() const { return read_proc_view(path()); }
};

TEST_CASE("this process's procfs shows a PID namespace that stays the same") {
    struct stat status {};
    REQUIRE(::stat("/proc/1", &status) == 0);
    const ProcView view = read_proc_view();
    CHECK(view.pid_namespace != 0);
    CHECK(view.id() != 0);
    CHECK(view.id() == read_proc_view().id());
}

TEST_CASE("a process with one number has a procfs of its own PID namespace") {
    const ViewedProc proc("\t77", "4026532177", "4026531999");
    CHECK(proc.view().pid_namespace == 4026532177);
    CHECK_FALSE(proc.view().sees_all());
    CHECK(proc.view().id() == (std::uint64_t{77} << 32U | 4026532177));
}

TEST_CASE("a process of the initial PID namespace is known without its status, which takes the kernel long") {
    const ViewedProc proc("\t77", "4026531836", "4026531836");
    proc.make_unreadable("self/status");
    CHECK(proc.view().sees_all());
}

TEST_CASE("a process with several numbers has the procfs of an ancestor, namely of that procfs's first process") {
    const ViewedProc proc("\t4711\t1", "4026532177", "4026531836");
    CHECK(proc.view().sees_all());
    CHECK(proc.view().id() == 4026531836);
    const ViewedProc between("\t4711\t12\t1", "4026532177", "4026532100");
    CHECK(between.view().pid_namespace == 4026532100);
    CHECK_FALSE(between.view().sees_all());
}

TEST_CASE("a PID namespace that reuses an earlier one's number is another view") {
    const ViewedProc proc("\t77", "4026532177", "4026532177");
    const std::uint64_t before = proc.view().id();
    proc.write("1/stat", "1 (x) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 78 0 0 0\n");
    CHECK(proc.view().id() != before);
}

TEST_CASE("unreadable facts give no view") {
    const ViewedProc proc("\t4711\t1", "4026532177", "4026532100");
    proc.remove("1/ns/pid");
    CHECK(proc.view().id() == 0);
    proc.link("1/ns/pid", "pid:[4026532100]");
    CHECK(proc.view().id() != 0);
    for (const char* stat : {"", "1 x S 0", "1 (x) S 0 1", "1 (x) S 0 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 soon 0\n"}) {
        proc.write("1/stat", stat);
        CHECK(proc.view().id() == 0);
    }
    CHECK(read_proc_view("/tmp/rdmanet-absent").id() == 0);
}

TEST_CASE("the initial namespace needs no start time") {
    const ViewedProc proc("\t77", "4026531836", "4026531836");
    proc.make_unreadable("1/stat");
    CHECK(proc.view().sees_all());
    CHECK(proc.view().id() == 4026531836);
}

/// Drops root's right to read every file, if the test has it.
struct Unprivileged {
    Unprivileged() { REQUIRE(::seteuid(kNobody) == 0); }
    ~Unprivileged() { (void)::seteuid(::getuid()); }
    static constexpr uid_t kNobody = 65534;
};

TEST_CASE("a first process that a security module hides gives no view and no error") {
    std::optional<Unprivileged> unprivileged;
    if (::geteuid() == 0) unprivileged.emplace();
    const ViewedProc proc("\t77", "4026532177", "4026532177");
    fs::permissions(proc.file("1/stat"), fs::perms::none);
    CHECK_FALSE(std::ifstream(proc.file("1/stat")).is_open());
    CHECK(proc.view().pid_namespace == 4026532177);
    CHECK(proc.view().id() == 0);
}

} // namespace
} // namespace rdmanet::kernel
