// Nodes that share blocks in the API server that RDMANET_CLUSTER names, each with a state directory, a boot and a Node
// object of its own.
#pragma once

#include "fixture.hpp"
#include "relay.hpp"

#include "unit/ipam/fixture.hpp"

#include <rdmanet/cluster/blocks_store.hpp>
#include <rdmanet/json/writer.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace rdmanet::cluster::test {

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
        options.block_size = block_size;
        options.requestable = requestable;
        options.state_directory = directory->path();
        options.warn = [this](const std::string& text) { warnings.push_back(text); };
        options.has_unreadable_records = [this] { return has_unreadable_records; };
        options.report = [this](const std::string& text) { reports.push_back(text); };
        return options;
    }

    /// As one process: a store of its own, which knows nothing of an earlier call.
    [[nodiscard]] std::string reserve(const std::string& container, const std::vector<ipam::Claim>& claims) {
        store = std::make_unique<BlocksStore>(file, options());
        return text_of(store->reserve(owner(container, "pod-" + container), claims, soon()));
    }
    std::string release(const std::string& container) {
        return text_of(store->release(owner(container, "pod-" + container).key, soon()));
    }
    [[nodiscard]] std::string states() {
        static constexpr const char* kNames[] = {"claiming", "open", "closed", "earlier", "lost"};
        std::string text;
        for (const ipam::Block& one : file->blocks(soon()))
            text +=
                (text.empty() ? "" : ", ") + one.prefix.to_string() + " " + kNames[static_cast<std::size_t>(one.state)];
        return text;
    }
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::string& boot() const { return boot_; }

    std::unique_ptr<ipam::test::TemporaryDirectory> directory = std::make_unique<ipam::test::TemporaryDirectory>();
    ipam::Time now{.boot = 1000, .epoch = 1'700'000'000};
    std::vector<ipam::Lease> journal;
    bool has_unreadable_records = false;
    std::string kubeconfig = "/k";
    std::string machine_id;
    std::optional<unsigned> block_size;
    std::vector<base::IpPrefix> requestable;
    std::vector<std::string> warnings;
    std::vector<std::string> reports;
    int calls = 0;                                       // in which it asked for the API server
    std::function<std::unique_ptr<kube::Api>()> connect; // to something else
    std::shared_ptr<ipam::BlockFile> file;
    std::unique_ptr<BlocksStore> store;

private:
    const ClusterFixture& cluster_;
    std::string name_;
    std::string boot_;
    std::unique_ptr<kube::Api> api_;
};

class BlocksFixture : public ClusterFixture {
public:
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
    /// Its error, or the addresses.
    static std::string try_to_reserve(TestNode& node, const std::string& container,
                                      const std::vector<ipam::Claim>& claims) try {
        node.store = std::make_unique<BlocksStore>(node.file, node.options());
        const auto outcome = node.store->reserve(owner(container, container), claims, soon());
        const auto* none = std::get_if<ipam::Exhausted>(&outcome);
        return none != nullptr && none->refusal ? none->refusal->what() : text_of(outcome);
    } catch (const base::Error& error) {
        return error.what();
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
    void delete_node(const std::string& name) {
        expect_done(admin->remove(std::string(kNodesPath) + "/" + name, {.uid = uid_of_node(name)}, soon()));
    }
    [[nodiscard]] std::string uid_of_node(const std::string& name) {
        const auto outcome = admin->get(std::string(kNodesPath) + "/" + name, soon());
        return std::get<kube::Object>(outcome).content.root().at("metadata").at("uid").string();
    }

    /// "BLOCK NODE" of each block of the space, as the server has them.
    [[nodiscard]] std::string blocks() {
        std::string text;
        for_each(kBlocksPath, [&](const json::Reader& object) {
            const json::Reader spec = object.at("spec");
            if (spec.at("space").string() != space) return;
            const std::string node = spec.at("node").at("name").string();
            text += (text.empty() ? "" : ", ") + spec.at("block").string() + " " + node.substr(space.size() + 1);
            if (spec.find("released") && spec.at("released").boolean()) text += " released";
            if (object.at("metadata").find("deletionTimestamp")) text += " going";
        });
        return text;
    }
    [[nodiscard]] std::string ranges() {
        std::string text;
        for_each(kRangesPath, [&](const json::Reader& object) {
            const json::Reader spec = object.at("spec");
            if (spec.at("space").string() != space) return;
            text += (text.empty() ? "" : ", ") + spec.at("range").string();
            if (!spec.at("confirmed").boolean()) text += " unconfirmed";
            if (object.at("metadata").find("deletionTimestamp")) text += " going";
        });
        return text;
    }
    [[nodiscard]] std::string path_of(const std::string& block) const {
        return std::string(kBlocksPath) + "/" + space + "-" + block;
    }
    /// A member of a block's spec.
    [[nodiscard]] std::string spec_of(const std::string& block, const std::string& key) {
        const auto outcome = admin->get(path_of(block), soon());
        return std::get<kube::Object>(outcome).content.root().at("spec").at(key).to_text();
    }
    /// As kubectl does.
    void delete_object(const std::string& path) {
        const auto outcome = admin->get(path, soon());
        const std::string uid = std::get<kube::Object>(outcome).content.root().at("metadata").at("uid").string();
        expect_done(admin->remove(path, {.uid = uid}, soon()));
    }
    [[nodiscard]] std::string path_of_range(const std::string& range) const {
        return std::string(kRangesPath) + "/" + space + "-" + range;
    }
    /// As somebody who takes the finalizer away.
    void delete_range(const std::string& range) {
        patch(path_of_range(range), R"([{"op":"remove","path":"/metadata/finalizers"}])");
        delete_object(path_of_range(range));
    }
    /// As somebody who takes the finalizer away.
    void delete_block(const std::string& block) {
        patch(path_of(block), R"([{"op":"remove","path":"/metadata/finalizers"}])");
        delete_object(path_of(block));
    }
    void create(const std::string& path, const std::string& object) {
        expect_done(admin->create(path, object, soon()));
    }
    void patch(const std::string& path, const std::string& operations) {
        expect_done(admin->patch(path, operations, soon()));
    }

    std::unique_ptr<kube::Api> admin = is_there() ? connect("admin") : nullptr;

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
