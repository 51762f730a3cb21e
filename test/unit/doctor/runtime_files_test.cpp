// What the configurations of container runtimes, and Multus' own, say of this node.
#include "machine.hpp"

#include "support/concat.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

namespace rdmanet::doctor {
namespace {

using test::concat;

constexpr const char* kNoLimit = "18446744073709551615";

/// A node where a runtime runs with a limit of 65536 bytes.
class RuntimeMachine : public Machine {
public:
    explicit RuntimeMachine(const std::string& runtime, const std::string& limit = "65536") {
        make("etc/containerd");
        make("etc/crio/crio.conf.d");
        start("9", runtime, "", limit);
    }

    void start(const std::string& pid, const std::string& runtime, const std::string& arguments,
               const std::string& limit = "65536") const {
        run(pid, runtime, arguments);
        write("proc/" + pid + "/limits",
              concat("Limit  Soft Limit  Hard Limit  Units\nMax locked memory  ", limit, "  ", limit, "  bytes"));
    }

    /// The file of a specification with this limit; without one if it is empty.
    void set_spec(const std::string& limit) const {
        const std::string memlock =
            concat(R"({"type": "RLIMIT_MEMLOCK", "hard": )", limit, R"(, "soft": )", limit, "}");
        write(
            "etc/containerd/base.json",
            concat(R"({"ociVersion": "1.0.2", "process": {"rlimits": [{"type": "RLIMIT_NOFILE", "hard": 1, "soft": 1})",
                   limit.empty() ? "" : ", ", limit.empty() ? "" : memlock, "]}}"));
    }
    void set_runtimes(const std::string& text) const { write("etc/containerd/config.toml", text); }

    [[nodiscard]] std::string says() const { return found_by("memlock"); }
};

std::string runtime_table(const std::string& name, const std::string& spec) {
    const std::string table = concat(R"([plugins."io.containerd.grpc.v1.cri".containerd.runtimes.)", name);
    return concat("  ", table,
                  "]  # a runtime\n    runtime_type = \"io.containerd.runc.v2\"\n    base_runtime_spec = \"", spec,
                  "\"\n  ", table, ".options]\n    SystemdCgroup = true\n    base_runtime_spec = \"/not/here\"\n");
}

constexpr const char* kSpec = "/etc/containerd/base.json";

/// A socket as Multus' daemon has it.
class Daemon {
public:
    explicit Daemon(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        REQUIRE(path.size() < sizeof address.sun_path);
        std::memcpy(address.sun_path, path.data(), path.size());
        REQUIRE(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    }
    void listen() const { REQUIRE(::listen(fd_.get(), 1) == 0); }

private:
    base::UniqueFd fd_;
};

} // namespace

TEST_CASE("the base_runtime_spec decides how much memory containers can lock") {
    const RuntimeMachine node("containerd");
    CHECK_THAT(node.says(),
               Has("info | ", "runs with a limit of 65536 bytes", "which containers inherit", "LimitMEMLOCK"));
    node.set_runtimes(runtime_table("runc", kSpec));
    node.set_spec(kNoLimit);
    CHECK(node.says().empty());
    node.set_spec("");
    CHECK_THAT(node.says(),
               Has("65536 bytes", "or add RLIMIT_MEMLOCK to \"process.rlimits\" in /etc/containerd/base.json"));
    node.set_spec("8388608");
    CHECK_THAT(node.says(),
               Documented("memlock", "containerd's base_runtime_spec has a limit", kNoLimit, "in that file"));

    node.set_spec(kNoLimit);
    node.set_runtimes(concat(runtime_table("runc", kSpec), runtime_table("'nvidia'", "")));
    CHECK_THAT(node.says(), Has("65536 bytes of locked memory, which containers of runtime nvidia inherit"));
    node.set_runtimes(runtime_table("runc", "/etc/containerd/no-such-file"));
    CHECK_THAT(node.why_not("memlock"), Has("/etc/containerd/no-such-file, the base_runtime_spec of runc"));
}

TEST_CASE("a base_runtime_spec limits containers also if containerd itself has no limit") {
    const RuntimeMachine node("containerd", "unlimited");
    CHECK(node.says().empty());
    node.set_runtimes(runtime_table("runc", kSpec));
    node.set_spec("");
    CHECK(node.says().empty());
    node.set_spec("65536");
    CHECK_THAT(node.says(), Has("containers of runtime runc can lock 65536 bytes of memory: RLIMIT_MEMLOCK in /etc"));
}

TEST_CASE("CRI-O's default_ulimits decide how much memory containers can lock") {
    const RuntimeMachine node("crio");
    const auto set = [&](const std::string& text) { node.write("etc/crio/crio.conf.d/10-limits.conf", text); };
    CHECK_THAT(node.says(), Has("crio runs with a limit of 65536 bytes", "which containers inherit"));
    set("[crio.runtime]\ndefault_ulimits = [\n  \"nofile=1024:1024\",\n  \"memlock=-1:-1\",\n]");
    CHECK(node.says().empty());
    set("[crio.runtime]\ndefault_ulimits = [\"memlock=65536:65536\"]");
    CHECK_THAT(node.says(), Documented("memlock", "CRI-O's default_ulimits have a limit", "\"memlock=-1:-1\""));
    set("[crio.runtime]\ndefault_ulimits = [\"nofile=1024:1024\"]");
    CHECK_THAT(node.says(), Has("to default_ulimits in /etc/crio/crio.conf.d/10-limits.conf"));
}

TEST_CASE("memlock follows containerd's imports") {
    const RuntimeMachine node("containerd");
    node.write("etc/containerd/conf.d/99-nvidia.toml", runtime_table("nvidia", kSpec));
    node.set_spec(kNoLimit);
    CHECK_THAT(node.says(), Has("which containers inherit"));
    for (const char* import : {"/etc/containerd/conf.d/*.toml", "conf.d/99*", "/etc/*/conf.d/99-nvidia.toml"}) {
        INFO(import);
        node.set_runtimes(concat("version = 2\nimports = [\"", import, "\"]\n"));
        CHECK(node.says().empty());
        CHECK(node.why_not("memlock").empty());
    }
    node.write("etc/containerd/conf.d/99-nvidia.toml", "imports = ['/etc/containerd/config.toml']"); // a circle
    CHECK_THAT(node.says(), Has("which containers inherit"));
    node.set_runtimes("imports = ['/etc/containerd/conf.d/absent.toml']");
    CHECK_THAT(node.why_not("memlock"), Has("config.toml imports /etc/containerd/conf.d/absent.toml, which is"));
}

TEST_CASE("memlock reads the file that containerd was started with, and names its unit") {
    const RuntimeMachine node("containerd");
    node.set_runtimes(runtime_table("runc", kSpec)); // of another containerd
    node.set_spec(kNoLimit);
    CHECK(node.says().empty());
    node.write("etc/cri/k3s.toml", "version = 3");
    for (const char* arguments : {"-c /etc/cri/k3s.toml -a /run/k3s.sock", "--config=/etc/cri/k3s.toml"}) {
        node.start("9", "containerd", arguments);
        CHECK_THAT(node.says(), Has("containerd runs with a limit of 65536 bytes", "LimitMEMLOCK"));
    }
    for (const char* cgroup : {"0::/system.slice/k3s.service", "1:name=systemd:/system.slice/k3s.service/containerd"}) {
        node.write("proc/9/cgroup", cgroup);
        CHECK_THAT(node.says(), Has("`systemctl edit k3s.service`"));
    }
    CHECK_THAT(node.says(), Documented("memlock", "the containerd of k3s has a limit"));
    node.start("9", "containerd", "--config /etc/cri/absent.toml");
    CHECK_THAT(node.why_not("memlock"), Has("its configuration is not known", "absent.toml"));
    CHECK(node.says().empty());
}

TEST_CASE("memlock looks at each containerd that starts pods of this node") {
    const RuntimeMachine node("containerd"); // of Docker
    node.set_runtimes("disabled_plugins = [\"cri\"]");
    CHECK(node.says().empty());
    CHECK_THAT(node.why_not("memlock"), Has("without its CRI plugin (disabled_plugins)"));
    node.write("etc/cri/config.toml", "");
    node.start("10", "containerd", "--config /etc/cri/config.toml", "8192");
    CHECK_THAT(node.says(), Has("limit of 8192 bytes") && !Has("65536"));
    CHECK(node.why_not("memlock").empty());
    node.start("8", "containerd", "--config /etc/cri/absent.toml"); // hides nothing
    CHECK_THAT(node.says(), Has("limit of 8192 bytes"));
    CHECK_THAT(node.why_not("memlock"), Has("process 8 (containerd): its configuration is not known"));
    node.write("proc/8/cgroup", "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-1.scope");
    CHECK(node.why_not("memlock").empty());
    node.write("proc/10/status", "Uid:\t1000\t1000\t1000\t1000");
    CHECK(node.says().empty());
}

TEST_CASE("Multus' daemon must listen at its socket") {
    const Machine node;
    node.make("etc/cni/net.d");
    node.make("run/multus");
    const std::string file = "etc/cni/net.d/00-multus.conf";
    node.write(file, R"({"type": "multus"})");
    CHECK(node.found_by("multus").empty()); // a thin one has no daemon
    node.write(file, R"({"type": "multus-shim"})");
    const std::string absent = node.found_by("multus");
    CHECK_THAT(absent, Documented("multus", "the daemon of a thick Multus has ended", "`kubectl get pods"));
    {
        const Daemon daemon(node.root() + "/run/multus/multus.sock");
        CHECK(node.found_by("multus") == absent);
        daemon.listen();
        CHECK(node.found_by("multus").empty());
        CHECK(node.why_not("multus").empty());
    }
    CHECK(node.found_by("multus") == absent); // the daemon has left its socket behind
    node.write(file, R"({"type": "multus-shim", "daemonSocketDir": "/run/other/"})");
    CHECK_THAT(node.found_by("multus"), Has("listens at /run/other/multus.sock"));
    node.make("run/other");
    const Daemon other(node.root() + "/run/other/multus.sock");
    other.listen();
    CHECK(node.found_by("multus").empty());
}

} // namespace rdmanet::doctor
