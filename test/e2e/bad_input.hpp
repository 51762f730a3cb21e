// Tables of bad input. A row changes a call that would succeed, and says how the call must be refused. No row may
// change the node.
#pragma once

#include "attachment_stage.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rdmanet::test {

struct Change {
    enum class Kind : std::uint8_t { member, ipam_member, text, variable, absent_variable };
    Kind kind;
    std::string name; // name of a variable
    std::string value;
};

/// Members (single quotes) of the configuration, or of its "ipam". A later duplicate wins, and null removes a member.
[[nodiscard]] Change member(const std::string& members);
[[nodiscard]] Change ipam_member(const std::string& members);
[[nodiscard]] Change range(const std::string& text);
/// All of standard input.
[[nodiscard]] Change text(std::string input);
/// All of standard input, with single quotes for double ones.
[[nodiscard]] Change document(const std::string& input);
[[nodiscard]] Change variable(std::string name, std::string value);
[[nodiscard]] Change absent_variable(std::string name);
[[nodiscard]] Change command(std::string name);

/// What the message of a row must name. Its wording is in messages.golden.
struct Row {
    const char* name;
    std::vector<Change> changes;
    int code;        // 0: the call succeeds, and the message is a warning in its log
    const char* key; // what is wrong: a key with its path, a variable, an interface
    std::string value;
    bool is_golden = true; // false: the wording depends on the node
};

/// A row for a network of this kind with these members. It has no "master" unless the members have one.
[[nodiscard]] Row row_of(const std::string& kind, const char* name, const std::string& members, int code,
                         const char* key, const std::string& value);

/// A directory with files that are not network namespaces: file, fifo, directory, dangling, loop. It also has links
/// to the namespaces "own" (the plugin's) and "pod".
inline const std::string kNoNetns = "/tmp/rdmanet-no-netns";

struct Table {
    const char* name;
    std::vector<Row> rows;
};

// All rows run on one node with an attachment: container "neighbour", interface net0 of /run/netns/pod, address
// 10.70.0.2. Rows change an ADD of container "c1", interface net1: macvlan on par0 (MTU 1500) with addresses of
// 10.70.0.0/24 and gateway 10.70.0.1. An "ipam" of ipam_member() has no gateway.
[[nodiscard]] std::vector<Table> environment_tables();
[[nodiscard]] std::vector<Table> json_tables();
[[nodiscard]] std::vector<Table> keys_tables();
[[nodiscard]] std::vector<Table> ipam_tables();
[[nodiscard]] std::vector<Table> range_tables();
[[nodiscard]] std::vector<Table> store_tables();
[[nodiscard]] std::vector<Table> runtime_tables();
[[nodiscard]] std::vector<Table> vf_tables();
[[nodiscard]] std::vector<Table> device_tables();

} // namespace rdmanet::test
