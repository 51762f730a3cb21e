// The files of a node for `rdmanet doctor --root`, so that the machine's own stay as they are.
#pragma once

#include "attachment_stage.hpp"
#include "cluster_stage.hpp"

#include "support/concat.hpp"
#include "support/node.hpp"
#include "support/patience.hpp"
#include "support/process.hpp"

#include <unistd.h>

#include <fstream>
#include <string>

namespace rdmanet::test {

/// The files of a node with a name of its own. Processes and devices are the machine's.
class Tree {
public:
    Tree() : name_(concat("doctor-", ::getpid())), root_(concat("/tmp/", name_)) {
        shell(concat("mkdir -p ", root_, "/etc/cni/net.d/multus.d ", root_, "/etc/cni/net.d/rdmanet.d ", root_,
                     "/var/lib/kubelet/device-plugins && ln -s /proc /sys ", root_, " && echo ", name_, " >", root_,
                     "/etc/hostname"));
    }
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;
    ~Tree() { shell(concat("rm -r ", root_)); }

    void write(const std::string& file, const std::string& text) const { std::ofstream(root_ + file) << text; }
    void set_user(const std::string& user) const {
        write("/etc/cni/net.d/multus.d/multus.kubeconfig", read_file(cluster() + '/' + user + ".kubeconfig"));
    }

    /// "severity | subject | what | fix", a line each; "not looked at: why" if that is the result. On a busy machine,
    /// a server may not answer within the doctor's time. Then the doctor is called again.
    [[nodiscard]] std::string says(const std::string& check, const std::string& options = "") const {
        std::string said;
        (void)comes_true([&] {
            said = call(check, options);
            return said.find("no answer, after") == std::string::npos &&
                   said.find("no answer in time") == std::string::npos;
        });
        return said;
    }

    [[nodiscard]] const std::string& name() const { return name_; }
    /// Of a file on the machine.
    [[nodiscard]] std::string path(const std::string& file) const { return root_ + file; }
    [[nodiscard]] std::string socket() const { return root_ + "/var/lib/kubelet/pod-resources/kubelet.sock"; }

private:
    [[nodiscard]] std::string call(const std::string& check, const std::string& options) const {
        return shell(concat("{ ", binary(), " doctor --json --root ", root_, ' ', options,
                            " || [ $? -lt 3 ]; } | jq -r '(.checks[]|select(.check==\"", check,
                            "\" and (.lookedAt|not))|\"not looked at: \"+.why),(.findings[]|select(.check==\"", check,
                            "\")|[.severity,.subject,.what,.fix]|join(\" | \"))'"));
    }

    std::string name_;
    std::string root_;
};

} // namespace rdmanet::test
