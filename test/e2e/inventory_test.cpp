// `rdmanet inventory`: what is on this node, and who has it.
#include "documented.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;

namespace {

std::string inventory(const std::string& options = "") {
    return shell(concat(binary(), " inventory ", options));
}

/// What a jq expression finds in the inventory, one value on each line.
std::string found(const std::string& expression, const std::string& options = "") {
    return shell(concat(binary(), " inventory -o json ", options, " | jq -cr '", expression, "'"));
}

/// The device with this address.
std::string device(const std::string& address) {
    return concat(".devices[]|select(.address==\"", address, "\")|");
}

/// The interface with this name in a pod.
std::string interface_of(const std::string& pod, const std::string& name) {
    return concat(". as $all|.interfaces[]|select(.name==\"", name, "\" and $all.namespaces[.namespace].", pod, ")|");
}

/// The index of an address in the GID table of a device in the pod, with RoCE v2.
std::string index_in_sysfs(const Pod& pod, const std::string& device, const std::string& gid) {
    return pod.run(concat("bash -c 'cd /sys/class/infiniband/", device, "/ports/1; for i in $(grep -lx ", gid,
                          " gids/*); do i=${i#gids/}; grep -qx \"RoCE v2\" gid_attrs/types/$i && echo $i; done'"));
}

/// The words of a text's lines: the widths of columns depend on other rows.
std::vector<std::string> rows_of(const std::string& text) {
    std::vector<std::string> rows;
    for (const std::string& line : lines_of(text)) {
        std::istringstream words(line);
        std::string row;
        for (std::string word; words >> word;) row += concat(row.empty() ? "" : " ", word);
        rows.push_back(row);
    }
    return rows;
}

} // namespace

TEST_CASE("the inventory shows functions, RDMA devices, and the pods that have them", "[inventory][readme][sriov]") {
    const VfStage stage;
    const std::string pf = shell(concat("basename $(readlink -f /sys/class/net/", stage.vfs.pf(), "/device)"));
    const std::string pf_address = pf.substr(0, pf.size() - 1);
    PluginCall call = vf_call(stage.vfs, stage.pod, 0, ipam("10.71.0.0/24"));
    call.args = "K8S_POD_NAMESPACE=shop;K8S_POD_NAME=till;K8S_POD_UID=uid-1";
    (void)add(call);
    const std::string vf = device(stage.vfs.vf(0));
    const std::string rdma = found(concat(vf, ".rdmaDevices[0].name"));

    CHECK(found(".rdmaMode") == "exclusive\n");
    CHECK(found(concat(vf, "[.role,.vf,.driver,.netDevices[0].name]")) == "[\"VF\",0,\"simrnic\",\"net1\"]\n");
    CHECK(found(concat(vf, ".pf")) == pf);
    CHECK(found(concat(vf, ".rdmaDevices[0].ports[0]|[.state,.physicalState,.linkLayer,.netDevice]")) ==
          "[\"active\",\"LinkUp\",\"Ethernet\",\"net1\"]\n");
    CHECK(found(concat(device(pf_address), "[.role,.vfs,.netDevices[0].name,.netDevices[0].namespace]")) ==
          concat("[\"PF\",2,\"", stage.vfs.pf(), "\",0]\n"));

    const std::string net1 = interface_of("podName==\"till\"", "net1");
    CHECK(found(concat(net1, "[.network,.addresses[0],.rdmaShared,.rdmaPort]")) ==
          "[\"net\",\"10.71.0.1/24\",false,1]\n");
    CHECK(found(concat(net1, ".rdmaDevice")) == rdma);
    CHECK(found(concat(net1, ".gids[]|select(.address==\"10.71.0.1\" and .type==\"RoCE v2\")|.index")) ==
          index_in_sysfs(stage.pod, rdma.substr(0, rdma.size() - 1), "0000:0000:0000:0000:0000:ffff:0a47:0001"));
    CHECK_THAT(found(concat(net1, ".files[0]")), StartsWith("uverbs"));
    CHECK_THAT(inventory(), Contains("shop/till") && Contains("10.71.0.1/24"));
    CHECK_THAT(inventory("-o wide"), Contains("FIRMWARE") && Contains("100 Gb/sec"));
    CHECK_THAT(inventory("-o svg"), StartsWith("<svg ") && EndsWith("</svg>\n") && Contains("shop/till"));

    // The documented inventory is this one.
    const std::vector<std::string> real = rows_of(inventory());
    int tables = 0;
    for (const Markdown& document : documents())
        for (const CodeBlock& block : document.blocks) {
            if (block.language != "table" || block.text.find("RDMA MODE") == std::string::npos) continue;
            ++tables;
            for (const std::string& row : rows_of(block.text))
                if (!row.starts_with("rdmanet-guest ")) // the kernel's version
                    CHECK_THAT(real, Catch::Matchers::VectorContains(row));
        }
    CHECK(tables == 1);
    const std::string page = source_text("docs/inventory.md");
    for (const std::string& key : lines_of(found("[paths|map(strings)|last|select(.)]|unique[]")))
        CHECK_THAT(page, Contains(concat('`', key, '`')));
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");

    // A container sees the inventory of the host whose / is mounted in it.
    const std::string here = found(".devices[]|[.address,.rdmaDevices[].name,.netDevices[].name]");
    const std::string there = shell(
        concat("mkdir -p /tmp/host && unshare --mount --net --uts sh -c \"mount --rbind / /tmp/host && hostname box "
               "&& ",
               binary(),
               " inventory --root /tmp/host -o json\" | jq -cr "
               "'.devices[]|[.address,.rdmaDevices[].name,.netDevices[].name]'"));
    CHECK(there == here);
    CHECK_THAT(here, Contains(stage.vfs.vf(1)));
}

TEST_CASE("the inventory shows children that rdmanet did not make", "[inventory][rdma]") {
    const std::string parent = rdma_parent();
    NEEDS(!parent.empty(), "the software NIC");
    const Pod pod("pod");
    const CheckedNode node;
    shell(concat("ip link add link ", parent, " name data0 netns pod type macvlan mode bridge"));
    pod.run("ip addr add 10.72.0.9/24 dev data0");
    pod.run("ip link set data0 up");
    const std::string data0 = interface_of("mountPoint==\"/run/netns/pod\"", "data0");
    CHECK(found(concat(data0, "[.parent,.kind,.network,.addresses[0],.rdmaDevice,.rdmaShared]")) ==
          concat("[\"", parent, "\",\"macvlan\",null,\"10.72.0.9/24\",\"", rdma_device_of(parent), "\",true]\n"));
    pod.run("ip link delete data0");
}

TEST_CASE("the inventory's exit statuses are the documented ones", "[inventory][readme]") {
    const std::string page = source_text("docs/inventory.md");
    const auto has_row = [&](const std::string& options, const std::string& meaning) {
        const std::string status = shell(concat(binary(), " inventory ", options, " >/dev/null 2>&1; echo -n $?"));
        INFO(options << ": " << status);
        return page.find(concat("\n| ", status, " | ", meaning)) != std::string::npos;
    };
    CHECK(has_row("", "It has printed the inventory"));
    CHECK(has_row("--root /nowhere", "The node cannot be read"));
    CHECK(has_row("--no-such-option", "The command line is wrong"));
}

TEST_CASE("without root the inventory shows what it may, and says what it could not see", "[inventory]") {
    const Pod pod("pod");
    const std::string said = shell(concat("setpriv --reuid 65534 --clear-groups ", binary(), " inventory"));
    CHECK_THAT(said, Contains("NODE") && Contains("not seen: ") && Contains("run it as root on the node"));
    const std::string json =
        shell(concat("setpriv --reuid 65534 --clear-groups ", binary(), " inventory -o json | jq -r '.unseen[]'"));
    CHECK_THAT(json, Contains("network namespace"));
}

} // namespace rdmanet::test
