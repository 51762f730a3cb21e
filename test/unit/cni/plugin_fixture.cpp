#include "plugin_fixture.hpp"

#include <rdmanet/base/file.hpp>
#include <rdmanet/cni/error.hpp>

#include <sys/stat.h>

#include <stdexcept>

namespace rdmanet::cni {

void PluginFixture::install_as(const std::string& name, const std::string& content, unsigned mode) const {
    base::write_file_durably(file(name), content);
    if (::chmod(file(name).c_str(), mode) != 0) throw std::runtime_error("chmod");
}

DelegateCall PluginFixture::call() const {
    return {.plugin = "ipam",
            .config = R"({"cniVersion": "1.0.0", "name": "n", "ipam": {"type": "ipam"}})",
            .container_id = "c1",
            .netns_path = "/run/netns/p",
            .ifname = "net1",
            .args = "IgnoreUnknown=1",
            .path = path()};
}

std::string PluginFixture::failure_of(const DelegateCall& call, std::chrono::milliseconds patience) {
    try {
        (void)delegate_add(call, base::Deadline::in(patience));
    } catch (const CniError& error) {
        return std::to_string(error.code()) + " " + error.what();
    } catch (const base::TimeoutError& error) {
        return std::string("timeout ") + error.what();
    }
    return "succeeded";
}

std::string PluginFixture::add_failure(std::chrono::milliseconds patience) const {
    return failure_of(call(), patience);
}

} // namespace rdmanet::cni
