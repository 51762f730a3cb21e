// Nodes that share blocks in the API server that RDMANET_CLUSTER names, each with a state directory, a boot and a Node
// object of its own.
#pragma once

#include "fixture.hpp"
#include "relay.hpp"

#include "unit/ipam/fixture.hpp"

#include <rdmanet/cluster/blocks_store.hpp>
#include <rdmanet/json/writer.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace rdmanet::cluster::test {

using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

inline constexpr const char* kBlocksPath = "/apis/rdmanet.cni/v1alpha1/addressblocks";
inline constexpr const char* kRangesPath = "/apis/rdmanet.cni/v1alpha1/addressranges";
inline constexpr const char* kNodesPath = "/api/v1/nodes";

/// One machine, from the beginning of a boot to its end.
class TestNode {
public:
    TestNode(const ClusterFixture& cluster, std::string name, std::string boot)
        : machine_id("machine-" + name), cluster_(cluster), name_(std::move(name)), boot_(std::move(boot)) {
        start();
    }

    /// As if the process had ended: nothing is in memory any more.
    void start() {
        api_ = nullptr;
        calls = 0;
        file = std::make_shared<ipam::BlockFile>(ipam::BlockFile::Options{.state_directory = directory->path(),
                                                                          .boot_id = boot_,
                                                                          .known_leases = [this] { return journal; },
                                                                          .clock = [this] { return now; }});
        store = std::make_unique<BlocksStore>(file, options());
    }
    /// /run is empty, and the boot is another one.
    void reboot(const std::string& boot) {
        boot_ = boot;
        lose_state();
    }
    /// In the same boot, the same directory is empty.
    void empty_state() {
        for (const auto& entry : std::filesystem::directory_iterator(directory->path()))
            std::filesystem::remove_all(entry.path());
        start();
    }
    /// The same in another directory.
    void lose_state() {
        directory = std::make_unique<ipam::test::TemporaryDirectory>();
        start();
    }

    [[nodiscard]] BlocksStore::Options options() {
        BlocksStore::Options options;
        options.api = [this]() -> kube::Api& {
            ++calls;
            if (!api_) api_ = connect ? connect() : cluster_.connect("rdmanet");
            return *api_;
        };
        options.kubeconfig = kubeconfig;
        options.node_name = name_;
        options.machine_id = machine_id;
        options.boot_id = boot_;
        options.find_use = find_use;
        options.state_directory = directory->path();
        options.warn = [this](const std::string& text) { warnings.push_back(text); };
        options.report = [this](const std::string& text) { reports.push_back(text); };
        return options;
    }

    /// As one process: a store of its own, which knows nothing of an earlier call. Its error, or the addresses.
    [[nodiscard]] std::string reserve(const std::string& container, const std::vector<ipam::Claim>& claims) try {
        store = std::make_unique<BlocksStore>(file, options());
        const auto outcome = store->reserve(owner(container, "pod-" + container), claims, soon());
        const auto* none = std::get_if<ipam::Exhausted>(&outcome);
        if (none == nullptr) return text_of(outcome);
        if (none->refusal)
            return (none->refusal->temporary() ? "temporary: " : "") + std::string(none->refusal->what());
        return "exhausted" + none->detail;
    } catch (const base::Error& error) {
        return error.what();
    }
    /// Its error; empty: there was none.
    std::string confirm() {
        return error_of([&] { store->confirm(soon()); });
    }
    std::string settle(std::chrono::seconds idle = kIdleBlock) {
        return error_of([&] { store->settle(idle, soon()); });
    }
    std::string release(const std::string& container) {
        return text_of(store->release(owner(container, "pod-" + container).key, soon()));
    }
    /// "BLOCK STATE" of each.
    [[nodiscard]] std::string states() {
        static constexpr const char* kNames[] = {"closed", "open", "lost", "going"};
        std::string text;
        for (const ipam::Block& one : file->blocks())
            text +=
                (text.empty() ? "" : ", ") + one.prefix.to_string() + " " + kNames[static_cast<std::size_t>(one.state)];
        return text;
    }
    /// Of the one that it has.
    [[nodiscard]] ipam::Block block() {
        const auto all = file->blocks();
        if (all.size() != 1) throw std::runtime_error("the node has not one block, but " + states());
        return all.front();
    }
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::string& boot() const { return boot_; }

    std::unique_ptr<ipam::test::TemporaryDirectory> directory = std::make_unique<ipam::test::TemporaryDirectory>();
    ipam::Time now{.boot = 1000, .epoch = 1'700'000'000};
    std::vector<ipam::Lease> journal;
    std::string kubeconfig = "/k";
    std::string machine_id;
    BlocksStore::FindUse find_use;
    std::vector<std::string> warnings;
    std::vector<std::string> reports;
    int calls = 0;                                       // in which it asked for the API server
    std::function<std::unique_ptr<kube::Api>()> connect; // to something else
    std::shared_ptr<ipam::BlockFile> file;
    std::unique_ptr<BlocksStore> store;

private:
    template <class Act>
    std::string error_of(Act act) try {
        start();
        act();
        return {};
    } catch (const base::Error& error) {
        return error.what();
    }

    const ClusterFixture& cluster_;
    std::string name_;
    std::string boot_;
    std::unique_ptr<kube::Api> api_;
};

/// "10.0.0.0/24" in names of objects.
inline std::string with_dashes(std::string prefix) {
    std::replace_if(
        prefix.begin(), prefix.end(), [](char one) { return one == '/' || one == ':'; }, '-');
    return prefix;
}

class BlocksFixture : public ClusterFixture {
public:
    const std::string kRange = "10.0.0.0/24";

    struct Declaration {
        unsigned block_size = 16;
        std::string requestable{};
        std::string gone_after{};
        std::string name{}; // empty: made of the space and the range
    };
    /// As an administrator does. Returns the UID, once the server's memory has it.
    std::string declare(const std::string& range, const Declaration& its) {
        const std::string name = its.name.empty() ? space + "-" + with_dashes(range) : its.name;
        json::Writer object;
        object.begin_object().member("apiVersion", "rdmanet.cni/v1alpha1").member("kind", "AddressRange");
        object.key("metadata").begin_object().member("name", name).end_object();
        object.key("spec").begin_object().member("range", range).member("networkName", space);
        object.member("blockSize", std::int64_t{its.block_size});
        if (!its.requestable.empty()) object.member("requestable", its.requestable);
        if (!its.gone_after.empty()) object.member("goneAfter", its.gone_after);
        object.end_object().end_object();
        create(kRangesPath, object.to_text());
        const std::string path = std::string(kRangesPath) + "/" + name;
        if (!comes_true([&] {
                const auto outcome = admin->get(path + "?resourceVersion=0", soon());
                return std::holds_alternative<kube::Object>(outcome);
            }))
            throw std::runtime_error("the server's memory never got " + path);
        return uid_of(path);
    }
    std::string declare(const std::string& range) { return declare(range, {}); }
    /// As reconcile has counted.
    void count_blocks(const std::string& range, int blocks, int empty) {
        patch(path_of_range(range) + "/status", R"([{"op":"add","path":"/status","value":{"blocks":)" +
                                                    std::to_string(blocks) + R"(,"emptyBlocks":)" +
                                                    std::to_string(empty) + "}}]");
        const auto is_known = [&] {
            const auto outcome = admin->get(path_of_range(range) + "?resourceVersion=0", soon());
            const auto* object = std::get_if<kube::Object>(&outcome);
            const auto status = object == nullptr ? std::nullopt : object->content.root().find("status");
            return status && status->at("blocks").integer(0, INT64_MAX) == blocks;
        };
        if (!comes_true(is_known)) throw std::runtime_error("the server's memory never got the status of " + range);
    }
    /// As an administrator does, who waits until the server's memory hasn't it any more.
    void undeclare(const std::string& range) {
        delete_object(path_of_range(range));
        if (!comes_true([&] {
                const auto outcome = admin->get(path_of_range(range) + "?resourceVersion=0", soon());
                return std::holds_alternative<kube::Refused>(outcome);
            }))
            throw std::runtime_error("the server's memory never lost " + range);
    }
    [[nodiscard]] std::string uid_of(const std::string& path) {
        const auto outcome = admin->get(path, soon());
        return std::get<kube::Object>(outcome).content.root().at("metadata").at("uid").string();
    }

    /// A Node object as kubelet makes it. Returns its name.
    std::string make_node(const std::string& suffix, const std::string& boot) {
        const std::string name = space + "-" + suffix;
        json::Writer node;
        node.begin_object().member("apiVersion", "v1").member("kind", "Node").key("metadata").begin_object();
        node.member("name", name).end_object().key("status").begin_object().key("nodeInfo").begin_object();
        node.member("machineID", "machine-" + name).member("bootID", boot);
        for (const char* key : {"architecture", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion",
                                "kubeletVersion", "operatingSystem", "osImage", "systemUUID"})
            node.member(key, "x");
        node.end_object().end_object().end_object();
        expect_done(admin->create(kNodesPath, node.to_text(), soon()));
        return name;
    }
    std::unique_ptr<TestNode> node(const std::string& suffix) {
        const std::string boot = space + "-boot-" + suffix;
        return std::make_unique<TestNode>(*this, make_node(suffix, boot), boot);
    }
    std::unique_ptr<TestNode> node_behind(Relay& relay, const std::string& suffix) {
        auto one = node(suffix);
        one->connect = [&relay] { return relay.connect(); };
        return one;
    }
    /// As kubelet does after a reboot.
    void report_boot(const std::string& node, const std::string& boot) {
        patch(std::string(kNodesPath) + "/" + node + "/status",
              R"([{"op":"replace","path":"/status/nodeInfo/bootID","value":")" + boot + "\"}]");
    }
    /// As kubelet does on a machine that was installed anew, or on another one that has the name by now.
    void report_machine(const std::string& node, const std::string& machine) {
        patch(std::string(kNodesPath) + "/" + node + "/status",
              R"([{"op":"replace","path":"/status/nodeInfo/machineID","value":")" + machine + "\"}]");
    }
    void delete_node(const std::string& name) { delete_object(std::string(kNodesPath) + "/" + name); }
    [[nodiscard]] std::string uid_of_node(const std::string& name) {
        return uid_of(std::string(kNodesPath) + "/" + name);
    }

    /// "BLOCK NODE" of each block of the space, as the server has them.
    [[nodiscard]] std::string blocks() {
        std::string text;
        for_each(kBlocksPath, [&](const json::Reader& object) {
            const json::Reader spec = object.at("spec");
            const auto network = spec.find("networkName");
            if (!network || network->string() != space) return;
            const std::string node = spec.at("node").at("name").string();
            text += (text.empty() ? "" : ", ") + spec.at("block").string() + " " + node.substr(space.size() + 1);
            if (object.at("metadata").find("deletionTimestamp")) text += " going";
        });
        return text;
    }
    [[nodiscard]] std::string path_of(const std::string& block) const {
        return std::string(kBlocksPath) + "/" + space + "-" + with_dashes(block);
    }
    /// A member of a block's spec.
    [[nodiscard]] std::string spec_of(const std::string& block, const std::string& key) {
        const auto outcome = admin->get(path_of(block), soon());
        return std::get<kube::Object>(outcome).content.root().at("spec").at(key).to_text();
    }
    /// As kubectl does.
    void delete_object(const std::string& path) { expect_done(admin->remove(path, {.uid = uid_of(path)}, soon())); }
    [[nodiscard]] std::string path_of_range(const std::string& range) const {
        return std::string(kRangesPath) + "/" + space + "-" + with_dashes(range);
    }
    /// As somebody who takes the finalizer away.
    void delete_block(const std::string& block) {
        patch(path_of(block), R"([{"op":"remove","path":"/metadata/finalizers"}])");
        delete_object(path_of(block));
    }
    /// whereabouts' pool of this space, or with another part before its name, with these allocations.
    void make_pool(const std::string& range, const std::string& allocations,
                   const std::string& name_space = "kube-system", const std::string& before = {}) {
        create(pools_in(name_space),
               R"({"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":{"name":")" +
                   (before.empty() ? space : before) + "-" + with_dashes(range) + R"("},"spec":{"range":")" + range +
                   R"(","allocations":)" + allocations + "}}");
    }
    static std::string pools_in(const std::string& name_space) {
        return "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/" + name_space + "/ippools";
    }
    [[nodiscard]] std::string path_of_pool(const std::string& range) const {
        return pools_in("kube-system") + "/" + space + "-" + with_dashes(range);
    }
    /// Empty if there is none.
    [[nodiscard]] std::string mark_of(const std::string& pool_path) {
        const auto outcome = admin->get(pool_path, soon());
        const auto annotations = std::get<kube::Object>(outcome).content.root().at("metadata").find("annotations");
        const auto mark = annotations ? annotations->find("rdmanet.cni/address-range") : std::nullopt;
        return mark ? mark->string() : std::string();
    }
    void create(const std::string& path, const std::string& object) {
        expect_done(admin->create(path, object, soon()));
    }
    void patch(const std::string& path, const std::string& operations) {
        expect_done(admin->patch(path, operations, soon()));
    }

    std::unique_ptr<kube::Api> admin = connect("admin");

protected:
    static void expect_done(const kube::Outcome& outcome) {
        if (const auto* refused = std::get_if<kube::Refused>(&outcome)) throw std::runtime_error(refused->message);
    }
    void for_each(const std::string& path, const std::function<void(const json::Reader&)>& act) {
        const auto outcome = admin->get(path, soon());
        if (const auto* refused = std::get_if<kube::Refused>(&outcome)) throw std::runtime_error(refused->message);
        for (const json::Reader& object : std::get<kube::Object>(outcome).content.root().at("items").elements())
            act(object);
    }
};

} // namespace rdmanet::cluster::test
