// This machine as a node of the API server of cluster_stage.hpp. Two of them differ by their Node objects and state
// directories.
#pragma once

#include "attachment_stage.hpp"
#include "cluster_calls.hpp"
#include "cluster_stage.hpp"

#include <rdmanet/base/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

namespace rdmanet::test {

inline constexpr const char* kRanges = "/apis/rdmanet.cni/v1alpha1/addressranges";
inline constexpr const char* kBlocks = "/apis/rdmanet.cni/v1alpha1/addressblocks";

/// An address space that no other case or run has.
inline std::string own_space() {
    static int count = 0;
    return concat("e", ::getpid(), "-", ++count);
}

/// Changes an object as an administrator may.
inline void merge_patch(const std::string& path, const std::string& patch) {
    shell(concat(". ", cluster(), "/lib; api --fail-with-body -o /dev/null -X PATCH -H 'Content-Type: ",
                 "application/merge-patch+json' --data-binary '", patch, "' \"$url\"", path));
}

/// What jq makes of the AddressBlocks of the space, joined with ", ".
inline std::string blocks_as(const std::string& space, const std::string& filter) {
    return shell(concat(cluster(), "/get ", kBlocks, " | jq --join-output '[.items[] | select(.spec.networkName == \"",
                        space, "\") | ", filter, "] | join(\", \")'"));
}
/// "BLOCK NODE" of each block of the space.
inline std::string blocks_of(const std::string& space) {
    return blocks_as(space, R"(.spec.block + " " + .spec.node.name)");
}
/// The path of its only one.
inline std::string block_path(const std::string& space) {
    return concat(kBlocks, "/", blocks_as(space, ".metadata.name"));
}
/// As an administrator who takes the finalizer away.
inline void delete_block(const std::string& path) {
    merge_patch(path, R"({"metadata":{"finalizers":null}})");
    (void)succeeds(concat(cluster(), "/delete ", path, " >/dev/null")); // somebody had deleted it
}

/// A Node object of this machine, and what the node knows of the cluster, which the case takes away again.
class ClusterMachine {
public:
    explicit ClusterMachine(std::string name, std::string space) : name_(std::move(name)), space_(std::move(space)) {
        shell(concat(cluster(), "/apply '", node_object(name_), "' /api/v1/nodes >/dev/null"));
    }
    ClusterMachine(const ClusterMachine&) = delete;
    ClusterMachine& operator=(const ClusterMachine&) = delete;
    ~ClusterMachine() { (void)succeeds(concat(cluster(), "/delete /api/v1/nodes/", name_, "; rm -rf /run/rdmanet")); }

    /// An attachment of a pod on this node.
    [[nodiscard]] PluginCall call(const Pod& pod, const std::string& range = "10.64.0.0/16",
                                  const std::string& keys = "") const {
        PluginCall call = call_in_cluster(pod, range);
        call.config = replaced(call.config, json_text("'cooldown':0,"),
                               json_text(concat("'cooldown':0,'network_name':'", space_, "','nodeName':'", name_, "',",
                                                keys, keys.empty() ? "" : ",")));
        return call;
    }
    [[nodiscard]] const std::string& name() const { return name_; }

private:
    std::string name_;
    std::string space_;
};

/// An AddressRange of the space.
class Declared {
public:
    explicit Declared(std::string space, const std::string& range = "10.64.0.0/16", const std::string& more = "",
                      const std::string& suffix = "")
        : space_(std::move(space)), name_(concat(space_, suffix)) {
        object_ = json_text(concat("{'apiVersion':'rdmanet.cni/v1alpha1','kind':'AddressRange','metadata':{'name':'",
                                   name_, "'},'spec':{'networkName':'", space_, "','range':'", range, "'",
                                   more.empty() ? "" : ",", more, "}}"));
        apply();
    }
    Declared(const Declared&) = delete;
    Declared& operator=(const Declared&) = delete;
    ~Declared() {
        remove();
        try {
            for (std::string all = blocks_as(space_, ".metadata.name"); !all.empty();
                 all.erase(0, std::min(all.find(", "), all.size() - 2) + 2))
                delete_block(concat(kBlocks, "/", all.substr(0, all.find(", "))));
        } catch (const base::Error&) { // the next case has a space of its own
        }
    }
    [[nodiscard]] const std::string& name() const { return name_; }
    void apply() const { shell(concat(cluster(), "/apply '", object_, "' ", kRanges, " >/dev/null")); }
    void remove() const { (void)succeeds(concat(cluster(), "/delete ", kRanges, "/", name_, " >/dev/null")); }

private:
    std::string space_;
    std::string name_;
    std::string object_;
};

/// What the cluster still has of a space, in pools or in blocks. `pool`: of its range, as "10.0.0.0-24".
inline std::string leases_left(const std::string& space, const std::string& pool) {
    const std::string records = pool_records(concat(space, "-", pool));
    return concat(records == kHasNoRecord ? "" : records, cluster_reservations(space + "-"), blocks_of(space));
}

} // namespace rdmanet::test
