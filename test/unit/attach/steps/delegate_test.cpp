// Addresses of another IPAM plugin, which is a script here.
#include "stage.hpp"

#include "steps/delegate.hpp"
#include "steps/recorded.hpp"

#include "support/concat.hpp"

#include <rdmanet/base/file.hpp>
#include <rdmanet/cni/delegate.hpp>
#include <rdmanet/kernel/address.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

using namespace rdmanet;
using namespace rdmanet::attach;
using attach::test::Stage;
using rdmanet::test::concat;

namespace {

namespace fs = std::filesystem;

constexpr const char* kNetwork = R"("master": "parent0", "rdma": false, "ipam": {"type": "script"})";

/// CNI_PATH with a plugin "script". It records its calls and ends with `answer` for ADD.
class Plugins {
public:
    explicit Plugins(const std::string& answer) {
        char path[] = "/tmp/rdmanet-plugins-XXXXXX";
        path_ = ::mkdtemp(path);
        const std::string script = path_ + "/script";
        base::write_file_durably(script, concat("#!/bin/sh\ncat >/dev/null\necho $CNI_COMMAND $CNI_IFNAME >>", path_,
                                                "/calls\n[ $CNI_COMMAND = DEL ] && exit 0\n", answer, '\n'));
        fs::permissions(script, fs::perms::owner_all);
    }
    Plugins(const Plugins&) = delete;
    Plugins& operator=(const Plugins&) = delete;
    ~Plugins() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string calls() const { return base::read_file_if_exists(path_ + "/calls", 1000).value_or(""); }

private:
    std::string path_;
};

} // namespace

TEST_CASE("another IPAM plugin gives the interface its address, and gets DEL before the interface is removed") {
    NEEDS_KIND("macvlan");
    const Plugins plugins(R"(echo '{"cniVersion": "1.0.0", "ips": [{"address": "10.9.0.7/24"}]}')");
    Stage stage(kNetwork, plugins.path());
    stage.plan();
    REQUIRE(stage.record().steps.size() == 2);
    CHECK(stage.record().steps.at(1).kind == kDelegateIpam);
    CHECK(plugins.calls().empty());
    stage.apply();
    const auto link = stage.link().value();
    const auto present = kernel::list_addresses(stage.pod(), link.ifindex);
    CHECK(std::any_of(present.begin(), present.end(), [](const kernel::Address& address) {
        return address.prefix == base::IpPrefix::parse("10.9.0.7/24");
    }));
    CHECK_FALSE(is_settled_by_one_attempt(stage.record().steps.at(1)));
    CHECK(stage.difference().empty());
    stage.revert();
    CHECK(plugins.calls() == "ADD net1\nDEL net1\n");
    CHECK_FALSE(stage.link());
    stage.revert(); // safe to repeat
}

TEST_CASE("one DEL ends the attachment of an IPAM plugin that refused ADD") {
    NEEDS_KIND("macvlan");
    const Plugins plugins(R"(echo '{"cniVersion": "1.0.0", "code": 7, "msg": "no range"}'; exit 1)");
    Stage stage(kNetwork, plugins.path());
    stage.plan();
    CHECK_THROWS_AS(stage.apply(), cni::PluginError);
    CHECK(is_settled_by_one_attempt(recorded(stage.steps()).at(1)));
    stage.revert();
    CHECK(plugins.calls() == "ADD net1\nDEL net1\n");
    CHECK_FALSE(stage.link());
}
