// A person calls the binary by hand, and makes a mistake.
#include "background_program.hpp"
#include "shell_call.hpp"

#include "support/concat.hpp"
#include "support/directory.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/plugin_call.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace rdmanet::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

TEST_CASE("without a command the binary describes itself, for a person or a program", "[protocol]") {
    for (const char* command : {"exec \"$0\"", "CNI_COMMAND= exec \"$0\""}) {
        const ProcessResult result = run_by_shell(std::string("unset CNI_COMMAND; ") + command, {});
        CHECK(result.exit_status == 0);
        CHECK(result.out.empty());
        CHECK_THAT(result.err, StartsWith("CNI plugin rdmanet v"));
        CHECK_THAT(result.err,
                   Names("versions supported", "0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"));
    }
}

TEST_CASE("a person whose answer cannot be written gets an error", "[protocol]") {
    for (const char* arguments : {"version", "--version", "--help", "state", "state --json", "gc --dry-run"}) {
        INFO(arguments);
        const std::string call = concat("unset CNI_COMMAND; exec \"$0\" ", arguments, " >/dev/full");
        const ProcessResult result = run_by_shell(call, {});
        CHECK(result.exit_status == 1);
        CHECK_THAT(result.err, Names("rdmanet", "standard output", "no space"));
        CHECK(run_by_shell(concat(call, " 2>&1"), {}).exit_status == 1);
    }
}

TEST_CASE("a mistyped command produces the list of commands", "[protocol]") {
    const auto said = [](const std::string& arguments) {
        return run_by_shell(concat("unset CNI_COMMAND; exec \"$0\" ", arguments), {});
    };
    for (const char* arguments : {"stat", "help stat"}) {
        const ProcessResult unknown = said(arguments);
        CHECK(unknown.exit_status == 2);
        CHECK(unknown.out.empty());
        CHECK_THAT(unknown.err, Names("stat", "state", "`rdmanet --help`"));
    }
    const ProcessResult extra = said("gc one --two three");
    CHECK(extra.exit_status == 2);
    CHECK(extra.out.empty());
    CHECK_THAT(extra.err, Names("rdmanet", "one", "--two", "three", "`rdmanet help gc`"));
    CHECK(said("--two").exit_status == 2);
    CHECK(said("help").out == said("--help").out);
    CHECK_THAT(said("help plan").out, Contains("--prev-result"));
    CHECK(said("help plan").out == said("plan --help").out);
}

TEST_CASE("the help of each command has an example", "[protocol]") {
    const auto help_of = [](const std::string& command) {
        return run_by_shell(concat("unset CNI_COMMAND; exec \"$0\" ", command, " --help"), {}).out;
    };
    for (const char* command : {"check", "doctor", "doctor explain", "gc", "inventory", "plan", "state", "verify",
                                "ipam check", "ipam reconcile", "ipam release", "ipam show"}) {
        INFO(command);
        CHECK_THAT(help_of(command), Contains(concat("Example: rdmanet ", command)));
    }
}

TEST_CASE("only a terminal gets colours, and none with NO_COLOR", "[protocol]") {
    const auto said = [](const std::string& call) { // of a node without the plugin, at the least
        return run_by_shell(concat("unset CNI_COMMAND NO_COLOR; ", call), {}).out;
    };
    const std::string on_terminal = "script -qec \"$0 doctor\" /dev/null";
    CHECK_THAT(said(on_terminal), Contains("\033[1;3"));
    CHECK_THAT(said("NO_COLOR=1 " + on_terminal), !Contains("\033[1;3") && Contains(" checks: "));
    CHECK_THAT(said("\"$0\" doctor"), !Contains("\033") && Contains(" checks: "));
}

// It waits for the reader of its help, behind the writable data of the static executable.
TEST_CASE("tables of TLS and other libraries are read-only once they are relocated", "[protocol][static]") {
    const Directory files;
    const std::string at = files.path();
    const BackgroundProgram program(concat("bash -c 'unset CNI_COMMAND; mkfifo ", at, "/help; exec 3<>", at,
                                           "/help; head -c 65536 /dev/zero >&3; echo $$ >", at, "/pid; exec ", binary(),
                                           " --help >&3'"));
    wait_until(concat("test -s ", at, "/pid && awk '$6 != \"", binary(),
                      "\" { next } $2 ~ /w/ { data = 1 } data && $2 == \"r--p\" { found = 1 } ",
                      "END { exit !found }' /proc/$(cat ", at, "/pid)/maps"));
    program.end();
}

// The address sanitizer finds its stack in /proc/self/maps and otherwise reports errors that are none.
TEST_CASE("without /proc the error tells to mount it", "[protocol][no-proc]") {
    const std::string call =
        "unset CNI_COMMAND; exec unshare --mount bash -c 'mount -t tmpfs none /proc && exec \"$0\" "
        "state' \"$0\"";
    const ProcessResult result = run_by_shell(call, {});
    CHECK(result.exit_status == 1);
    CHECK_THAT(result.err, Names("/proc/sys/kernel/random/boot_id", "missing", "/proc", "`mount -t proc proc /proc`"));
}
