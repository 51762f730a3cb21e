#include "ground.hpp"

#include "support/concat.hpp"
#include "support/infiniband_node.hpp"
#include "support/node.hpp"
#include "support/patience.hpp"
#include "support/process.hpp"
#include "support/vf_node.hpp"

#include <rdmanet/base/error.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>

namespace rdmanet::test {
namespace {

class ChildGround : public Ground {
public:
    /// `more` has further members.
    ChildGround(std::string kind, std::string more)
        : kind_(std::move(kind)), more_(std::move(more)), parent_(rdma_parent()) {
        if (parent_.empty()) parent_ = veth_.emplace("fault0").name();
    }
    std::string members() const override {
        return concat(R"("attach":")", kind_, R"(","master":")", parent_, '"', more_);
    }
    std::string parent() const override { return parent_; }

private:
    std::string kind_;
    std::string more_;
    std::string parent_;
    std::optional<VethParent> veth_;
};

/// A VF with every kind of setting.
class VfGround : public Ground {
public:
    std::string members() const override {
        return concat(R"("attach":"sriov","deviceID":")", vfs_.vf(0),
                      R"(","vlan":100,"mac":"02:00:00:00:00:42","spoofchk":"on","trust":"on","link_state":"enable",)",
                      R"("max_tx_rate":100,"mtu":1400,"rdma":true)");
    }

private:
    VfNode vfs_;
};

/// A VF that DEL resets, which binds its driver again. Its RDMA device has another name than the driver gives it.
class ResetGround : public Ground {
public:
    ResetGround() { shell(concat("rdma dev set ", vfs_.rdma(0), " name faulthosts")); }
    std::string members() const override {
        return concat(R"("attach":"sriov","deviceID":")", vfs_.vf(0),
                      R"(","vlan":100,"mac":"02:00:00:00:00:42","mtu":1400,"rdma":true,"reset":true)");
    }
    Numbers numbers() const override { return Numbers::ignored; }

private:
    VfNode vfs_;
};

/// A VF with a representor that is down, has no bridge and a lower MTU than the pod.
class SwitchdevGround : public Ground {
public:
    SwitchdevGround() { ip_batch(concat("link set ", mode_.representor(1), " mtu 1300\n")); }
    std::string members() const override {
        return concat(R"("attach":"sriov","deviceID":")", vfs_.vf(1), R"(","trust":"on","mtu":1400,"rdma":false)");
    }

private:
    VfNode vfs_;
    SwitchdevMode mode_{vfs_.pf()};
};

/// A PF without VFs. It is up and must keep its name. It has its own card, so that a name that the plugin left wrong
/// ends with the card.
class FunctionGround : public Ground {
public:
    FunctionGround() { shell(concat("ip link property add dev ", node_.pf(), " altname faultspare")); }
    std::string members() const override {
        return concat(R"("attach":"host-device","device":")", node_.pf(),
                      R"(","mac":"02:00:00:00:00:42","mtu":1400,"rdma":true)");
    }

private:
    OtherNic nic_{"nics=1 ports=1 vfs=1 gid_table_len=16"};
    VfNode node_{"exclusive", 0};
};

/// A virtual interface vanishes with its pod's namespace.
class VirtualGround : public Ground {
public:
    VirtualGround() { shell("ip link property add dev faultveth altname faultvirtual"); }
    std::string members() const override {
        return R"("attach":"host-device","device":"faultveth","mac":"02:00:00:00:00:42","mtu":1400)";
    }
    bool outlives_pod() const override { return false; }

private:
    VethParent veth_{"faultveth"};
};

/// An auxiliary device. Its RDMA device moves too. It has its own card for the same reason as FunctionGround.
class SubfunctionGround : public Ground {
public:
    std::string members() const override {
        return R"("attach":"host-device","deviceID":"simrnic.sf.0","mac":"02:00:00:00:00:42","mtu":1400,"rdma":true)";
    }

private:
    OtherNic nic_{"nics=1 ports=1 vfs=1 sfs=1 gid_table_len=16"};
    VfNode mode_{"exclusive", 0};
};

/// A VF without net device. It only has settings on its PF.
class VfioGround : public Ground {
public:
    VfioGround() {
        shell(concat("cd /sys/bus/pci && echo ", vfs_.vf(0), " >drivers/simrnic/unbind && echo vfio-pci >devices/",
                     vfs_.vf(0), "/driver_override && echo ", vfs_.vf(0), " >drivers_probe"));
    }
    std::string members() const override {
        return concat(R"("attach":"sriov","deviceID":")", vfs_.vf(0),
                      R"(","vlan":100,"mac":"02:00:00:00:00:42","spoofchk":"on","trust":"on")");
    }

private:
    OtherNic nic_{"nics=1 ports=1 vfs=1 vfio_pci=1 gid_table_len=16"};
    VfNode vfs_{"exclusive", 1};
};

/// A VF that keeps its name in the pod, because the kernel returns it with the name that it has then.
class RdmaOnlyGround : public Ground {
public:
    std::string members() const override { return R"("attach":"rdma","rdma":{"name":"rdma0"})"; }
    bool has_addresses() const override { return false; }
    std::string ifname() const override { return vfs_.netdev(0); }
    std::string earlier_result(const std::string& netns) const override {
        return concat(R"({"cniVersion":"1.0.0","interfaces":[{"name":")", ifname(), R"(","sandbox":")", netns,
                      R"("}],"ips":[{"address":"10.97.0.1/24","interface":0}]})");
    }
    void furnish(const Pod& pod) const override { shell(concat("ip link set ", ifname(), " netns ", pod.name())); }
    void wait_for_return() const override {
        const std::string there = concat("/sys/class/net/", ifname());
        if (!comes_true([&] { return std::filesystem::exists(there); }))
            throw base::Error(concat(there, " doesn't come back"));
    }

private:
    VfNode vfs_;
};

/// The other plugin has already made its interface when it requests the addresses. rdmanet must not remove the
/// interface.
class IpamOnlyGround : public Ground {
public:
    std::string type() const override { return "macvlan"; }
    std::string members() const override { return concat(R"("master":")", parent_.name(), '"'); }
    std::string parent() const override { return parent_.name(); }
    void furnish(const Pod& pod) const override {
        ip_batch(concat("link add link ", parent_.name(), " netns ", pod.name(), " name ", ifname(),
                        " address 02:00:00:00:00:42 type macvlan mode bridge\n"));
    }

private:
    VethParent parent_{"fault0"};
};

/// The GID table is small, because a snapshot reads it entry by entry.
constexpr const char* kInfinibandCard = "nics=1 ports=1 vfs=1 gid_table_len=16 link_layer=ib";

class IpoibGround : public Ground {
public:
    std::string members() const override {
        return concat(R"("attach":"ipoib","master":")", node_.parent(0), R"(","pkey":"0x8001","rdma":true)");
    }
    std::string parent() const override { return node_.parent(0); }

private:
    InfinibandNode node_{"shared", kInfinibandCard};
};

class InfinibandVfGround : public Ground {
public:
    InfinibandVfGround() { node_.make_vfs(1); }
    std::string members() const override {
        return concat(R"("attach":"sriov","deviceID":")", InfinibandNode::vf(0),
                      R"(","guid":"02:00:00:00:00:00:00:99","link_state":"enable","mtu":2000,"rdma":true)");
    }
    Numbers numbers() const override { return Numbers::ignored; }

private:
    InfinibandNode node_{"exclusive", kInfinibandCard};
};

struct Kind {
    const char* needs;
    std::function<bool()> possible;
    std::function<std::unique_ptr<Ground>()> make;
};

const std::map<std::string, Kind>& kinds() {
    constexpr const char* kNic = "an SR-IOV RDMA NIC";
    constexpr const char* kInfiniband = "an InfiniBand card";
    constexpr const char* kMacvlan = "macvlan in its kernel";
    const auto child = [](const char* kind, const char* needs, const char* more) {
        return Kind{needs, [kind] { return kernel_has(kind); },
                    [kind, more] { return std::make_unique<ChildGround>(kind, more); }};
    };
    static const std::map<std::string, Kind> kKinds = {
        {"macvlan", child("macvlan", kMacvlan, R"(,"mac":"02:00:00:00:00:42","mtu":1400)")},
        {"passthru", child("macvlan", kMacvlan, R"(,"mode":"passthru","mac":"02:00:00:00:00:42")")},
        {"ipvlan", child("ipvlan", "ipvlan in its kernel", "")},
        {"sriov", {kNic, VfNode::possible, [] { return std::make_unique<VfGround>(); }}},
        {"reset", {kNic, VfNode::possible, [] { return std::make_unique<ResetGround>(); }}},
        {"switchdev", {kNic, VfNode::possible, [] { return std::make_unique<SwitchdevGround>(); }}},
        {"rdma", {kNic, VfNode::possible, [] { return std::make_unique<RdmaOnlyGround>(); }}},
        {"host-device", {kNic, OtherNic::possible, [] { return std::make_unique<FunctionGround>(); }}},
        {"virtual",
         {"veth in its kernel", [] { return kernel_has("veth"); }, [] { return std::make_unique<VirtualGround>(); }}},
        {"ipam-only",
         {kMacvlan, [] { return kernel_has("macvlan"); }, [] { return std::make_unique<IpamOnlyGround>(); }}},
        {"subfunction",
         {"a NIC with sub-functions", OtherNic::possible, [] { return std::make_unique<SubfunctionGround>(); }}},
        {"vfio", {"a VF of vfio-pci", OtherNic::possible, [] { return std::make_unique<VfioGround>(); }}},
        {"ipoib", {kInfiniband, OtherNic::possible, [] { return std::make_unique<IpoibGround>(); }}},
        {"infiniband", {kInfiniband, OtherNic::possible, [] { return std::make_unique<InfinibandVfGround>(); }}},
    };
    return kKinds;
}

const Kind& kind_called(const std::string& name) {
    const auto found = kinds().find(name);
    if (found == kinds().end()) throw base::Error(concat("no kind is called \"", name, '"'));
    return found->second;
}

} // namespace

std::unique_ptr<Ground> make_ground(const std::string& kind) {
    return kind_called(kind).make();
}

std::string missing_for(const std::string& kind) {
    static std::map<std::string, bool> possible; // every case asks
    const auto asked = possible.try_emplace(kind, false);
    if (asked.second) asked.first->second = kind_called(kind).possible();
    return asked.first->second ? "" : kind_called(kind).needs;
}

} // namespace rdmanet::test
