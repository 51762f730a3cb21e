#include "bad_input.hpp"
#include "golden.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/netns_view.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <rdmanet/base/file.hpp>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>

namespace rdmanet::test {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

class NoNetns {
public:
    NoNetns() {
        shell(concat("mkdir -p ", kNoNetns, "/directory && cd ", kNoNetns,
                     " && echo text >file && : >empty && mkfifo fifo && ln -s absent dangling && ln -s loop loop && ",
                     "ln -s /proc/self/ns/net own && ln -s /run/netns/pod pod"));
    }
    NoNetns(const NoNetns&) = delete;
    NoNetns& operator=(const NoNetns&) = delete;
    ~NoNetns() { fs::remove_all(kNoNetns); }
};

std::string state_directory() {
    const char* chosen = std::getenv("RDMANET_STATE_DIR");
    return chosen != nullptr ? chosen : "/run/rdmanet";
}

/// The names of the files in the state directory, and the contents of the records. The database is left out, because
/// releasing a lease changes its bytes.
std::string journal() {
    std::multiset<std::string> lines;
    for (const auto& entry : fs::recursive_directory_iterator(state_directory())) {
        const std::string name = entry.path();
        const bool is_record = name.ends_with(".json");
        if (!name.ends_with(".sqlite-journal") && !name.ends_with("lock"))
            lines.insert(concat(name, is_record ? base::read_file(name, std::size_t{1} << 20U) : "", '\n'));
    }
    std::string all;
    for (const std::string& line : lines) all += line;
    return all;
}

PluginCall good_call(const Pod& pod) {
    return call_for(pod, "'master':'par0','ipam':{'type':'rdmanet','cooldown':0,'range':'10.70.0.0/24',"
                         "'gateway':'10.70.0.1'}");
}

/// Another attachment. Bad input for ours must not change it.
PluginCall neighbour_call(const Pod& pod) {
    PluginCall call = of(good_call(pod), "neighbour");
    call.ifname = "net0";
    return call;
}

class BadInputStage {
public:
    BadInputStage() : host_("/proc/self/ns/net"), inside_(pod_.path()) {
        // No link-local addresses, because their state changes by itself.
        pod_.run("sh -c 'echo 1 >/proc/sys/net/ipv6/conf/default/addr_gen_mode'");
        (void)add(neighbour_);
        (void)outcome(good_, "STATUS"); // creates the files that every later call finds
        // linkwatch_event() sets the interface's state a moment later.
        wait_until(concat("ip -netns ", pod_.name(), " link show net0 | grep -q 'state UP'"));
        node_.emplace();
        fingerprint_ = look();
    }
    BadInputStage(const BadInputStage&) = delete;
    BadInputStage& operator=(const BadInputStage&) = delete;
    ~BadInputStage() { (void)neighbour_.with_command("DEL").run(); }

    [[nodiscard]] ProcessResult run(const Row& row) const {
        PluginCall call = good_;
        for (const Change& change : row.changes) change_input(call, change);
        ProcessOptions options = call.options();
        for (const Change& change : row.changes) change_environment(options.environment, change);
        return run_process({call.program}, options);
    }

    /// Describes what changed. It is cheap if nothing changed.
    [[nodiscard]] std::string difference() {
        std::string now = look();
        if (now == fingerprint_) return {};
        fingerprint_ = std::move(now); // so that later rows do not report this difference again
        const std::string in_words = node_->difference();
        return in_words.empty() ? "links, addresses, routes, rules or the journal, by their bytes" : in_words;
    }

    [[nodiscard]] std::string full_difference() const { return node_->difference(); }

private:
    static void change_input(PluginCall& call, const Change& change) {
        using Kind = Change::Kind;
        if (change.kind == Kind::text) call.config = change.value;
        if (change.kind == Kind::member) call = with(call, change.value);
        if (change.kind == Kind::ipam_member)
            call =
                with(call, concat("'ipam':{'type':'rdmanet','cooldown':0,'range':'10.70.0.0/24',", change.value, '}'));
    }

    static void change_environment(std::vector<std::string>& environment, const Change& change) {
        using Kind = Change::Kind;
        if (change.kind != Kind::variable && change.kind != Kind::absent_variable) return;
        const std::string start = concat(change.name, '=');
        std::erase_if(environment, [&](const std::string& other) { return other.starts_with(start); });
        if (change.kind == Kind::variable) environment.push_back(start + change.value);
    }

    /// Reads the leases only if the database was written to, because reading them starts a process.
    std::string leases() {
        std::string bytes = base::read_file(state_directory() + "/leases.sqlite", std::size_t{1} << 24U);
        if (bytes != database_) {
            database_ = std::move(bytes);
            leases_ = shell(concat(binary(), " state --json --state-dir ", state_directory()));
        }
        return leases_;
    }

    std::string look() { return host_.bytes() + inside_.bytes() + journal() + leases(); }

    NoNetns no_netns_;
    VethParent parent_{"par0"};
    Pod pod_{"pod"};
    NetnsView host_;
    NetnsView inside_;
    PluginCall good_ = good_call(pod_);
    PluginCall neighbour_ = neighbour_call(pod_);
    std::optional<UnchangedNode> node_;
    std::string database_;
    std::string leases_;
    std::string fingerprint_;
};

bool is_del(const Row& row) {
    return std::any_of(row.changes.begin(), row.changes.end(), [](const Change& change) {
        return change.kind == Change::Kind::variable && change.name == "CNI_COMMAND" && change.value == "DEL";
    });
}

void expect_no_crash(const ProcessResult& result) {
    CHECK_FALSE(result.timed_out);
    for (const char* sign : {"Sanitizer", "runtime error:", "terminate called"})
        CHECK_THAT(result.err, !Contains(sign));
}

/// Rows with different values produce the same message.
std::string without_value(std::string message, const Row& row) {
    const auto at = row.value.empty() ? std::string::npos : last_place(message, row.value);
    return at == std::string::npos ? message : message.replace(at, row.value.size(), "VALUE");
}

std::string expect_error(const ProcessResult& result, const Row& row) {
    CHECK(result.exit_status == 1);
    std::string error;
    CHECK_NOTHROW(error = error_of(result));
    CHECK_THAT(error, StartsWith(concat("code ", row.code, ": ")));
    return error;
}

std::string expect_success(const ProcessResult& result) {
    CHECK(result.exit_status == 0);
    CHECK(result.out.empty());
    return complaints(result.err);
}

void expect_refusals(BadInputStage& stage, const Table& table, std::set<std::string>& messages) {
    for (const Row& row : table.rows) {
        const ProcessResult result = stage.run(row);
        INFO("table: " << table.name << "\nrow: " << row.name << "\nstdout: " << result.out.substr(0, 2000)
                       << "\nstderr: " << result.err.substr(0, 2000));
        expect_no_crash(result);
        if (is_del(row)) CHECK_NOTHROW(refuse_words_of_success(result));
        const std::string message = row.code == 0 ? expect_success(result) : expect_error(result, row);
        CHECK(names(message, row.key));
        CHECK(names(message, row.value));
        if (row.is_golden) messages.insert(without_value(message, row));
        CHECK(stage.difference() == "");
    }
}

} // namespace

Change member(const std::string& members) {
    return {.kind = Change::Kind::member, .name = {}, .value = members};
}

Change ipam_member(const std::string& members) {
    return {.kind = Change::Kind::ipam_member, .name = {}, .value = members};
}

Change range(const std::string& text) {
    return ipam_member(concat("'range':'", text, '\''));
}

Change text(std::string input) {
    return {.kind = Change::Kind::text, .name = {}, .value = std::move(input)};
}

Change document(const std::string& input) {
    return text(json_text(input));
}

Change variable(std::string name, std::string value) {
    return {.kind = Change::Kind::variable, .name = std::move(name), .value = std::move(value)};
}

Change absent_variable(std::string name) {
    return {.kind = Change::Kind::absent_variable, .name = std::move(name), .value = {}};
}

Change command(std::string name) {
    return variable("CNI_COMMAND", std::move(name));
}

Row row_of(const std::string& kind, const char* name, const std::string& members, int code, const char* key,
           const std::string& value) {
    return {name, {member(concat("'master':null,'attach':'", kind, "',", members))}, code, key, value};
}

TEST_CASE("bad input is refused with code and message, and changes nothing", "[bad-input][golden]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    BadInputStage stage;
    std::set<std::string> messages;
    for (const auto tables : {environment_tables, json_tables, keys_tables, ipam_tables, range_tables, store_tables,
                              runtime_tables, vf_tables, device_tables})
        for (const Table& table : tables()) expect_refusals(stage, table, messages);
    CHECK(stage.full_difference() == "");
    Golden golden("refusals of bad input");
    for (const std::string& message : messages) golden.add(message);
    CHECK(golden.difference() == "");
}
} // namespace rdmanet::test
