// Bad input. Each row of bad_input.golden changes a call that would succeed, and has the message that refuses it. No
// row may change the node.
#include "attachment_stage.hpp"
#include "golden.hpp"

#include "support/concat.hpp"
#include "support/netns_view.hpp"
#include "support/patience.hpp"
#include "support/snapshot.hpp"

#include <rdmanet/base/file.hpp>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

namespace rdmanet::test {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

const std::string kRows = golden_file("bad_input.golden");
const std::string kArrow = " => ";

/// Files that are not network namespaces, and a link to the plugin's own.
class NoNetns {
public:
    NoNetns() {
        shell("mkdir -p /tmp/no-netns && cd /tmp/no-netns && echo text >file && : >empty && mkfifo fifo && "
              "ln -s loop loop && ln -s /proc/self/ns/net own");
    }
    NoNetns(const NoNetns&) = delete;
    NoNetns& operator=(const NoNetns&) = delete;
    ~NoNetns() { fs::remove_all("/tmp/no-netns"); }
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
        if (!name.ends_with(".tmp") && !name.ends_with("lock") && !is_boot_memory(name))
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

std::vector<std::string> split_at(const std::string& text, const std::string& separator) {
    std::vector<std::string> parts;
    std::size_t at = 0;
    for (std::size_t end = 0; (end = text.find(separator, at)) != std::string::npos; at = end + separator.size())
        parts.push_back(text.substr(at, end - at));
    parts.push_back(text.substr(at));
    return parts;
}

/// Repeats what the row repeats: "{{x*3}}" is "xxx".
std::string repeated(std::string text) {
    for (std::size_t at = 0; (at = text.find("{{")) != std::string::npos;) {
        const std::size_t end = text.find("}}", at);
        const std::size_t star = text.rfind('*', end);
        const std::string piece = text.substr(at + 2, star - at - 2);
        std::string all;
        for (int left = std::stoi(text.substr(star + 1)); left > 0; --left) all += piece;
        text.replace(at, end + 2 - at, all);
    }
    return text;
}

/// Variables and `text` have "\\n", "\\x1b" and "\\\\". "~" is the beginning of a good configuration.
std::string unescaped(const std::string& text) {
    std::string plain;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '~' && at == 0) {
            plain = R"({"cniVersion":"1.1.0","name":"net","type":"rdmanet","master":"par0")";
        } else if (text[at] != '\\') {
            plain += text[at];
        } else if (text[++at] == 'x') {
            plain += static_cast<char>(std::stoi(text.substr(at + 1, 2), nullptr, 16));
            at += 2;
        } else {
            plain += text[at] == 'n' ? '\n' : text[at];
        }
    }
    return plain;
}

/// "NAME=value", or "-NAME" to remove the variable.
void change_variable(std::vector<std::string>& environment, const std::string& variable) {
    const bool is_removed = variable.starts_with('-');
    const std::string name = is_removed ? variable.substr(1) : variable.substr(0, variable.find('='));
    std::erase_if(environment, [&](const std::string& other) { return other.starts_with(name + '='); });
    if (!is_removed) environment.push_back(variable);
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

    /// Makes the call with the changes of a row.
    [[nodiscard]] ProcessResult run(const std::string& input) const {
        PluginCall call = good_;
        std::vector<std::string> variables;
        for (const std::string& change : split_at(input, " + ")) {
            if (change.find_first_not_of("ACDEGHKLSTU") == std::string::npos)
                call.command = change;
            else if (change.starts_with("CNI_") || change.starts_with("-CNI_") || change.starts_with("RDMANET_"))
                variables.push_back(unescaped(change));
            else if (change.starts_with("text "))
                call.config = unescaped(change.substr(5));
            else if (change.starts_with("ipam "))
                call = with(call, concat("'ipam':{'type':'rdmanet','cooldown':0,'range':'10.70.0.0/24',",
                                         change.substr(5), '}'));
            else
                call = with(call, change);
        }
        ProcessOptions options = call.options();
        for (const std::string& variable : variables) change_variable(options.environment, variable);
        ProcessResult result = run_process({call.program}, options);
        if (call.command == "DEL") refuse_words_of_success(result);
        return result;
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
    /// Reads the leases only if the file was written to, because reading them starts a process.
    std::string leases() {
        std::string bytes = base::read_file(state_directory() + "/leases", std::size_t{1} << 24U);
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

/// The error, or the warnings of a call that succeeds.
std::string message_from(const ProcessResult& result) {
    CHECK_FALSE(result.timed_out);
    for (const char* sign : {"Sanitizer", "runtime error:", "terminate called"})
        CHECK_THAT(result.err, !Contains(sign));
    if (result.exit_status != 0) {
        CHECK(result.exit_status == 1);
        return error_of(result);
    }
    CHECK(result.out.empty());
    const std::string warnings = complaints(result.err);
    return warnings.empty() ? "success" : warnings;
}

/// A message that ends with "..." depends on the node from there on.
bool is_like(const std::string& message, const std::string& expected) {
    return message == expected ||
           (expected.ends_with("...") && message.starts_with(expected.substr(0, expected.size() - 3)));
}

} // namespace

TEST_CASE("bad input is refused with code and message, and changes nothing", "[bad-input][golden]") {
    BadInputStage stage;
    std::string text;
    std::ifstream file(kRows);
    for (std::string line; std::getline(file, line);) {
        const std::size_t arrow = line.rfind(kArrow);
        if (!line.starts_with('#') && arrow != std::string::npos) {
            const std::string input = line.substr(0, arrow);
            INFO(line);
            std::string message;
            CHECK_NOTHROW(message = shortened(message_from(stage.run(repeated(input)))));
            const std::string expected = line.substr(arrow + kArrow.size());
            if (is_like(message, expected))
                message = expected;
            else if (!writes_messages())
                CHECK(message == expected);
            CHECK(stage.difference() == "");
            line = concat(input, kArrow, message);
        }
        text += line + '\n';
    }
    CHECK(stage.full_difference() == "");
    if (writes_messages()) std::ofstream(kRows) << text;
}

} // namespace rdmanet::test
