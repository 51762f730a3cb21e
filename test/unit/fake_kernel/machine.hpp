// A machine in memory behind the headers of module `kernel`, for tests of what stands on that module. The files beside
// this one define the functions that reach the kernel once more, by what those headers are about. The linker takes
// these (-z muldefs), and everything that only computes from the library. The machine has links, VFs, RDMA devices,
// drivers and network namespaces, and behaves in the ways that the steps of attachments depend on. It needs
// no rights and no kernel feature.
#pragma once

#include <rdmanet/kernel/address.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/ethtool.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/live_namespaces.hpp>
#include <rdmanet/kernel/netdev_files.hpp>
#include <rdmanet/kernel/rdma.hpp>
#include <rdmanet/kernel/route.hpp>
#include <rdmanet/kernel/vf.hpp>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace rdmanet::kernel::fake {

inline constexpr unsigned kUp = 0x10041; // IFF_UP, IFF_RUNNING, IFF_LOWER_UP: every link that is up has a carrier

/// A PCI function. Its driver makes a net device and RDMA devices when it is bound.
struct Function {
    std::string native;   // the driver that makes net and RDMA devices
    std::string driver{}; // the one that it is bound to
    std::string netdev{}; // what the driver calls the net device; empty: it makes none
    std::string mac{};    // Ethernet: the function's own
    bool is_infiniband = false;
    unsigned rdma_count = 1;
    std::optional<VfOf> vf_of{};
    std::map<unsigned, VfSettings> vfs{};           // of a PF, as it reports them
    std::map<unsigned, std::string> representors{}; // of a PF in switchdev mode
    Resettable resettable = Resettable::yes;
    unsigned resets = 0;
};

/// A net device, with what is not in Link.
struct Netdev {
    Link link;
    NetdevFiles files{};
    Features features{};
    std::vector<Address> addresses{};
    bool has_ipv6 = true;
};

struct Rdma {
    RdmaDevice device;
    std::string function;
    std::string uverbs;
    std::vector<unsigned> users{};
    std::vector<std::string> modules{}; // with a queue pair on it
    bool is_movable = true;
    PortState state = PortState::active;
};

/// What belongs to a network namespace. Its number is its inode number.
struct Space {
    base::UniqueFd file;
    std::string path{};
    std::uint64_t cookie = 0;
    std::vector<Netdev> netdevs{};
    std::vector<Rdma> rdma{};
    std::vector<Route> routes{};
};

struct Machine {
    Machine();

    // To set the scene.
    Function& add_function(const std::string& address, Function function);
    /// A macvlan parent, veth and the like.
    Netdev& add_virtual(const std::string& name, const std::string& kind);
    std::uint64_t add_netns(const std::string& path);
    /// The kernel returns physical and IPoIB links and RDMA devices to the host, and destroys the other links.
    void end_netns(std::uint64_t number);

    [[nodiscard]] Netdev& netdev(const std::string& name, std::uint64_t in = 0); // 0: the host
    [[nodiscard]] Rdma& rdma(const std::string& name, std::uint64_t in = 0);
    [[nodiscard]] Function& function(const std::string& address) { return functions.at(address); }

    /// Everything that an attachment must leave as it was, as lines. Numbers that the kernel counts up are left out.
    [[nodiscard]] std::string text() const;

    /// Before a change is made. Throws NetlinkError if it is to fail. False: the driver accepts and ignores it.
    bool change(const std::string& what);
    std::vector<std::string> changes{};
    std::function<int(std::size_t, const std::string&)> fails{}; // place in `changes` and text; an errno, or 0
    std::set<std::string> ignores{};                             // changes with these words have no effect

    std::uint64_t host = 0;
    std::uint64_t current = 0; // the thread's
    std::map<std::uint64_t, Space> spaces{};
    std::map<int, std::uint64_t> sockets{}; // descriptor -> namespace
    std::map<std::string, Function> functions{};
    std::set<std::string> drivers{"mlx5_core", "vfio-pci"};
    RdmaNetnsMode mode = RdmaNetnsMode::exclusive;
    bool has_modes = true;
    bool has_rdma = true;
    bool has_gids = true;
    std::string doubt{};                                  // LiveNetns::doubt
    std::function<void()> on_look{};                      // before the processes are looked at
    std::function<void(std::string_view name)> on_find{}; // before an interface is looked up by its name
    std::set<std::string> hidden; // paths that find_netns() does not find, although processes are in the namespaces
    unsigned next_ifindex = 10;
    unsigned next_rdma = 1;
    std::uint64_t next_cookie = 1000;

    void probe(const std::string& address);
    void remove_made(const std::string& address);
    [[nodiscard]] Space& space_of(Socket& socket);
    [[nodiscard]] Netdev* find(Space& space, const std::function<bool(const Link&)>& is_meant);
    [[nodiscard]] bool is_taken(std::uint64_t in, const std::string& name, unsigned except = 0);
};

/// The one that the functions use. Assign a new one before each case.
[[nodiscard]] Machine& machine();

} // namespace rdmanet::kernel::fake
