#include "parts.hpp"

#include <rdmanet/json/known_keys.hpp>

#include <string_view>
#include <vector>

namespace rdmanet::config {
namespace {

using json::KnownKey;

// test/e2e/readme_test.cpp compares these lists with the tables of docs/configuration.md.
constexpr KnownKey kOurKeys[] = {
    {"attach"},
    {"master"},
    {"mode"},
    {"flag"},
    {"mtu"},
    {"promisc"},
    {"allmulti"},
    {"mac"},
    {"bcqueuelen"},
    {"linkInContainer"},
    {"pkey"},
    {"defaultRoute"},
    {"duplicateAddressDetection"},
    {"rdma"},
    {"dns"},
    {"logFile"},
    {"logLevel"},
    {"ipam"},
    {"strict"},
    {"capabilities"},
};
constexpr KnownKey kHostDeviceKeys[] = {{"device"}, {"hwaddr"}, {"kernelpath"}};
constexpr KnownKey kRdmaKeys[] = {{"mode"},           {"isolation"},   {"device"},       {"name"},
                                  {"linkLocalGids"},  {"waitForGids"}, {"gidTimeoutMs"}, {"onMissingGid"},
                                  {"onInactivePort"}, {"maxGids"}};

constexpr KnownKey kDnsKeys[] = {{"nameservers"}, {"domain"}, {"search"}, {"options"}};
constexpr KnownKey kComments[] = {{"$comment"}, {"_comment"}};

// Keys of the specification, of libcni, which leaves its own keys in a configuration that is not a list, and of
// Multus, which writes them into every network that has a resource.
constexpr KnownKey kCallersKeys[] = {
    {"cniVersion"},
    {"cniVersions"},
    {"name"},
    {"type"},
    {"args"},
    {"prevResult"},
    {"runtimeConfig"},
    {"cni.dev/"},
    {"disableCheck"},
    {"disableGC"},
    {"loadOnlyInlinedPlugins"},
    {"deviceID"},
    {"pciBusID"},
    {"resourceName"},
    {"k8s.v1.cni.cncf.io/"},
};

constexpr std::string_view kNoVlan =
    "ignored, only a VF (\"attach\": \"sriov\") uses it: create a VLAN interface on the node and set \"master\" to it";
constexpr std::string_view kNoVf = "ignored, only a VF (\"attach\": \"sriov\") uses it";
constexpr std::string_view kNoInfiniband = "ignored, only an InfiniBand VF (\"attach\": \"sriov\") uses it";
constexpr std::string_view kNoIsolation = "ignored, a child of an interface shares its parent's RDMA device";
constexpr std::string_view kNoDevice =
    "ignored, it names a device to move (\"attach\": \"host-device\"), and this network creates a child of \"master\"";
constexpr std::string_view kNoReset =
    "ignored, only a device that moves into the pod (\"attach\": \"sriov\") can be reset";
constexpr std::string_view kTuning =
    "ignored, it is a key of the plugin \"tuning\": add that plugin to the list after this one";
constexpr KnownKey kPeersKeys[] = {
    // sriov-cni, vlan and bridge
    {"vlan", kNoVlan},
    {"vlanId", kNoVlan},
    {"vlanQoS", kNoVlan},
    {"vlanProto", kNoVlan},
    {"vlanTrunk", "ignored, this version does not set VLAN trunks"},
    // ib-sriov-cni
    {"vfioPciMode", "ignored, the VF's driver decides"},
    {"guid", kNoInfiniband},
    {"ibKubernetesEnabled", kNoInfiniband},
    {"rdmaIsolation", kNoIsolation},
    // host-device
    {"device", kNoDevice},
    {"hwaddr", kNoDevice},
    {"kernelpath", kNoDevice},
    {"reset", kNoReset}, // ours
    // tuning and bridge
    {"sysctl", kTuning},
    {"promiscMode", kTuning},
    {"txQLen", kTuning},
    {"ipMasq", "ignored, this plugin does not masquerade addresses"},
};

} // namespace

void warn_of_keys(const json::Reader& root, KeysOf kind, json::KeyWarnings& warnings) {
    std::vector<KnownKey> of_no_vf;
    for (const std::string_view key : setting_keys_of_vfs()) of_no_vf.push_back({key, kNoVf});
    std::span<const KnownKey> of_devices;
    std::span<const KnownKey> of_host_devices;
    if (kind == KeysOf::device) {
        of_devices = keys_of_vfs();
        of_host_devices = kHostDeviceKeys;
    }
    json::warn_of_keys(root, {kOurKeys, of_devices, of_host_devices, kCallersKeys, of_no_vf, kPeersKeys, kComments},
                       warnings);
    if (const auto rdma = root.find("rdma"); rdma && rdma->is_object())
        json::warn_of_keys(*rdma, {kRdmaKeys, kComments}, warnings);
    if (const auto dns = root.find("dns"); dns && dns->is_object())
        json::warn_of_keys(*dns, {kDnsKeys, kComments}, warnings);
}

} // namespace rdmanet::config
