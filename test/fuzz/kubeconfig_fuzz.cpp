// kubeconfig files: refused or read, and nothing of them ends a header's line or a message's.
#include "demand.hpp"
#include "support/directory.hpp"

#include <rdmanet/kube/access.hpp>

#include <algorithm>
#include <string>

using namespace rdmanet;
using namespace rdmanet::fuzz;

namespace {

void demand_line(const std::string& text, const char* what) {
    demand(std::all_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; }),
           std::string(what) + " has a control character");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    static const test::Directory directory; // a kubeconfig may name files, so this one is alone
    const std::string path = directory.write("kubeconfig", as_text(data, size));
    try {
        const kube::Access access = kube::read_kubeconfig(path);
        demand(!access.server.host.empty() && !access.server.port.empty(), "a server without host or port");
        demand_line(access.authorization, "the header");
        demand_line(access.server.authority(), "the server's name");
        for (const std::string& warning : access.warnings) demand_line(warning, "a warning");
        if (access.proxy) {
            demand(access.server.is_secure && !access.proxy->url.is_secure, "a proxy without a tunnel");
            demand_line(access.proxy->authorization, "the proxy's header");
            demand_line(access.proxy->url.authority(), "the proxy's name");
        }
    } catch (const kube::KubeconfigError& error) {
        demand_line(error.what(), "the error");
        demand(std::string(error.what()).starts_with("kubeconfig"), "the error names no file");
    }
    return 0;
}
