// A VF's ADD and DEL, and the nearest packaged peer (host-device with host-local), measured in the same rounds.
//
//   vf_bench [ROUNDS]      as root, on a machine with the software NIC and without other network namespaces
//
// rdmanet also moves the RDMA device and waits until the address is its GID. The peer leaves the RDMA device on the
// host.
#include "series.hpp"
#include "support/concat.hpp"
#include "support/node.hpp"
#include "support/plugin_call.hpp"
#include "support/vf_node.hpp"

#include <rdmanet/base/error.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace rdmanet::test {
namespace {

int run(unsigned rounds) {
    const std::string host_device = concat(kCniPath, "/host-device");
    if (!std::filesystem::exists(host_device)) {
        std::printf("%s is missing (Debian package containernetworking-plugins)\n", host_device.c_str());
        return 0;
    }
    const BenchDirectory files;
    const VfNode vfs("exclusive", 2);
    const Pod pod("bench-pod");
    const Pod their_pod("bench-pod-of-theirs");
    const std::string our_config = BenchDirectory::file_with(
        "ours.json", concat(R"({"cniVersion":"1.1.0","name":"bench","type":"rdmanet","deviceID":")", vfs.vf(0),
                            R"(","rdma":true,"ipam":{"type":"rdmanet","range":"10.96.0.0/16"}})"));
    const std::string their_config = BenchDirectory::file_with(
        "theirs.json", concat(R"({"cniVersion":"1.0.0","name":"bench","type":"host-device","pciBusID":")", vfs.vf(1),
                              R"(",)", host_local("10.95.0.0/16"), '}'));
    Series status = cni_series(binary(), our_config, "", {"STATUS"});
    Series ours = cni_series(binary(), our_config, pod.path());
    Series theirs = cni_series(host_device, their_config, their_pod.path());
    pin_to_one_processor();
    measure({&ours, &theirs, &status}, rounds);
    print_ratio("VF STATUS : VF ADD with RDMA", time_of(status), time_of(ours, 0), 0.5);
    for (const std::size_t which : {0U, 1U}) {
        const std::string call = which == 0 ? "VF ADD with RDMA" : "VF DEL with RDMA";
        print_ratio(concat(call, " : host-device + host-local").c_str(), time_of(ours, which), time_of(theirs, which),
                    which == 0 ? 0.4 : 0.45);
    }
    print_calls("VF ADD", ours, theirs);
    return 0;
}

} // namespace
} // namespace rdmanet::test

int main(int argc, char** argv) {
    try {
        return rdmanet::test::run(argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 100);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "vf_bench: %s\n", error.what());
        return 1;
    }
}
